package commit

import (
	"bytes"
	"fmt"
	"strconv"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
)

// Commit is a commit that a revision names. Ids are 40 hexadecimal digits in
// lower case.
type Commit struct {
	ID   string
	Tree string
	// Parents as the commit names them; a shallow clone does not hold all.
	Parents []string
	// Time of the committer, UTC; zero when the commit has none that can be
	// read.
	Time time.Time
	// Ref is the full name of the ref that the revision began with, such as
	// "refs/heads/main", symbolic refs followed; empty when it began with
	// an id or with a detached HEAD.
	Ref string
	// Shadowed are the full names of other refs that the same short name
	// could have meant; git's order was followed.
	Shadowed []string
}

// header cuts "word <hex>\n" off a commit or tag.
func header(data []byte, word string) (id plumbing.Hash, rest []byte, ok bool) {
	rest, ok = bytes.CutPrefix(data, []byte(word+" "))
	if !ok || len(rest) < 2*idSize+1 || rest[2*idSize] != '\n' {
		return id, data, false
	}
	hex := string(rest[:2*idSize])
	if !isID(hex) {
		return id, data, false
	}
	return plumbing.NewHash(hex), rest[2*idSize+1:], true
}

// parseCommit reads the headers of a commit that this package needs.
func parseCommit(id plumbing.Hash, data []byte) (Commit, error) {
	c := Commit{ID: id.String()}
	tree, rest, ok := header(data, "tree")
	if !ok {
		return c, fmt.Errorf("commit %s: %w: no tree", id, ErrCorrupt)
	}
	c.Tree = tree.String()
	for {
		var parent plumbing.Hash
		if parent, rest, ok = header(rest, "parent"); !ok {
			break
		}
		c.Parents = append(c.Parents, parent.String())
	}
	for len(rest) > 0 && rest[0] != '\n' {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\n"))
		if sig, ok := bytes.CutPrefix(line, []byte("committer ")); ok {
			c.Time = signatureTime(sig)
			break
		}
	}
	return c, nil
}

// signatureTime reads "Name <mail> 1700000000 +0100". The number counts
// seconds in UTC; the zone says only where.
func signatureTime(sig []byte) time.Time {
	after := bytes.TrimLeft(sig[bytes.LastIndexByte(sig, '>')+1:], " ")
	digits, _, _ := bytes.Cut(after, []byte(" "))
	sec, err := strconv.ParseInt(string(digits), 10, 64)
	// time.Time counts the year in 64 bits, JSON and others in four digits.
	if err != nil || sec < 0 || sec > 253402300799 {
		return time.Time{}
	}
	return time.Unix(sec, 0).UTC()
}

// maxTagChain is how many annotated tags may point at each other.
const maxTagChain = 1000

// peel follows annotated tags to what they name.
func (r *Repository) peel(id plumbing.Hash) (plumbing.Hash, object, error) {
	for range maxTagChain {
		o, err := r.object(id)
		if err != nil || o.kind != plumbing.TagObject {
			return id, o, err
		}
		target, _, ok := header(o.data, "object")
		if !ok {
			return id, o, fmt.Errorf("tag %s: %w: no object", id, ErrCorrupt)
		}
		id = target
	}
	return id, object{}, fmt.Errorf("tag %s: %w: a chain of more than %d tags", id, ErrLimit, maxTagChain)
}

// commitAt peels to a commit.
func (r *Repository) commitAt(id plumbing.Hash) (Commit, error) {
	id, o, err := r.peel(id)
	if err != nil {
		return Commit{}, err
	}
	if o.kind != plumbing.CommitObject {
		return Commit{}, fmt.Errorf("%s is a %s, not a commit: %w", id, o.kind, ErrUnknownRevision)
	}
	return parseCommit(id, o.data)
}
