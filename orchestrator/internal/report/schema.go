// Package report is the output contract of a census and its writers.
//
// The contract is the set of structs in schema.go: the folder holds one JSON
// document, census.json, and one JSON object a line in each of the files named
// there. Everything that shows a census (the folder, Markdown, the terminal)
// receives the same records through the small interface Handler, whether they
// come from a running analyser (FromProto) or from a folder (Replay).
//
// The same records give the same bytes: fields stand in the order of the
// structs, maps are sorted by key, there are no floats, and nothing depends on
// the time or the place of the run. The age of a commit is therefore never in
// a file: census.json has the commit's time, and the terminal says how long ago
// that was.
//
// The package cannot see whether a record is true. It checks that a stream is
// whole and that its counts agree with its records, and refuses it otherwise.
package report

// Schema names the contract and its major version. Within a major version
// fields are only added.
const Schema = "reach.census/v1"

// The files of a report folder. File(Handler method) names the record.
const (
	CensusFile         = "census.json"          // one Census
	KustomizationsFile = "kustomizations.jsonl" // Kustomization, one per Flux Kustomization
	HelmReleasesFile   = "helmreleases.jsonl"   // HelmRelease
	PlacementsFile     = "placements.jsonl"     // Placement, one per (path, class, cluster, controller)
	ObjectsFile        = "objects.jsonl"        // Object, one per object on a cluster
	OwnershipFile      = "ownership.jsonl"      // LiveObject, what is on clusters and not in this commit or no inventory
	FilesFile          = "files.jsonl"          // File, one per file considered
	FindingsFile       = "findings.jsonl"       // Finding, those that are open
	HiddenFile         = "hidden.jsonl"         // Hidden, findings that a suppression or the baseline hides
	CoverageFile       = "coverage.jsonl"       // CoverageRow, one per Flux root
	OracleFile         = "oracle.jsonl"         // OracleRow, one per Kustomization that was compared
	SchemaFile         = "schema.json"          // the JSON Schema of all of these
	HTMLFile           = "report.html"
	MarkdownFile       = "report.md"
	SARIFFile          = "report.sarif"     // findings for code scanning
	JUnitFile          = "report.junit.xml" // findings for CI
	DOTFile            = "topology.dot"     // the topology for Graphviz
	MermaidFile        = "topology.mmd"     // and for Mermaid
)

// Files lists every file of a report folder.
func Files() []string {
	return []string{
		CensusFile, KustomizationsFile, HelmReleasesFile, PlacementsFile,
		ObjectsFile, OwnershipFile, FilesFile, FindingsFile, HiddenFile, CoverageFile, OracleFile, SchemaFile,
		HTMLFile, MarkdownFile, SARIFFile, JUnitFile, DOTFile, MermaidFile,
	}
}

// The struct tag `word` marks fields that hold words of this contract or of the
// Kubernetes API, digits or dates, never a name that somebody chose for a
// cluster or a repository: "kind" for an API kind, "code" for a reason code,
// "true" for the others. All other strings are subject to aliases, and so is a
// word that does not look like one.

// Header is what is known before the first record.
type Header struct {
	// SchemaFile is the JSON Schema that describes this document, beside it.
	SchemaFile string `json:"$schema,omitempty" word:"true"`
	// Schema is the constant of this name.
	Schema string `json:"schema" word:"true"`
	Tool   Tool   `json:"tool"`
	// Names is "alias" when the names of clusters and of the repository are
	// aliases, "real" when they are not.
	Names string `json:"names" word:"true"`
	// Repository is the alias of the repository, or its name.
	Repository string `json:"repository"`
	// Revision as asked for; "HEAD" when nothing was asked for.
	Revision string `json:"revision"`
	// Commit is the full id of the commit that was read.
	Commit string `json:"commit" word:"true"`
	// CommitTime is the committer time, RFC 3339 in UTC.
	CommitTime string `json:"commit_time" word:"true"`
	// Shallow and Partial clones may lack history or objects.
	Shallow bool `json:"shallow"`
	Partial bool `json:"partial"`
	// Walls of the seal around the analyser that took this census, standing or
	// not.
	Walls []Wall `json:"walls"`
	// Oracle is how far a second opinion on the Kustomizations agrees.
	Oracle Oracle `json:"oracle"`
}

// Oracle sums up the comparison with the user's own check, or with that of
// `reach oracle`. The counts other than Kustomizations add up to it.
type Oracle struct {
	// Format of what was compared with: "csv", "json" or "folder"; empty when
	// nothing was, and all counts are 0.
	Format string `json:"format" word:"true"`
	// Tool that made it, as it says itself; empty when it does not.
	Tool           string `json:"tool"`
	Kustomizations int    `json:"kustomizations"`
	Agree          int    `json:"agree"`
	// Differ, OnlyTheirs and OnlyOurs are graph defects, each with a finding:
	// one of the two is wrong.
	Differ     int `json:"differ"`
	OnlyTheirs int `json:"only_theirs"`
	OnlyOurs   int `json:"only_ours"`
	// TheirsFailed could not be compared.
	TheirsFailed int `json:"theirs_failed"`
	// NotAsked are Kustomizations of clusters of which the other side says
	// nothing at all, and those below one that it did not render; they are not
	// part of Kustomizations.
	NotAsked int `json:"not_asked"`
}

// Tool is the program that wrote the report.
type Tool struct {
	Name            string `json:"name" word:"true"`
	Version         string `json:"version" word:"true"`
	AnalyserVersion string `json:"analyser_version" word:"true"`
}

// Wall is one wall of the seal.
type Wall struct {
	// Name is "imports", "symbols", "landlock" or "seccomp".
	Name   string `json:"name" word:"true"`
	Stands bool   `json:"stands"`
	Detail string `json:"detail"`
}

// Census is census.json: the header, and what is known after the last record.
type Census struct {
	Header
	Clusters []Cluster `json:"clusters"`
	Roots    []Root    `json:"roots"`
	// ProposedRoots are directories that may be roots, the likeliest first,
	// where none was found.
	ProposedRoots []ProposedRoot `json:"proposed_roots,omitempty"`
	Counts        Counts         `json:"counts"`
	// Rules lists every rule that ran, with 0 when it found nothing.
	Rules []Rule `json:"rules"`
	// Review is what hides findings.
	Review Review `json:"review"`
	// Packs are sets of kinds, handled or not.
	Packs []Pack `json:"packs"`
	// Notes say what could not be looked at or was assumed.
	Notes []string `json:"notes"`
	// Data lists the other data files with their number of lines, so that a
	// reader can tell a whole report from a torn one.
	Data []DataFile `json:"data"`
}

// Review is what was asked to be hidden among the findings, and what of it was.
type Review struct {
	// AsOf is the day on which expiry dates were judged, YYYY-MM-DD in UTC: that
	// of the commit, unless the user said another.
	AsOf string `json:"as_of" word:"true"`
	// Baseline is the earlier census whose findings are known.
	Baseline Baseline `json:"baseline"`
	// Suppressions of the configuration, in its order.
	Suppressions []Suppression `json:"suppressions"`
}

// Baseline is an earlier census.
type Baseline struct {
	// Format is "report", "jsonl" or "sarif"; empty when there is no baseline.
	Format string `json:"format" word:"true"`
	// Commit of the earlier census, where it says so.
	Commit string `json:"commit" word:"true"`
	// Findings that it holds, and those of them that are gone.
	Findings int `json:"findings"`
	Gone     int `json:"gone"`
}

// Suppression is an entry of the configuration that hides findings.
type Suppression struct {
	// Rule, Path, Object and Cluster are patterns; all that are not empty have
	// to match.
	Rule    string `json:"rule" word:"true"`
	Path    string `json:"path"`
	Object  string `json:"object"`
	Cluster string `json:"cluster"`
	Reason  string `json:"reason"`
	// Expires is the last day on which it holds, YYYY-MM-DD.
	Expires string `json:"expires" word:"true"`
	Expired bool   `json:"expired"`
	// Findings that it hides, or would if it had not expired.
	Findings int `json:"findings"`
}

// DataFile is a file of lines.
type DataFile struct {
	File  string `json:"file" word:"true"`
	Lines int    `json:"lines"`
	// Schema is the JSON Schema of a line, "schema.json#Placement".
	Schema string `json:"schema,omitempty" word:"true"`
}

// Cluster is a cluster that the census met.
type Cluster struct {
	Name string `json:"name"`
	// Role is "hub" (its controllers reconcile other clusters), "spoke" (a
	// kubeConfig reference leads to it), or "cluster".
	Role string `json:"role" word:"true"`
	// KubeConfig is the reference that leads to it, "Secret namespace/name#key".
	KubeConfig        string `json:"kubeconfig"`
	ControllerCluster string `json:"controller_cluster"`
	// References are all references that lead to it; the one above is the first.
	References  []ClusterReference `json:"references,omitempty"`
	RunsFlux    bool               `json:"runs_flux"`
	Flavour     string             `json:"flavour" word:"true"`
	Platform    string             `json:"platform" word:"true"`
	Evidence    string             `json:"evidence"`
	Controllers []string           `json:"controllers"`
	// Signals are what tells Flavour and Platform, and what was seen and tells
	// nothing. Like all that follows it is left out where nobody looked.
	Signals []Signal `json:"signals,omitempty"`
	// Readings are what was asked for there and how that ended.
	Readings []Reading `json:"readings,omitempty"`
	// Shape is what the cluster serves and how it is built.
	Shape *ClusterShape `json:"shape,omitempty"`
	// Revision is what its controllers reconcile.
	Revision *RevisionState `json:"revision,omitempty"`
}

// Ways are all references that lead to a cluster, also in a report that is older
// than References.
func (c *Cluster) Ways() []ClusterReference {
	if len(c.References) == 0 && c.KubeConfig != "" {
		return []ClusterReference{{c.ControllerCluster, c.KubeConfig}}
	}
	return c.References
}

// ClusterReference is a kubeConfig that leads from one cluster to another.
type ClusterReference struct {
	ControllerCluster string `json:"controller_cluster"`
	KubeConfig        string `json:"kubeconfig"`
}

// Root is where the reconciliation of a cluster starts.
type Root struct {
	Cluster   string `json:"cluster"`
	Path      string `json:"path"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// DeclaredBy is "gotk-sync", "flux-instance", "flag", "config",
	// "argocd-application" or "spoke".
	DeclaredBy   string `json:"declared_by" word:"true"`
	DeclaredPath string `json:"declared_path"`
	DeclaredLine int    `json:"declared_line"`
}

// ProposedRoot is a directory of which nothing says that a cluster reconciles
// itself from it.
type ProposedRoot struct {
	// Cluster is a name made of the path.
	Cluster string `json:"cluster"`
	Path    string `json:"path"`
	Reason  string `json:"reason"`
}

// Counts of everything.
type Counts struct {
	FilesInCommit int `json:"files_in_commit"`
	// Files considered: manifests, and all that something reads. It is the sum
	// of Analysable, SeenNotAnalysed, Unresolved and Uncovered.
	Files           int `json:"files"`
	Analysable      int `json:"analysable"`
	SeenNotAnalysed int `json:"seen_not_analysed"`
	Unresolved      int `json:"unresolved"`
	Uncovered       int `json:"uncovered"`
	// RenderInputs are files whose role is not object; they are part of the
	// counts above.
	RenderInputs int `json:"render_inputs"`
	// MultiPlacement files count once per placement in Placements.
	MultiPlacement        int            `json:"multi_placement"`
	Placements            int            `json:"placements"`
	PlacementsByClass     map[string]int `json:"placements_by_class" word:"true"`
	Kustomizations        int            `json:"kustomizations"`
	KustomizationsByState map[string]int `json:"kustomizations_by_state" word:"true"`
	HelmReleases          int            `json:"helmreleases"`
	Objects               int            `json:"objects"`
	ObjectsByVerdict      map[string]int `json:"objects_by_verdict" word:"true"`
	// Findings that are open. Those that are hidden are counted apart and stand
	// in hidden.jsonl.
	Findings           int            `json:"findings"`
	FindingsBySeverity map[string]int `json:"findings_by_severity" word:"true"`
	// FindingsSuppressed are hidden by a suppression of the configuration,
	// FindingsKnown by the baseline.
	FindingsSuppressed int `json:"findings_suppressed"`
	FindingsKnown      int `json:"findings_known"`
	// NotConsidered are files by extension.
	NotConsidered map[string]int `json:"not_considered"`
	BytesRead     int64          `json:"bytes_read"`
	// LiveRecords are the lines of ownership.jsonl, LiveObjectsByMaker the objects
	// that they stand for.
	LiveRecords        int            `json:"live_records"`
	LiveObjectsByMaker map[string]int `json:"live_objects_by_maker" word:"true"`
	// Abstentions of objects by reason.
	Abstentions map[string]int `json:"abstentions" word:"true"`
}

// Rule says that a rule ran.
type Rule struct {
	Rule     string `json:"rule" word:"true"`
	Severity string `json:"severity" word:"true"`
	Count    int    `json:"count"`
	// Hidden findings of the rule, which Count leaves out.
	Hidden int    `json:"hidden"`
	Doc    string `json:"doc"`
}

// Pack is a set of kinds.
type Pack struct {
	Name    string `json:"name" word:"true"`
	Handled bool   `json:"handled"`
	Objects int    `json:"objects"`
	// Files would turn analysable if the pack were handled.
	Files int `json:"files"`
	// Kinds counts placed objects by "Kind.group".
	Kinds map[string]int `json:"kinds"`
}
