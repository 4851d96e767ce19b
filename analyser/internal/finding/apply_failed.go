package finding

import (
	"fmt"

	"github.com/gitops-reach/reach/analyser/internal/placement"
)

// applyFailed finds Kustomizations that build but hold an object which cannot
// be applied.
var applyFailed = &Rule{
	Name:     "reach.flux.apply_failed",
	Doc:      "A Kustomization builds an object that the API server is certain to refuse, so nothing of its stage and of the later ones is applied.",
	Severity: Error,
	Run: func(m *Model) []Finding {
		var out []Finding
		for _, a := range m.Applied {
			if a.State == placement.Failed && a.Reason == "kubeconfig_key_missing" {
				f := aboutSync(m, a)
				f.At = m.Positions.Position(a.Pos)
				f.Message = "Kustomization " + a.Controller() + " on " + string(a.Cluster) + " cannot reach " + string(a.Target) + ": " + a.Detail + "."
				f.Remedy = remedies[a.Reason]
				out = append(out, f)
			}
			if len(a.Rejected) == 0 {
				continue
			}
			f := aboutSync(m, a)
			if at := m.Positions.Position(a.Rejected[0].Pos); !at.IsZero() {
				f.At = at
			}
			f.Count = len(a.Rejected)
			f.Message = "Kustomization " + a.Controller() + " on " + string(a.Cluster) + " cannot be applied to " + string(a.Target) + ": " + a.Rejected[0].Detail
			if f.Count > 1 {
				f.Message += fmt.Sprintf("; %d more objects are refused", f.Count-1)
			}
			f.Message += "."
			f.Remedy = remedies[a.Rejected[0].Reason]
			if f.Remedy == "" {
				f.Remedy = "Correct the object named here; until then the cluster keeps what was applied last."
			}
			out = append(out, f)
		}
		return out
	},
}

// remedies by the reason of a rejection.
var remedies = map[string]string{
	"namespace_missing":      "Set metadata.namespace, the namespace field of the kustomization file, or spec.targetNamespace of the Kustomization.",
	"invalid_name":           "Correct the name. A literal ${...} means that nothing is substituted: spec.postBuild needs at least one variable, or substituteStrategy Always.",
	"invalid_metadata":       "Write a string. kustomize drops quotes around a variable, so a number needs more than them: \"${VAR}%\", or a variable that holds a quote before and after it.",
	"secret_encrypted":       "Set spec.decryption with provider sops and the secret that holds the key.",
	"kubeconfig_key_missing": "Name the key in spec.kubeConfig.secretRef.key; without one only value and value.yaml are read.",
	"two_kubeconfigs":        "Leave one of secretRef and configMapRef: a strategic merge patch adds one beside the other, a JSON patch with op add replaces it.",
}
