package html

import (
	"maps"
	"slices"
	"strings"
)

// glossary explains the words of the contract to people. A word that is missing
// stands for itself.
var glossary = map[string]string{
	"local":             "applied on the cluster that reconciles it",
	"remote_direct":     "applied to a spoke through the kubeConfig of a Flux Kustomization",
	"remote_hub_render": "a HelmRelease that lives on the hub and whose chart installs into the spoke",

	"analysable":        "placed, and every kind in it is understood",
	"seen_not_analysed": "placed, but it holds a kind that no pack handles",
	"uncovered":         "no controller reaches the path",
	"unresolved":        "something reaches it or may, and a fact is missing",

	"in_inventory":     "the inventory on the controller's cluster lists the object",
	"not_in_inventory": "declared in git, and the inventory does not list it",
	"abstain":          "nobody could say, for the reason given",

	"agree":         "both sides say the same",
	"differ":        "the two sides say different things: one of them is wrong",
	"only_theirs":   "the census knows no such Kustomization",
	"only_ours":     "the other side knows the cluster and does not have it",
	"theirs_failed": "the other side could not build it, so nothing was compared",

	"not_asked":      "no cluster was asked: the census read git alone",
	"no_access":      "the cluster or its inventory could not be read with the access that was granted",
	"no_inventory":   "the controller object has no inventory",
	"other_revision": "the inventory is that of another revision than the commit that was read",
	"failing":        "the controller reports a failure, so its inventory is not that of this commit",
	"suspended":      "reconciliation is suspended",
	"hook":           "a Helm hook: no inventory lists those",
	"malformed_id":   "an entry of the inventory cannot be read",

	"being_deleted":        "the controller object is being deleted",
	"controller_missing":   "the cluster does not have the controller object",
	"generation_behind":    "the controller has not seen the newest spec yet",
	"identity_unknown":     "the name under which the cluster has the object is not known",
	"in_other_inventory":   "another controller object's inventory lists it",
	"incomplete_inventory": "not all entries of the inventory were read",
	"not_ready":            "the controller object is not ready, so its inventory may be that of an earlier commit",
	"revision_differs":     "the controller applied another revision than the commit that was read",
	"revision_unknown":     "nothing says which commit the applied revision is",
	"skipped":              "an annotation or a label has the controller leave the object alone",

	"denied":          "the access that was granted does not cover it (403)",
	"unauthenticated": "the credential was not accepted",
	"unreachable":     "there was no connection to the cluster",
	"untrusted":       "the certificate of the server was not accepted",
	"timeout":         "there was no answer in time",
	"cut":             "the connection broke off within an answer",
	"expired":         "the list changed too much while it was read",
	"truncated":       "it is more than this program reads",
	"throttled":       "the server had too much to do",
	"server_error":    "the server failed",
	"not_served":      "the cluster does not serve the kind",
	"not_found":       "there is none of that name",
	"malformed":       "the answer is not what the API promises",

	"flux":          "an inventory lists it, and the commit does not declare it",
	"owner":         "its ownerReferences lead to an object that an inventory lists",
	"flux_leftover": "Flux applied it, and no inventory lists it any more",
	"helm":          "a Helm release that no HelmRelease of the census stands behind",
	"argocd":        "Argo CD tracks it",
	"sveltos":       "Sveltos deployed it",
	"kubectl":       "the newest entry of managedFields is kubectl's",
	"ci":            "the newest entry of managedFields is that of a pipeline",
	"controller":    "another program made it, by managedFields",
	"system":        "a part of Kubernetes or of the distribution; folded together",
	"unknown":       "nothing tells who made it",

	"resolved":      "everything is known",
	"failed":        "the build fails",
	"path_missing":  "its path does not exist in the source",
	"external":      "its source is another repository or another ref",
	"spoke_applied": "the object lands on a spoke where nothing shows that its controller runs",

	"build_failed":         "a build that reads the file fails",
	"controller_unknown":   "it is reached through a cluster where nothing shows that the controller runs",
	"other_ref":            "it is reached at another branch, tag or commit",
	"other_repository":     "its source is another repository",
	"source_not_found":     "the source object does not exist in the repository",
	"source_unmapped":      "nothing says what the source delivers: declare it in the configuration",
	"source_undecided":     "nothing says for certain which source it is",
	"substitution_unknown": "it depends on a variable whose value is not in the repository",
	"bad_yaml":             "it cannot be read as YAML",
	"remote_base":          "a base lies in another repository",
}

func explain(word string) string { return glossary[word] }

func glossaryText() string {
	return strings.Join(slices.Sorted(maps.Keys(glossary)), "\n") + "\n" + strings.Join(slices.Sorted(maps.Values(glossary)), "\n")
}
