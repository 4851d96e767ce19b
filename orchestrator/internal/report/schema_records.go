package report

// Hop is one step of a trace, which goes from a file over layers, patches,
// controllers and kubeConfig references to a cluster.
type Hop struct {
	// Kind is "file", "layer", "patch", "generator", "transformer",
	// "kustomization", "helmrelease", "helmchart", "source", "kubeconfig",
	// "root" or "cluster".
	Kind string `json:"kind" word:"true"`
	Path string `json:"path,omitempty"`
	// Line counts from 1; 0, left out, is the whole file.
	Line    int    `json:"line,omitempty"`
	Name    string `json:"name,omitempty"`
	Cluster string `json:"cluster,omitempty"`
}

// Location is a line of a file.
type Location struct {
	Path string `json:"path"`
	Line int    `json:"line"`
}

// Kustomization is a controller object that applies what source@revision/path
// builds to a cluster.
type Kustomization struct {
	// Cluster on which the object lives.
	Cluster   string `json:"cluster"`
	Engine    string `json:"engine" word:"true"`
	Kind      string `json:"kind" word:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Path is spec.path after substitution, cleaned; "" is the artifact root.
	Path string `json:"path"`
	// Directory of this repository that Path means; "" with State external.
	Directory string `json:"directory"`
	// Source is "kind/namespace/name".
	Source string `json:"source"`
	// Class is one of the classes of Placement.
	Class string `json:"class" word:"true"`
	// Target is the cluster to which it applies.
	Target string `json:"target"`
	// State is "resolved", "suspended", "failed", "path_missing", "external",
	// "unresolved" or "spoke_applied".
	State string `json:"state" word:"true"`
	// Reason is a code, Detail the missing fact, when State is not resolved.
	Reason  string `json:"reason" word:"code"`
	Detail  string `json:"detail"`
	Prune   bool   `json:"prune"`
	Objects int    `json:"objects"`
	Trace   []Hop  `json:"trace"`
	// Live is what its cluster says of it, left out where nobody looked.
	Live *LiveState `json:"live,omitempty"`
}

// HelmRelease is a Helm release.
type HelmRelease struct {
	Cluster          string `json:"cluster"`
	Namespace        string `json:"namespace"`
	Name             string `json:"name"`
	Class            string `json:"class" word:"true"`
	Target           string `json:"target"`
	ReleaseName      string `json:"release_name"`
	ReleaseNamespace string `json:"release_namespace"`
	StorageNamespace string `json:"storage_namespace"`
	Chart            string `json:"chart"`
	// Controller that applies the HelmRelease object, "namespace/name".
	Controller string `json:"controller"`
	State      string `json:"state" word:"true"`
	Reason     string `json:"reason" word:"code"`
	Trace      []Hop  `json:"trace"`
	// Live is what its cluster says of it, left out where nobody looked.
	Live *LiveState `json:"live,omitempty"`
}

// Placement is one landing of a file.
type Placement struct {
	Path string `json:"path"`
	// Role is "object", "kustomization", "patch", "component",
	// "generator_input", "values", "transformer" or "other".
	Role string `json:"role" word:"true"`
	// Class is "local", "remote_direct", "remote_hub_render", "uncovered" or
	// "unresolved".
	Class             string `json:"class" word:"true"`
	Cluster           string `json:"cluster"`
	ControllerCluster string `json:"controller_cluster"`
	// Controller is "namespace/name".
	Controller     string `json:"controller"`
	ControllerKind string `json:"controller_kind" word:"kind"`
	State          string `json:"state" word:"true"`
	Reason         string `json:"reason" word:"code"`
	Detail         string `json:"detail"`
	Trace          []Hop  `json:"trace"`
}

// Object is one object on one cluster, as built.
type Object struct {
	Cluster           string `json:"cluster"`
	ControllerCluster string `json:"controller_cluster"`
	Controller        string `json:"controller"`
	ControllerKind    string `json:"controller_kind" word:"kind"`
	Group             string `json:"group"`
	Version           string `json:"version" word:"true"`
	Kind              string `json:"kind" word:"kind"`
	Namespace         string `json:"namespace"`
	Name              string `json:"name"`
	Class             string `json:"class" word:"true"`
	// Origin is the document, then each generator or patch that contributed.
	Origin []Location `json:"origin"`
	// Verdict is "in_inventory", "not_in_inventory" or "abstain" with a Reason.
	Verdict string `json:"verdict" word:"true"`
	Reason  string `json:"reason" word:"code"`
	// Detail is what stands behind Verdict and Reason.
	Detail string `json:"detail,omitempty"`
}

// File is one file of the commit and its one analysis state.
type File struct {
	Path string `json:"path"`
	Role string `json:"role" word:"true"`
	// Analysis is "analysable", "seen_not_analysed", "unresolved" or
	// "uncovered".
	Analysis   string `json:"analysis" word:"true"`
	Reason     string `json:"reason" word:"code"`
	Detail     string `json:"detail"`
	Placements int    `json:"placements"`
	// Root is the row of the coverage table that counts the file.
	Root string `json:"root"`
}

// Finding is something that only the topology shows. Fields that do not apply
// are left out.
type Finding struct {
	Rule      string `json:"rule" word:"true"`
	Severity  string `json:"severity" word:"true"`
	Path      string `json:"path,omitempty"`
	Line      int    `json:"line,omitempty"`
	Cluster   string `json:"cluster,omitempty"`
	Kind      string `json:"kind,omitempty" word:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	Var       string `json:"var,omitempty"`
	// Count is how many files, objects or places the finding stands for.
	Count   int    `json:"count"`
	Message string `json:"message"`
	Remedy  string `json:"remedy"`
	Trace   []Hop  `json:"trace"`
	// Facts are what stands side by side, for rules whose result is a question.
	Facts []Fact `json:"facts,omitempty"`
	// Fingerprint names the finding from census to census. It does not change
	// when lines move; it is made of names as they are written here.
	Fingerprint string `json:"fingerprint" word:"true"`
}

// Fact is one of the things that people weigh against each other.
type Fact struct {
	// Cluster that it is about; left out when it is about the repository.
	Cluster string `json:"cluster,omitempty"`
	// Text says what is so.
	Text string `json:"text"`
	Path string `json:"path,omitempty"`
	Line int    `json:"line,omitempty"`
}

// Hidden is a finding that is not shown.
type Hidden struct {
	// By is "suppression" or "baseline".
	By string `json:"by" word:"true"`
	// Reason and Expires are those of the suppression.
	Reason  string `json:"reason,omitempty"`
	Expires string `json:"expires,omitempty" word:"true"`
	Finding
}

// OracleRow compares one Kustomization of the census with that of the user's
// own check. Fields of the side that does not have it are empty.
type OracleRow struct {
	// Cluster on which the Kustomization lives.
	Cluster   string `json:"cluster"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Result is "agree", "differ", "only_theirs", "only_ours" or
	// "theirs_failed".
	Result string `json:"result" word:"true"`
	// Differs lists what differs: "class", "target", "objects".
	Differs []string `json:"differs" word:"true"`
	Ours    Side     `json:"ours"`
	Theirs  Side     `json:"theirs"`
	// Line of the oracle file; 0 when it has none.
	Line int `json:"line"`
	// Trace is ours, from the Kustomization to the cluster.
	Trace []Hop `json:"trace"`
}

// Side is what one of the two says of a Kustomization.
type Side struct {
	// Class is one of the classes of Placement, Target the cluster to which the
	// Kustomization applies.
	Class  string `json:"class" word:"true"`
	Target string `json:"target"`
	// State is one of the states of Kustomization for ours; "rendered",
	// "not_rendered" or "failed" for theirs.
	State  string `json:"state" word:"true"`
	Reason string `json:"reason" word:"code"`
	// Objects that it builds; 0 when ObjectsKnown is not set.
	Objects      int  `json:"objects"`
	ObjectsKnown bool `json:"objects_known"`
}

// CoverageRow counts the files below one Flux root. A file counts in one row;
// files below no root count in the row with an empty root.
type CoverageRow struct {
	Root     string   `json:"root"`
	Clusters []string `json:"clusters"`
	// Cluster is Clusters joined by a comma, for readers of one table cell.
	Cluster              string `json:"cluster"`
	Files                int    `json:"files"`
	Analysable           int    `json:"analysable"`
	Unresolved           int    `json:"unresolved"`
	Uncovered            int    `json:"uncovered"`
	RenderInputs         int    `json:"render_inputs"`
	SeenNotAnalysedFiles int    `json:"seen_not_analysed_files"`
	// SeenNotAnalysed counts objects by "Kind.group".
	SeenNotAnalysed map[string]int `json:"seen_not_analysed"`
}
