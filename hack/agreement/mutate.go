package main

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gitops-reach/reach/hack/dump"
)

// Per mutation so many builds are compared at the most; which ones is random.
const (
	plainPerMutation = 2
	syncsPerMutation = 3
)

// mutate breaks a subject in n small random ways, one at a time, and compares
// the builds that the change can reach. Equal seeds give equal ways.
func (b *bench) mutate(s *subject, t *table, n int, seed uint64) error {
	req := s.request
	req.AllPlain, req.Files = true, true
	base, err := b.builds(&req)
	if err != nil {
		return err
	}
	if base.Error != "" {
		return fmt.Errorf("no census: %s", base.Error)
	}
	w, err := b.newWork(s)
	if err != nil {
		return err
	}
	defer w.close()
	m := newMutator(base, w, seed, s.name)
	if len(m.files) == 0 {
		return nil
	}
	plain, syncs := newTally(), newTally()
	var plainTime, syncTime time.Duration
	for i := range n {
		what, changes := m.change(i)
		if changes == nil {
			continue
		}
		if err := w.apply(changes); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		req := s.request
		req.Changes = changes
		req.Plain = m.dirs(changes)
		reply, err := b.builds(&req)
		if err != nil {
			return fmt.Errorf("after %q: %w", what, err)
		}
		p, f, start := newTally(), newTally(), time.Now()
		for _, x := range reply.Plain {
			w.plain(&x, p)
		}
		plainTime += time.Since(start)
		start = time.Now()
		switch {
		case strings.HasPrefix(reply.Error, "root "):
			f.unresolved("the root is gone")
		case reply.Error != "":
			return fmt.Errorf("after %q there is no census: %s", what, reply.Error)
		default:
			err = w.syncs(reply, f, m.reached(reply, changes))
		}
		if err != nil {
			return fmt.Errorf("after %q: %w", what, err)
		}
		syncTime += time.Since(start)
		for _, t := range []*tally{p, f} {
			for j := range t.differences {
				t.differences[j] = fmt.Sprintf("[%d: %s] %s", i, what, t.differences[j])
			}
		}
		plain.plus(p)
		syncs.plus(f)
		if err := w.undo(); err != nil {
			return err
		}
	}
	t.add(s.name, "kustomize", plain, plainTime)
	t.add(s.name, "flux", syncs, syncTime)
	return nil
}

// apply changes the files of the clone until undo.
func (w *work) apply(changes map[string]*string) error {
	w.change++
	w.changes = changes
	w.before = map[string]*string{}
	for p, text := range changes {
		if old, err := os.ReadFile(filepath.Join(w.tree, p)); err == nil {
			s := string(old)
			w.before[p] = &s
		} else {
			w.before[p] = nil
		}
		if err := w.set(p, text); err != nil {
			return err
		}
	}
	return nil
}

func (w *work) undo() error {
	for p, text := range w.before {
		if err := w.set(p, text); err != nil {
			return err
		}
	}
	w.changes, w.before = nil, nil
	return nil
}

// set writes a file of the clone; nil removes it, and the directories that
// hold nothing else: git knows no empty ones.
func (w *work) set(p string, text *string) error {
	full := filepath.Join(w.tree, p)
	if text != nil {
		return writeFile(full, []byte(*text))
	}
	if err := os.Remove(full); err != nil {
		return err
	}
	for d := path.Dir(p); d != "."; d = path.Dir(d) {
		if os.Remove(filepath.Join(w.tree, d)) != nil {
			break
		}
	}
	return nil
}

// mutator knows what a repository is made of.
type mutator struct {
	w    *work
	seed uint64
	// files that some build reads, sorted; all are those that exist.
	files, all []string
	names      []string
	readers    map[string][]string
	known      map[string]bool // keys of what is built without a change
	uses       map[string][]string
	rng        *rand.Rand
}

func newMutator(base *dump.Reply, w *work, seed uint64, name string) *mutator {
	h := fnv.New64a()
	h.Write([]byte(name))
	m := &mutator{w: w, seed: seed ^ h.Sum64(), readers: map[string][]string{}, known: map[string]bool{}, uses: map[string][]string{}}
	regular, read := map[string]bool{}, map[string]bool{}
	for _, f := range base.Files {
		if f.Mode == "100644" || f.Mode == "100755" {
			regular[string(f.Path)] = true
			m.all = append(m.all, string(f.Path))
			if path.Base(string(f.Path)) == ".sourceignore" {
				read[string(f.Path)] = true
			}
		}
	}
	for _, p := range base.Plain {
		for _, u := range p.Build.Uses {
			m.readers[u] = append(m.readers[u], p.Dir)
			read[u] = regular[u]
		}
		for _, o := range p.Build.Objects {
			m.names = append(m.names, o.Name)
		}
	}
	clusters := configs(base)
	for i := range base.Syncs {
		s := &base.Syncs[i]
		if s.Build < 0 {
			continue
		}
		b := &base.Builds[s.Build]
		for _, u := range b.Uses {
			read[u] = regular[u]
		}
		m.uses[s.Cluster+" "+s.Namespace+"/"+s.Name] = b.Uses
		key, _ := clusters.key(base, s)
		m.known[key] = true
	}
	for f, ok := range read {
		if ok {
			m.files = append(m.files, f)
		}
	}
	slices.Sort(m.files)
	slices.Sort(m.names)
	m.names = slices.Compact(m.names)
	return m
}

// dirs are the directories to build plainly after a change.
func (m *mutator) dirs(changes map[string]*string) []string {
	var out []string
	for _, f := range sorted(changes) {
		out = append(out, m.readers[f]...)
		if isKustomizationFile(f) {
			out = append(out, strings.TrimSuffix(path.Dir(f), "."))
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	m.rng.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	out = slices.DeleteFunc(out, func(dir string) bool {
		i, err := os.Stat(filepath.Join(m.w.tree, dir))
		return err != nil || !i.IsDir()
	})
	return out[:min(len(out), plainPerMutation)]
}

// reached are some of the Syncs whose build a change may change, or that are
// not what they were.
func (m *mutator) reached(reply *dump.Reply, changes map[string]*string) []int {
	clusters := configs(reply)
	var out []int
	for i := range reply.Syncs {
		s := &reply.Syncs[i]
		if s.Build < 0 {
			continue
		}
		if key, _ := clusters.key(reply, s); !m.known[key] || m.reads(s, &reply.Builds[s.Build], changes) {
			out = append(out, i)
		}
	}
	m.rng.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out[:min(len(out), syncsPerMutation)]
}

func (m *mutator) reads(s *dump.Sync, build *dump.Build, changes map[string]*string) bool {
	for f := range changes {
		if path.Base(f) == ".sourceignore" || slices.Contains(build.Uses, f) || slices.Contains(m.uses[s.Cluster+" "+s.Namespace+"/"+s.Name], f) ||
			s.Directory != "" && under(s.Directory, f) {
			return true
		}
	}
	return false
}

// change is the i-th change: what it is, and the files as they then are.
func (m *mutator) change(i int) (what string, changes map[string]*string) {
	m.rng = rand.New(rand.NewPCG(m.seed, uint64(i)))
	file := m.files[m.rng.IntN(len(m.files))]
	content, err := m.w.read(file)
	if err != nil {
		return "", nil
	}
	if m.rng.IntN(12) == 0 {
		return m.move(file, string(content))
	}
	text, what := "", ""
	for range 20 {
		if what, text = m.damage(file, string(content)); text != string(content) {
			return what + " of " + file, map[string]*string{file: &text}
		}
	}
	return "", nil
}

// move gives a file another name or directory, or removes it.
func (m *mutator) move(file, content string) (string, map[string]*string) {
	to := ""
	switch m.rng.IntN(4) {
	case 0:
		return "removed " + file, map[string]*string{file: nil}
	case 1:
		to = path.Join(path.Dir(file), "moved-"+path.Base(file))
	case 2:
		to = path.Join(path.Dir(path.Dir(file)), path.Base(file))
	default:
		to = path.Join(path.Dir(m.all[m.rng.IntN(len(m.all))]), path.Base(file))
	}
	if slices.Contains(m.all, to) {
		return "removed " + file, map[string]*string{file: nil}
	}
	for _, f := range m.all {
		if strings.HasPrefix(to, f+"/") || strings.HasPrefix(f, to+"/") {
			return "removed " + file, map[string]*string{file: nil}
		}
	}
	return "moved " + file + " to " + to, map[string]*string{file: nil, to: &content}
}

// damage changes a text in one small way.
func (m *mutator) damage(file, text string) (what, damaged string) {
	lines := strings.SplitAfter(text, "\n")
	i := m.rng.IntN(len(lines))
	line := lines[i]
	indent := line[:len(line)-len(strings.TrimLeft(line, " -"))]
	rest := strings.TrimSpace(line[len(indent):])
	key, value, isPair := strings.Cut(rest, ":")
	with := func(what, line string) (string, string) {
		out := slices.Concat(lines[:i], []string{line}, lines[i+1:])
		return fmt.Sprintf("line %d %s", i+1, what), strings.Join(out, "")
	}
	switch m.rng.IntN(16) {
	case 0, 1:
		return with("dropped", "")
	case 2:
		return with("doubled", line+line)
	case 3:
		j := m.rng.IntN(len(lines))
		other := lines[j]
		lines = slices.Clone(lines)
		lines[j] = line
		return with(fmt.Sprintf("swapped with %d", j+1), other)
	case 4:
		return with("indented", " "+line)
	case 5:
		return with("without value", indent+key+":\n")
	case 6:
		return with("with another value", indent+key+": changed\n")
	case 7:
		return with("with a number", indent+key+": 12\n")
	case 8:
		return with("with another key", indent+"other"+rest+"\n")
	case 9:
		return with("up", indent+"../"+rest+"\n")
	case 10:
		return with("another file", indent+path.Base(m.files[m.rng.IntN(len(m.files))])+"\n")
	case 11:
		return with("a document begins", "---\n"+line)
	case 12:
		return with("cut", line[:m.rng.IntN(len(line)+1)]+"\n")
	case 13:
		if isPair && len(m.names) > 0 && strings.HasSuffix(key, "ame") {
			return with("with another name", indent+key+": "+m.names[m.rng.IntN(len(m.names))]+"\n")
		}
		return with("with a variable", indent+key+": ${changed}\n")
	case 14:
		if strings.Contains(value, "/") {
			return with("path without its end", indent+key+":"+value[:strings.LastIndex(value, "/")]+"\n")
		}
		return with("quoted", indent+key+": \""+strings.TrimSpace(value)+"\"\n")
	default:
		return m.dropBlock(lines, i)
	}
}

// dropBlock drops a line with all that is indented deeper: a patch with its
// target, or the target alone.
func (m *mutator) dropBlock(lines []string, i int) (what, damaged string) {
	depth := func(s string) int { return len(s) - len(strings.TrimLeft(s, " ")) }
	j := i + 1
	for j < len(lines) && depth(lines[j]) > depth(lines[i]) {
		j++
	}
	return fmt.Sprintf("lines %d to %d dropped", i+1, j), strings.Join(slices.Concat(lines[:i], lines[j:]), "")
}
