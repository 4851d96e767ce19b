package commit

import (
	"crypto/sha1" // the name of an object, not a secret
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
)

// store is the object store of a repository and its alternates. Reading takes
// no lock but the short one of the cache.
type store struct {
	dirs   []string // object directories, own first
	limits Limits
	cache  *baseCache

	packs  atomic.Pointer[[]*pack]
	recent atomic.Int64 // number of the pack where something was found last

	mu      sync.Mutex // of what follows, held while packs are listed
	listed  []time.Time
	known   map[string]*pack
	counted int
}

func newStore(dirs []string, limits Limits) (*store, error) {
	s := &store{dirs: dirs, limits: limits, cache: newBaseCache(limits.DeltaCache), known: map[string]*pack{}}
	s.packs.Store(new([]*pack))
	_, err := s.rescan()
	return s, err
}

func (s *store) list() []*pack { return *s.packs.Load() }

// racy is how coarse the clock of a file system may be.
const racy = 2 * time.Second

// rescan lists the packs again and reports whether the list changed. A
// repository may be repacked while it is read; git looks again, too, before it
// says that an object is missing.
func (s *store) rescan() (changed bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	start := time.Now()
	now := make([]time.Time, len(s.dirs))
	for i, dir := range s.dirs {
		if st, err := os.Stat(filepath.Join(dir, "pack")); err == nil {
			now[i] = st.ModTime()
		}
	}
	if slices.EqualFunc(now, s.listed, time.Time.Equal) {
		return false, nil
	}
	for i := range now {
		if start.Sub(now[i]) < racy {
			now[i] = time.Unix(0, 0) // what comes next may have the same time
		}
	}
	var packs []*pack
	for _, dir := range s.dirs {
		dir = filepath.Join(dir, "pack")
		entries, err := readDir(dir)
		if err != nil {
			return false, err
		}
		names := map[string]bool{}
		for _, e := range entries {
			names[e.Name()] = true
		}
		var stems []string
		for name := range names {
			if stem, ok := strings.CutSuffix(name, ".idx"); ok && names[stem+".pack"] {
				stems = append(stems, filepath.Join(dir, stem))
			}
		}
		slices.Sort(stems)
		for _, stem := range stems {
			p := s.known[stem]
			if p == nil {
				p = &pack{number: s.counted, stem: stem}
				s.counted++
				s.known[stem] = p
				changed = true
			}
			packs = append(packs, p)
		}
	}
	s.packs.Store(&packs)
	s.listed = now
	return changed, nil
}

// emptyTree exists in every repository without being stored.
var emptyTree = plumbing.NewHash("4b825dc642cb6eb9a060e54bf8d69288fbee4904")

// read returns an object whose content has been verified to have that id. An
// object that is nowhere is ErrAbsent; when every copy is damaged, the error is
// that of one of them.
func (s *store) read(id plumbing.Hash) (object, error) {
	o, err := s.readOnce(id)
	if errors.Is(err, fs.ErrNotExist) {
		// Absent, or a pack that is listed has gone: look again.
		if changed, scanErr := s.rescan(); scanErr != nil {
			return object{}, scanErr
		} else if changed {
			o, err = s.readOnce(id)
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		if id == emptyTree {
			return object{plumbing.TreeObject, []byte{}}, nil
		}
		return object{}, fmt.Errorf("object %s: %w", id, ErrAbsent)
	}
	return o, err
}

// readOnce tries every copy: packs, beginning with the one of last time, then
// loose objects. The error is fs.ErrNotExist when there is no copy.
func (s *store) readOnce(id plumbing.Hash) (object, error) {
	var broken error
	try := func(p *pack) (object, bool) {
		o, ok, err := s.inPack(p, id)
		if err != nil {
			if broken == nil || errors.Is(broken, fs.ErrNotExist) {
				broken = err
			}
			return o, false
		}
		return o, ok
	}
	packs, recent := s.list(), int(s.recent.Load())
	if recent < len(packs) {
		if o, ok := try(packs[recent]); ok {
			return o, nil
		}
	}
	for i, p := range packs {
		if i == recent {
			continue
		}
		if o, ok := try(p); ok {
			s.recent.Store(int64(i))
			return o, nil
		}
	}
	o, err := s.loose(id)
	if errors.Is(err, fs.ErrNotExist) && broken != nil {
		return object{}, broken
	}
	return o, err
}

// inPack returns an object if a pack has it.
func (s *store) inPack(p *pack, id plumbing.Hash) (object, bool, error) {
	idx, err := p.index()
	if err != nil {
		return object{}, false, err
	}
	at, ok, err := idx.lookup(id)
	if err != nil {
		return object{}, false, fmt.Errorf("%s.idx: %w: %w", p.name(), ErrCorrupt, err)
	}
	if !ok {
		return object{}, false, nil
	}
	o, err := s.unpack(p, at)
	if err == nil {
		err = verify(id, o)
	}
	if err != nil {
		return object{}, false, fmt.Errorf("object %s: %w", id, err)
	}
	return o, true, nil
}

// verify compares content with its id.
func verify(id plumbing.Hash, o object) error {
	h := sha1.New()
	head := append(o.kind.Bytes(), ' ')
	head = strconv.AppendInt(head, int64(len(o.data)), 10)
	h.Write(append(head, 0))
	h.Write(o.data)
	var sum plumbing.Hash
	if h.Sum(sum[:0]); sum != id {
		return fmt.Errorf("%w: the content has another id", ErrCorrupt)
	}
	return nil
}

// maxCandidates is how many objects of one short id are looked at.
const maxCandidates = 1000

// withPrefix returns the ids of all objects that begin with at least two
// hexadecimal digits in lower case, sorted, each once.
func (s *store) withPrefix(prefix string) ([]plumbing.Hash, error) {
	var ids []plumbing.Hash
	found := func(id plumbing.Hash) bool {
		ids = append(ids, id)
		return len(ids) < maxCandidates
	}
	for _, p := range s.list() {
		idx, err := p.index()
		if err == nil {
			err = idx.withPrefix(prefix, found)
		}
		if err != nil {
			return nil, fmt.Errorf("%s.idx: %w", p.name(), err)
		}
	}
	if err := s.looseWithPrefix(prefix, found); err != nil {
		return nil, err
	}
	plumbing.HashesSort(ids)
	return slices.Compact(ids), nil
}
