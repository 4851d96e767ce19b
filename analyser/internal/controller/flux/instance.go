package flux

import (
	"regexp"
	"strings"

	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/object"
)

// readFluxInstance reads the root that a FluxInstance creates with spec.sync:
// a source and a Kustomization of one name, which stand in no file (upstream:
// flux-operator, api/v1 FluxInstance and the sync template of its builder).
func readFluxInstance(r *reader, d *controller.Declared) {
	sync := r.spec().get("sync")
	if !sync.set() {
		return
	}
	ns := r.obj.Ref.Namespace
	name := or(sync.get("name").text(), ns)
	kind := sync.get("kind").required().oneOf("OCIRepository", "GitRepository", "Bucket")
	url, ref := sync.get("url").required().text(), sync.get("ref").required().text()
	path := sync.get("path").required()
	disabled := strings.EqualFold(r.annotation(groupOperator+"/reconcile"), "disabled")

	source := controller.Source{
		Engine: Name,
		Object: object.Ref{Group: groupSource, Version: "v1", Kind: kind, Namespace: ns, Name: name},
		Pos:    sync.pos(), URL: url,
		Ref: map[string]string{"OCIRepository": "tag:", "Bucket": "bucket:"}[kind] + ref,
	}
	if kind == "GitRepository" {
		source.Ref = "name:" + ref
	}
	root := controller.Root{
		Source: source,
		Sync: controller.Sync{
			Engine:  Name,
			Object:  object.Ref{Group: groupKustomize, Version: "v1", Kind: "Kustomization", Namespace: ns, Name: name},
			Pos:     sync.pos(),
			Path:    path.text(),
			PathPos: path.pos(),
			Source:  controller.SourceRef{Kind: kind, Namespace: ns, Name: name},
			Prune:   true,
			Suspend: disabled,
		},
	}
	problem := r.problem()
	if problem == nil {
		problem = patchesRoot(r.spec().get("kustomize").get("patches"), kind, name, ns)
	}
	root.Sync.Problem, root.Source.Problem = problem, problem
	d.Roots = append(d.Roots, root)
}

// patchesRoot finds a patch of spec.kustomize.patches that may change the
// root's own objects, which are part of the instance's kustomize build. Such a
// patch can move the path, add decryption or substitution, or suspend it.
func patchesRoot(patches field, kind, name, ns string) *controller.Problem {
	for _, p := range patches.list() {
		target := readSelector(p.get("target"))
		if target == nil {
			// A patch without target names its object itself.
			text := p.get("patch").text()
			if !strings.Contains(text, "Kustomization") && !strings.Contains(text, kind) {
				continue
			}
		} else if !selects(target.Name, name) || !selects(target.Namespace, ns) ||
			!selects(target.Kind, kind) && !selects(target.Kind, "Kustomization") {
			continue
		}
		return &controller.Problem{
			Code:    "patched_root",
			Message: "a patch in spec.kustomize.patches may change the root that spec.sync creates; its effect is not evaluated",
			Pos:     p.pos(),
		}
	}
	return nil
}

// selects matches as kustomize's selectors do: an anchored expression, or
// anything when it is empty.
func selects(expr, s string) bool {
	if expr == "" {
		return true
	}
	re, err := regexp.Compile("^(?:" + expr + ")$")
	return err != nil || re.MatchString(s)
}
