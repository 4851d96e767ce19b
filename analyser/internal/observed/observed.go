// Package observed is what read-only access to clusters showed, as plain
// values: one Cluster for each, filled by whoever has the facts and read by the
// stages that judge them.
//
// It keeps what was not seen as carefully as what was: an object is known to be
// absent only where Covers says so.
package observed

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gitops-reach/reach/analyser/internal/cluster"
	"github.com/gitops-reach/reach/analyser/internal/object"
)

// Outcome is how a request ended: OK, or a reason code of the output contract.
type Outcome string

// The outcomes that the stages tell apart. All others are codes that are
// reported as they are: "denied", "unreachable", "timeout", ...
const (
	OK        Outcome = "ok"
	NotAsked  Outcome = "not_asked"
	NotServed Outcome = "not_served"
	NotFound  Outcome = "not_found"
)

// Set is what was seen on all clusters. The zero value is empty.
type Set struct {
	clusters map[cluster.Name]*Cluster
}

// On returns what was seen on a cluster, nil for one that nobody looked at. It
// may be called on a nil Set.
func (s *Set) On(n cluster.Name) *Cluster {
	if s == nil {
		return nil
	}
	return s.clusters[n]
}

// Add returns the cluster to add facts to.
func (s *Set) Add(n cluster.Name) *Cluster {
	if s.clusters == nil {
		s.clusters = map[cluster.Name]*Cluster{}
	}
	c := s.clusters[n]
	if c == nil {
		c = &Cluster{Name: n, Holders: map[object.Key]*Holder{}, Sources: map[object.Key]*Source{}, served: map[object.GroupKind]*Served{}}
		s.clusters[n] = c
	}
	return c
}

// Names are the clusters that were looked at, sorted.
func (s *Set) Names() []cluster.Name {
	if s == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(s.clusters))
}

// Cluster is what was seen on one cluster.
type Cluster struct {
	Name cluster.Name
	// Access is nil when the facts do not say how the cluster was read.
	Access *Access
	// Discovery is nil when nobody asked what the cluster serves.
	Discovery *Discovery
	Readings  []Reading
	// Controllers that were seen, by name.
	Controllers []Controller
	Sources     map[object.Key]*Source
	Holders     map[object.Key]*Holder
	Present     []Present

	Infrastructure *Infrastructure
	ClusterVersion *ClusterVersion
	Nodes          *Nodes
	Network        string
	// Ingress domains by name.
	Ingress         map[string]string
	Subscriptions   []Item
	ServiceVersions []Item
	Pools           []Item
	Operators       []Item

	served map[object.GroupKind]*Served
	asked  map[Reading]int
}

// Access says how a cluster was read.
type Access struct {
	Outcome       Outcome
	Detail        string
	ServerVersion string
}

// Discovery says whether all served kinds are known.
type Discovery struct {
	Outcome Outcome
	Detail  string
	// Missing are "group/version"s whose kinds could not be read.
	Missing []string
}

// Served is a kind that the cluster serves.
type Served struct {
	Namespaced bool
	Versions   []string
}

// Reading is what came of one list or get.
type Reading struct {
	object.GroupKind
	// Namespace is empty for all, Name for a list.
	Namespace, Name string
	// Selector limits what the reading covers.
	Selector string
	Outcome  Outcome
	Detail   string
	Objects  int64
}

// Controller is a controller that was seen running.
type Controller struct {
	Name, Namespace, Version string
	FeatureGates             map[string]bool
	Args                     []string
	Ready                    int
}

// Condition is a condition of a status.
type Condition struct {
	Type, Status, Reason string
	// ObservedGeneration is that of the object when the condition was set, 0 when
	// it does not say.
	ObservedGeneration int64
}

// Source is a source object.
type Source struct {
	Revision, OriginRevision, URL, Ref string
	Suspend                            bool
}

// Holder is an object with an inventory.
type Holder struct {
	Object                         object.Ref
	Generation, ObservedGeneration int64
	// Ready is the condition Ready; zero when there is none.
	Ready      Condition
	Suspend    bool
	Prune      *bool
	Deleting   bool
	Deletion   string
	Source     object.Key
	KubeConfig *KubeConfig
	// LastApplied, LastAttempted and LastOrigin are revisions as Flux writes
	// them.
	LastApplied, LastAttempted, LastOrigin string
	ReleaseName, ReleaseNamespace          string
	HasInventory                           bool
	// Announced is how many entries it has, Entries those that were told.
	Announced int64
	Entries   []Entry
	// Malformed are entries that cannot be read.
	Malformed []string
	Labels    map[string]string
}

// KubeConfig is a reference to another cluster.
type KubeConfig struct{ Kind, Namespace, Name, Key string }

// Entry is one entry of an inventory.
type Entry struct {
	Key     object.Key
	Version string
}

// Whole reports that all entries that the inventory has were told.
func (h *Holder) Whole() bool { return int64(len(h.Entries)+len(h.Malformed)) >= h.Announced }

// Add adds an entry by its id.
func (h *Holder) Add(id, version string) {
	if k, err := object.ParseID(id); err == nil {
		h.Entries = append(h.Entries, Entry{k, version})
	} else {
		h.Malformed = append(h.Malformed, id)
	}
}

// Present is an object that exists.
type Present struct {
	Object              object.Ref
	UID                 string
	Owners              []Owner
	Labels, Annotations map[string]string
	Managers            []Manager
	Created             time.Time
	Deleting            bool
	LastApplied         bool
}

// Owner is an owner reference.
type Owner struct {
	Object     object.Ref // without namespace
	UID        string
	Controller bool
}

// Manager is an entry of managedFields.
type Manager struct {
	Name, Operation, Subresource string
	Time                         time.Time
}

// Infrastructure is OpenShift's.
type Infrastructure struct {
	// Type is nil when there is no platformStatus.
	Type                   *string
	Platform               string
	ControlPlane, Topology string
}

// ClusterVersion is OpenShift's.
type ClusterVersion struct{ Desired, Completed, Channel string }

// Nodes sums up all nodes.
type Nodes struct {
	Count                                                    int
	KubeletVersions, Roles, Schemes, OSImages, NodeAnnotated map[string]int
	Labels                                                   []NodeLabel
	CSIDrivers                                               []string
}

// NodeLabel is a label of so many nodes.
type NodeLabel struct {
	Key, Value string
	Nodes      int
}

// Item is an object that tells how a cluster is built.
type Item struct{ Namespace, Name, Version, State string }

// Serve adds a served kind.
func (c *Cluster) Serve(k object.GroupKind, version string, namespaced bool) {
	s := c.served[k]
	if s == nil {
		s = &Served{Namespaced: namespaced}
		c.served[k] = s
	}
	if !slices.Contains(s.Versions, version) {
		s.Versions = append(s.Versions, version)
	}
}

// Read adds a reading, in place of an earlier one of the same question.
func (c *Cluster) Read(r Reading) {
	key := r
	key.Outcome, key.Detail, key.Objects = "", "", 0
	if c.asked == nil {
		c.asked = map[Reading]int{}
	}
	if i, ok := c.asked[key]; ok {
		c.Readings[i] = r
		return
	}
	c.asked[key] = len(c.Readings)
	c.Readings = append(c.Readings, r)
}

// Saw adds a controller.
func (c *Cluster) Saw(x Controller) {
	c.Controllers = slices.DeleteFunc(c.Controllers, func(o Controller) bool { return o.Name == x.Name && o.Namespace == x.Namespace })
	c.Controllers = append(c.Controllers, x)
}

// Groups counts the served kinds by group.
func (c *Cluster) Groups() map[string]int {
	out := map[string]int{}
	for k := range c.served {
		out[k.Group]++
	}
	return out
}

// Serves reports whether a kind is served; known is false when that cannot be
// told. It may be called on a nil Cluster.
func (c *Cluster) Serves(k object.GroupKind) (s *Served, known bool) {
	if c == nil {
		return nil, false
	}
	if s := c.served[k]; s != nil {
		return s, true
	}
	if c.Discovery == nil || c.Discovery.Outcome != OK {
		return nil, false
	}
	for _, m := range c.Discovery.Missing {
		if group, _ := object.SplitAPIVersion(m); group == k.Group {
			return nil, false
		}
	}
	return nil, true
}

// Scope is the scope of a kind as the cluster serves it.
func (c *Cluster) Scope(k object.GroupKind) object.Scope {
	s, _ := c.Serves(k)
	switch {
	case s == nil:
		return object.ScopeUnknown
	case s.Namespaced:
		return object.Namespaced
	}
	return object.ClusterScoped
}

// Answered reports that the server answered at all.
func (c *Cluster) Answered() bool {
	return c.Access == nil || c.Access.Outcome == OK || slices.ContainsFunc(c.Readings, func(r Reading) bool { return r.Outcome == OK })
}

// Covers is how the question for one object ended: OK when it would have been
// seen, so that it is absent if it was not; else the reason why that cannot be
// said, with the detail for people. The reading that says most counts.
func (c *Cluster) Covers(k object.Key) (Outcome, string) {
	if c == nil {
		return NotAsked, "nobody looked at this cluster"
	}
	told := false
	best, detail := c.unanswered(k.GroupKind())
	for _, r := range c.Readings {
		if r.GroupKind != k.GroupKind() || r.Namespace != "" && r.Namespace != k.Namespace || r.Name != "" && r.Name != k.Name {
			continue
		}
		switch {
		case r.Outcome == OK && r.Selector == "", r.Outcome == NotFound && r.Name != "", r.Outcome == NotServed:
			return OK, r.Detail
		case r.Outcome == OK:
			// A list by label shows only what it selects.
		case !told:
			best, detail, told = r.Outcome, r.Detail, true
		}
	}
	return best, detail
}

// unanswered is the outcome for a kind of which no reading tells. A server that
// does not say its version may answer other questions.
func (c *Cluster) unanswered(k object.GroupKind) (Outcome, string) {
	if c.Access != nil && c.Access.Outcome != OK && c.Access.Outcome != "" {
		return c.Access.Outcome, c.Access.Detail
	}
	return NotAsked, "nobody asked for " + k.String()
}

// CoversAll is Covers for every object of a kind.
func (c *Cluster) CoversAll(k object.GroupKind) (Outcome, string) {
	if c == nil {
		return NotAsked, "nobody looked at this cluster"
	}
	told := false
	best, detail := c.unanswered(k)
	for _, r := range c.Readings {
		switch {
		case r.GroupKind != k || r.Name != "":
		case r.Outcome == NotServed, r.Outcome == OK && r.Namespace == "" && r.Selector == "":
			return OK, r.Detail
		case r.Outcome != OK && !told:
			best, detail, told = r.Outcome, r.Detail, true
		case r.Outcome == OK && !told:
			detail = k.String() + " was asked for in some namespaces only"
		}
	}
	if s, known := c.Serves(k); s == nil && known {
		return OK, "the cluster does not serve " + k.String()
	}
	return best, detail
}

// Settle puts everything into an order that does not depend on that of the
// facts.
func (s *Set) Settle() {
	if s == nil {
		return
	}
	for _, c := range s.clusters {
		c.settle()
	}
}

func (c *Cluster) settle() {
	c.asked = nil
	slices.SortFunc(c.Readings, func(a, b Reading) int {
		return cmp.Or(
			strings.Compare(a.Group, b.Group), strings.Compare(a.Kind, b.Kind), strings.Compare(a.Namespace, b.Namespace),
			strings.Compare(a.Name, b.Name), strings.Compare(a.Selector, b.Selector), strings.Compare(string(a.Outcome), string(b.Outcome)),
		)
	})
	slices.SortFunc(c.Controllers, func(a, b Controller) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Namespace, b.Namespace))
	})
	slices.SortStableFunc(c.Present, func(a, b Present) int { return a.Object.Compare(b.Object) })
	for _, items := range [][]Item{c.Subscriptions, c.ServiceVersions, c.Pools, c.Operators} {
		slices.SortStableFunc(items, func(a, b Item) int {
			return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
		})
	}
	for _, h := range c.Holders {
		slices.SortFunc(h.Entries, func(a, b Entry) int { return a.Key.Compare(b.Key) })
		slices.Sort(h.Malformed)
	}
	for _, k := range c.served {
		slices.Sort(k.Versions)
	}
}
