package html

import (
	"bufio"
	"encoding/json"
	"path"
	"slices"
	"strconv"

	"github.com/gitops-reach/reach/orchestrator/internal/report"
)

// tables hold the records as rows of numbers over interned strings, so that a
// repository of a hundred thousand files fits into a page. Strings stand whole:
// a path is its directory and its base name, never a piece of either, so that
// the check for real names can read them. assets/app.js is the reader.
type tables struct {
	strings map[string]int
	text    []string

	paths             map[[2]int]int
	hops, lands, owns map[string]int
	kinds, infos      map[string]int
	nodes             map[[3]int]int

	path, hop, node, land, info, own, kind []int
	file, place, object, origin, finding   []int
	fact                                   []int
	nFindings, nObjects                    int

	// placements by file, until the files come.
	placements [][3]int
	placedAt   []int
}

// The most that a page holds. What is beyond stands in the data files, and the
// page says so.
const (
	maxFiles      = 250_000
	maxPlacements = 500_000
	maxObjects    = 300_000
	maxFindings   = 20_000
)

func newTables() *tables {
	t := &tables{
		strings: map[string]int{}, paths: map[[2]int]int{}, hops: map[string]int{}, lands: map[string]int{},
		owns: map[string]int{}, kinds: map[string]int{}, infos: map[string]int{}, nodes: map[[3]int]int{},
	}
	t.str("")
	return t
}

// str interns a string as a person may read it.
func (t *tables) str(s string) int {
	i, ok := t.strings[s]
	if !ok {
		i = len(t.text)
		t.strings[s] = i
		t.text = append(t.text, report.Printable(s))
	}
	return i
}

// strs interns strings.
func (t *tables) strs(s ...string) []int {
	out := make([]int, len(s))
	for i := range s {
		out[i] = t.str(s[i])
	}
	return out
}

func (t *tables) pathOf(p string) int {
	dir, base := path.Split(p)
	if dir != "" && dir != "/" {
		dir = dir[:len(dir)-1]
	}
	key := [2]int{t.str(dir), t.str(base)}
	i, ok := t.paths[key]
	if !ok {
		i = len(t.path) / 2
		t.paths[key] = i
		t.path = append(t.path, key[0], key[1])
	}
	return i
}

// row interns a row of numbers in a table and returns its index.
func row(index map[string]int, table *[]int, numbers ...int) int {
	key := make([]byte, 0, 32)
	for _, n := range numbers {
		key = strconv.AppendInt(key, int64(n), 36)
		key = append(key, ' ')
	}
	i, ok := index[string(key)]
	if !ok {
		i = len(*table) / len(numbers)
		index[string(key)] = i
		*table = append(*table, numbers...)
	}
	return i
}

// trace interns the hops from the last one back, since traces end alike. It
// returns 0 for none, else the first node plus one.
func (t *tables) trace(hops []report.Hop) int {
	next := 0
	for _, h := range slices.Backward(hops) {
		p := 0
		if h.Path != "" {
			p = t.pathOf(h.Path) + 1
		}
		hop := row(t.hops, &t.hop, t.str(h.Kind), p, t.str(h.Name), t.str(h.Cluster))
		key := [3]int{hop, h.Line, next}
		i, ok := t.nodes[key]
		if !ok {
			i = len(t.node) / 3
			t.nodes[key] = i
			t.node = append(t.node, hop, h.Line, next)
		}
		next = i + 1
	}
	return next
}

// addPlacement keeps a placement until its file is known. The first hop of a
// trace is the file itself nearly always: only its line is kept then, plus one.
func (t *tables) addPlacement(p *report.Placement) {
	if len(t.placements) == maxPlacements {
		return
	}
	hops, line := p.Trace, 0
	if len(hops) > 0 && hops[0] == (report.Hop{Kind: "file", Path: p.Path, Line: hops[0].Line}) {
		line, hops = hops[0].Line+1, hops[1:]
	}
	land := row(t.lands, &t.land, t.strs(
		p.Class, p.Cluster, p.ControllerCluster, p.Controller, p.ControllerKind, p.State, p.Reason, p.Detail, p.Role)...)
	t.placedAt = append(t.placedAt, t.pathOf(p.Path))
	t.placements = append(t.placements, [3]int{land, t.trace(hops), line})
}

func (t *tables) addFile(f *report.File) {
	if len(t.file) == 3*maxFiles {
		return
	}
	info := row(t.infos, &t.info, t.strs(f.Role, f.Analysis, f.Reason, f.Detail, f.Root)...)
	t.file = append(t.file, t.pathOf(f.Path), info, 0)
}

func (t *tables) addObject(o *report.Object) {
	if t.nObjects++; t.nObjects > maxObjects {
		return
	}
	own := row(t.owns, &t.own, t.strs(
		o.Cluster, o.ControllerCluster, o.Controller, o.ControllerKind, o.Class, o.Verdict, o.Reason)...)
	kind := row(t.kinds, &t.kind, t.strs(o.Group, o.Version, o.Kind)...)
	t.object = append(t.object, own, kind, t.str(o.Namespace), t.str(o.Name), len(o.Origin))
	for _, l := range o.Origin {
		t.origin = append(t.origin, t.pathOf(l.Path), l.Line)
	}
}

// findingWidth is how many numbers a finding takes.
const findingWidth = 14

func (t *tables) addFinding(f *report.Finding) {
	if t.nFindings++; t.nFindings > maxFindings {
		return
	}
	p := 0
	if f.Path != "" {
		p = t.pathOf(f.Path) + 1
	}
	t.finding = append(t.finding, t.str(f.Rule), t.str(f.Severity), p, f.Line, t.str(f.Cluster), t.str(f.Kind),
		t.str(f.Namespace), t.str(f.Name), t.str(f.Var), f.Count, t.str(f.Message), t.str(f.Remedy), t.trace(f.Trace), len(f.Facts))
	for _, fact := range f.Facts {
		at := 0
		if fact.Path != "" {
			at = t.pathOf(fact.Path) + 1
		}
		t.fact = append(t.fact, t.str(fact.Cluster), t.str(fact.Text), at, fact.Line)
	}
}

// join puts the placements in the order of the files and counts them there.
func (t *tables) join() {
	at := make([][]int32, len(t.path)/2)
	for i, p := range t.placedAt {
		at[p] = append(at[p], int32(i))
	}
	t.place = t.place[:0]
	for i := 0; i < len(t.file); i += 3 {
		mine := at[t.file[i]]
		t.file[i+2] = len(mine)
		for _, p := range mine {
			t.place = append(t.place, t.placements[p][:]...)
		}
	}
}

// write writes the tables as one JSON object, a string a line.
func (t *tables) write(w *bufio.Writer, rules []ruleRow) error {
	w.WriteString("{\"s\":[\n")
	for i, s := range t.text {
		// json.Marshal writes <, > and & as escapes, so that nothing in a
		// string ends the element or opens another.
		b, err := json.Marshal(s)
		if err != nil {
			return err
		}
		w.Write(b)
		if i+1 < len(t.text) {
			w.WriteByte(',')
		}
		w.WriteByte('\n')
	}
	w.WriteString("]")
	for _, table := range []struct {
		name    string
		numbers []int
	}{
		{"path", t.path},
		{"hop", t.hop},
		{"node", t.node},
		{"land", t.land},
		{"info", t.info},
		{"own", t.own},
		{"kind", t.kind},
		{"file", t.file},
		{"place", t.place},
		{"object", t.object},
		{"origin", t.origin},
		{"finding", t.finding},
		{"fact", t.fact},
	} {
		w.WriteString(",\n\"" + table.name + "\":[")
		var number []byte
		for i, n := range table.numbers {
			if i > 0 {
				w.WriteByte(',')
			}
			number = strconv.AppendInt(number[:0], int64(n), 10)
			w.Write(number)
		}
		w.WriteByte(']')
	}
	b, err := json.Marshal(rules)
	if err != nil {
		return err
	}
	w.WriteString(",\n\"rule\":")
	w.Write(b)
	_, err = w.WriteString("}")
	return err
}

// ruleRow is what the script needs to know of a rule.
type ruleRow struct {
	Rule        string `json:"rule"`
	Question    bool   `json:"question"`
	Consequence string `json:"consequence"`
}
