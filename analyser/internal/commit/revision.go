package commit

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// maxRevision is the length of a revision in bytes.
const maxRevision = 4096

// Resolve returns the commit that a revision names, as in gitrevisions(7);
// empty means HEAD. Annotated tags are followed. Where several refs have one
// short name git's order counts. Among objects of one short id the only commit
// (or tag of one) counts, as where git expects a commit.
//
// The error wraps ErrUnknownRevision, ErrAmbiguous, ErrAbsent, ErrUnsupported
// (ranges, searches for text, everything that needs the reflog, :paths) or
// what reading an object may return.
func (r *Repository) Resolve(rev string) (Commit, error) {
	c, err := r.resolve(rev)
	if err != nil {
		return Commit{}, fmt.Errorf("revision %q: %w", rev, err)
	}
	return c, nil
}

func (r *Repository) resolve(rev string) (Commit, error) {
	if rev == "" {
		rev = "HEAD"
	}
	if err := r.refuse(rev); err != nil {
		return Commit{}, err
	}
	m, err := r.parse(rev)
	if err != nil {
		return Commit{}, err
	}
	c, err := r.commitAt(m.id)
	if err != nil {
		return Commit{}, err
	}
	c.Ref, c.Shadowed = m.ref, m.shadowed
	return c, nil
}

// refuse names the forms that do not mean one commit.
func (r *Repository) refuse(rev string) error {
	unsupported := func(what string) error { return fmt.Errorf("%w: %s", ErrUnsupported, what) }
	switch {
	case len(rev) > maxRevision:
		return fmt.Errorf("%w: longer than %d bytes", ErrUnknownRevision, maxRevision)
	case strings.HasPrefix(rev, "-"):
		return fmt.Errorf("%w: it looks like an option", ErrUnknownRevision)
	case strings.HasPrefix(rev, ":/"), strings.Contains(rev, "^{/"):
		return unsupported("a search in commit messages; name the commit")
	case strings.Contains(rev, ":"):
		return unsupported("it names a file or directory, not a commit")
	case strings.Contains(rev, ".."), strings.HasPrefix(rev, "^"),
		strings.HasSuffix(rev, "^@"), strings.HasSuffix(rev, "^!"), parentRange(rev):
		return unsupported("it is a range; name one commit")
	}
	return nil
}

// parentRange reports "rev^-" and "rev^-<n>".
func parentRange(rev string) bool {
	return strings.HasSuffix(strings.TrimRight(rev, "0123456789"), "^-")
}

// meaning is what a part of a revision stands for.
type meaning struct {
	id       plumbing.Hash
	ref      string
	shadowed []string
}

// parse follows git's get_oid_1: suffixes from the right, then names, then
// ids.
func (r *Repository) parse(rev string) (meaning, error) {
	if head, op, n, ok := cutSuffix(rev); ok {
		return r.walk(head, op, n)
	}
	if head, want, ok := cutPeel(rev); ok {
		return r.peelTo(head, want)
	}
	if isID(rev) {
		return r.full(rev)
	}
	m, err := r.named(rev)
	if !errors.Is(err, errNoRef) {
		return m, err
	}
	hex := rev
	if i := strings.LastIndex(rev, "-g"); i > 0 && isHex(rev[i+2:]) {
		hex = rev[i+2:] // what git describe prints
	}
	if len(hex) >= 4 && len(hex) <= 2*idSize && isHex(hex) {
		return r.short(strings.ToLower(hex))
	}
	return m, r.unknown()
}

// cutSuffix cuts "~", "~<n>", "^", "^<n>" off. A number that is too large
// comes back as the largest.
func cutSuffix(rev string) (head string, op byte, n int, ok bool) {
	head = strings.TrimRight(rev, "0123456789")
	digits := rev[len(head):]
	if head == "" || head[len(head)-1] != '~' && head[len(head)-1] != '^' {
		return "", 0, 0, false
	}
	op, head = head[len(head)-1], head[:len(head)-1]
	if digits == "" {
		return head, op, 1, true
	}
	n, err := strconv.Atoi(digits)
	if err != nil {
		n = math.MaxInt
	}
	return head, op, n, true
}

// cutPeel cuts "^{<type>}" off.
func cutPeel(rev string) (head, want string, ok bool) {
	i := strings.LastIndex(rev, "^{")
	if i <= 0 || !strings.HasSuffix(rev, "}") {
		return "", "", false
	}
	return rev[:i], rev[i+2 : len(rev)-1], true
}

// walk is head~n and head^n.
func (r *Repository) walk(head string, op byte, n int) (meaning, error) {
	m, err := r.parse(head)
	if err != nil {
		return m, err
	}
	steps, nth := n, 0
	if op == '^' {
		steps, nth = min(n, 1), n-1
	}
	c, err := r.commitAt(m.id)
	for i := 0; i < steps && err == nil; i++ {
		if nth >= len(c.Parents) {
			return m, r.noParent(c, op, n)
		}
		c, err = r.commitAt(plumbing.NewHash(c.Parents[nth]))
	}
	if err != nil {
		return m, err
	}
	m.id = plumbing.NewHash(c.ID)
	return m, nil
}

func (r *Repository) noParent(c Commit, op byte, n int) error {
	if op == '~' {
		return fmt.Errorf("%w: the history has fewer than %d commits before it, the first is %s", ErrUnknownRevision, n, c.ID)
	}
	return fmt.Errorf("%w: commit %s has %d parents", ErrUnknownRevision, c.ID, len(c.Parents))
}

// peelTo is head^{want}.
func (r *Repository) peelTo(head, want string) (meaning, error) {
	m, err := r.parse(head)
	if err != nil {
		return m, err
	}
	switch want {
	case "object", "tag":
		o, err := r.object(m.id)
		if err == nil && want == "tag" && o.kind != plumbing.TagObject {
			err = fmt.Errorf("%w: %s is a %s, not a tag", ErrUnknownRevision, m.id, o.kind)
		}
		return m, err
	case "", "commit":
		id, o, err := r.peel(m.id)
		if err == nil && want == "commit" && o.kind != plumbing.CommitObject {
			err = fmt.Errorf("%w: %s is a %s, not a commit", ErrUnknownRevision, id, o.kind)
		}
		m.id = id
		return m, err
	case "tree", "blob":
		return m, fmt.Errorf("%w: it names a %s, not a commit", ErrUnknownRevision, want)
	}
	return m, fmt.Errorf("%w: nothing is called ^{%s}", ErrUnknownRevision, want)
}

// full is an id of 40 digits, which no ref overrides.
func (r *Repository) full(hex string) (meaning, error) {
	id := plumbing.NewHash(hex)
	_, err := r.object(id)
	if errors.Is(err, ErrAbsent) && !r.info.Shallow && !r.info.Partial {
		err = fmt.Errorf("%w: the repository holds no object of this id", ErrUnknownRevision)
	}
	return meaning{id: id}, err
}

// named is a ref, with "@{upstream}" behind it or not. The error is errNoRef
// when there is no such ref.
func (r *Repository) named(name string) (meaning, error) {
	if i := strings.LastIndex(name, "@{"); i >= 0 && strings.HasSuffix(name, "}") {
		return r.atMark(name[:i], name[i+2:len(name)-1])
	}
	if name == "@" {
		name = "HEAD"
	}
	found, shadowed, err := r.refs.find(name)
	m := meaning{id: found.id, ref: found.name, shadowed: shadowed}
	if !strings.HasPrefix(m.ref, "refs/") {
		m.ref = ""
	}
	return m, err
}

// atMark is base@{mark}.
func (r *Repository) atMark(base, mark string) (meaning, error) {
	reflog := func() (meaning, error) {
		return meaning{}, fmt.Errorf("%w: %q needs the reflog, which is not read; name the commit", ErrUnsupported, "@{"+mark+"}")
	}
	switch strings.ToLower(mark) {
	case "0":
		// The newest entry of a reflog is the ref itself.
		if base == "" {
			base = "HEAD"
		}
		return r.named(base)
	case "u", "upstream":
		full, err := r.upstream(base)
		if err != nil {
			return meaning{}, err
		}
		found, err := r.refs.resolve(full)
		if errors.Is(err, errNoRef) {
			err = fmt.Errorf("%w: the upstream %q has not been fetched", ErrUnknownRevision, full)
		}
		return meaning{id: found.id, ref: found.name}, err
	case "push":
		return meaning{}, fmt.Errorf("%w: where a branch is pushed to; name the remote branch", ErrUnsupported)
	}
	return reflog()
}

// upstream is the full name of the branch that a branch follows, from
// branch.<name>.remote, branch.<name>.merge and the remote's fetch refspecs.
func (r *Repository) upstream(base string) (string, error) {
	branch := ""
	switch base {
	case "", "@", "HEAD":
		target, err := r.refs.symbolic("HEAD")
		if err != nil {
			return "", err
		}
		var ok bool
		if branch, ok = strings.CutPrefix(target, "refs/heads/"); !ok {
			return "", fmt.Errorf("%w: HEAD is not on a branch", ErrUnknownRevision)
		}
	default:
		m, err := r.named(base)
		if err != nil {
			return "", err
		}
		var ok bool
		if branch, ok = strings.CutPrefix(m.ref, "refs/heads/"); !ok {
			return "", fmt.Errorf("%w: %q is not a branch", ErrUnknownRevision, base)
		}
	}
	remote, _ := r.config.last("branch." + branch + ".remote")
	merge, ok := r.config.last("branch." + branch + ".merge")
	if !ok || remote == "" {
		return "", fmt.Errorf("%w: branch %q has no upstream", ErrUnknownRevision, branch)
	}
	if remote == "." {
		return merge, nil
	}
	for _, spec := range r.config["remote."+remote+".fetch"] {
		if dst, ok := mapRefspec(spec, merge); ok {
			return dst, nil
		}
	}
	return "", fmt.Errorf("%w: the upstream of branch %q is not fetched", ErrUnknownRevision, branch)
}

// mapRefspec applies a fetch refspec such as
// "+refs/heads/*:refs/remotes/origin/*" to a name.
func mapRefspec(spec, name string) (string, bool) {
	src, dst, ok := strings.Cut(strings.TrimPrefix(spec, "+"), ":")
	if !ok || dst == "" {
		return "", false
	}
	before, after, pattern := strings.Cut(src, "*")
	if !pattern {
		return dst, src == name
	}
	if len(name) < len(before)+len(after) || !strings.HasPrefix(name, before) || !strings.HasSuffix(name, after) {
		return "", false
	}
	return strings.Replace(dst, "*", name[len(before):len(name)-len(after)], 1), true
}

// short is an abbreviated id.
func (r *Repository) short(hex string) (meaning, error) {
	ids, err := r.store.withPrefix(hex)
	if err != nil {
		return meaning{}, err
	}
	switch len(ids) {
	case 0:
		return meaning{}, r.unknown()
	case 1:
		return meaning{id: ids[0]}, nil
	}
	var all, commits []string
	var only plumbing.Hash
	for _, id := range ids {
		o, err := r.object(id)
		if err != nil {
			return meaning{}, err
		}
		line := id.String() + " (" + o.kind.String() + ")"
		all = append(all, line)
		if _, peeled, err := r.peel(id); err == nil && peeled.kind == plumbing.CommitObject {
			commits, only = append(commits, line), id
		}
	}
	if len(commits) == 1 {
		return meaning{id: only}, nil
	}
	if len(commits) == 0 {
		commits = all
	}
	return meaning{}, fmt.Errorf("%w: it could be %s", ErrAmbiguous, listed(commits, 8))
}

func (r *Repository) unknown() error {
	where := "this repository"
	if r.info.Shallow || r.info.Partial {
		where = "this shallow or partial clone"
	}
	return fmt.Errorf("%w: no branch, remote branch, tag or object of %s has this name", ErrUnknownRevision, where)
}

// listed joins the first of some items.
func listed(items []string, most int) string {
	rest := len(items) - most
	if rest <= 0 {
		return strings.Join(items, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(items[:most], ", "), rest)
}
