package commit

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/go-git/go-git/v5/plumbing"
)

// Repository is an open repository. It is safe for concurrent use. It keeps
// the files that it reads open until the process ends.
type Repository struct {
	store  *store
	refs   *refs
	config config
	info   Info
	limits Limits
}

// Open opens the repository that path means, see Locate.
func Open(path string, limits Limits) (*Repository, error) {
	l, err := Locate(path)
	if err != nil {
		return nil, err
	}
	return l.Open(limits)
}

// Open opens the repository. It opens nothing outside l.Directories.
func (l *Location) Open(limits Limits) (*Repository, error) {
	c, err := readConfig(l)
	if err != nil {
		return nil, err
	}
	limits = limits.withDefaults()
	s, err := newStore(l.objectDirs, limits)
	if err != nil {
		return nil, err
	}
	info := Info{Partial: isPartial(c), ObjectFormat: "sha1", LostAlternates: l.lost}
	if urls := c["remote.origin.url"]; len(urls) > 0 {
		info.OriginURL = withoutUser(urls[0])
	}
	shallow, err := readFile(filepath.Join(l.CommonDir, "shallow"), maxSmallFile)
	if err != nil && !notThere(err) {
		return nil, err
	}
	info.Shallow = len(shallow) > 0
	return &Repository{store: s, refs: &refs{at: l}, config: c, info: info, limits: limits}, nil
}

// Info says what kind of clone it is.
func (r *Repository) Info() Info { return r.info }

// object reads an object; ErrAbsent says why it may be absent.
func (r *Repository) object(id plumbing.Hash) (object, error) {
	o, err := r.store.read(id)
	if errors.Is(err, ErrAbsent) {
		err = fmt.Errorf("%w: %s", err, r.whyAbsent())
	}
	return o, err
}

func (r *Repository) whyAbsent() string {
	switch {
	case len(r.info.LostAlternates) > 0:
		return "an object directory that the clone borrows from does not exist"
	case r.info.Shallow && r.info.Partial:
		return "the clone is shallow and partial"
	case r.info.Shallow:
		return "the clone is shallow; git fetch --unshallow completes it"
	case r.info.Partial:
		return "the clone is partial and left it at its remote"
	}
	return "the clone is incomplete"
}
