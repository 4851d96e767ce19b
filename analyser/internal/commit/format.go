package commit

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
)

// Info says what kind of clone a repository is.
type Info struct {
	// Shallow: history ends at some commits although they have parents.
	Shallow bool
	// Partial: objects are left at a promisor remote.
	Partial bool
	// OriginURL is the first URL of the remote "origin" without user,
	// password, query and fragment; empty when there is none or it cannot
	// be read safely.
	OriginURL string
	// ObjectFormat is "sha1".
	ObjectFormat string
	// LostAlternates are object directories that the clone borrows from and
	// that do not exist, for the reason of an ErrAbsent. Paths of the local
	// machine: not for reports.
	LostAlternates []string
}

// extensions that change nothing for a reader of objects and refs.
// worktreeConfig only moves settings of the work tree to another file, which
// readConfig reads as well.
var harmlessExtensions = map[string]bool{
	"noop": true, "noop-v1": true, "preciousobjects": true, "partialclone": true,
	"worktreeconfig": true, "relativeworktrees": true, "submodulepathconfig": true,
	"compatobjectformat": true,
}

// readConfig reads the repository's own configuration.
func readConfig(l *Location) (config, error) {
	c, err := readConfigFile(filepath.Join(l.CommonDir, "config"))
	if err != nil {
		return nil, err
	}
	if c.truth("extensions.worktreeconfig") {
		w, err := readConfigFile(filepath.Join(l.GitDir, "config.worktree"))
		if err != nil {
			return nil, err
		}
		c.merge(w)
	}
	return c, nil
}

func readConfigFile(name string) (config, error) {
	data, err := readFile(name, maxSmallFile)
	if notThere(err) {
		return config{}, nil
	}
	if err != nil {
		return nil, err
	}
	c, err := parseConfig(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: git cannot read it either: %w", name, err, ErrCorrupt)
	}
	return c, nil
}

// checkFormat refuses what cannot be read, after git's
// verify_repository_format.
func checkFormat(l *Location) error {
	c, err := readConfigFile(filepath.Join(l.CommonDir, "config"))
	if err != nil {
		return err
	}
	version, _ := c.last("core.repositoryformatversion")
	switch version {
	case "", "0", "1":
	default:
		return fmt.Errorf("%s: repository format version %q: %w", l.CommonDir, version, ErrUnsupported)
	}
	if f, ok := c.last("extensions.objectformat"); ok && f != "sha1" {
		return fmt.Errorf("%s: object format %q, only sha1 can be read: %w", l.CommonDir, f, ErrUnsupported)
	}
	if f, ok := c.last("extensions.refstorage"); ok && f != "files" {
		return fmt.Errorf("%s: refs are stored as %q, only files can be read: %w", l.CommonDir, f, ErrUnsupported)
	}
	if version != "1" {
		return nil // git ignores extensions it does not know
	}
	for key := range c {
		name, ok := strings.CutPrefix(key, "extensions.")
		if ok && name != "objectformat" && name != "refstorage" && !harmlessExtensions[name] {
			return fmt.Errorf("%s: repository extension %q: %w", l.CommonDir, name, ErrUnsupported)
		}
	}
	return nil
}

// isPartial reports a promisor remote.
func isPartial(c config) bool {
	if v, ok := c.last("extensions.partialclone"); ok && v != "" {
		return true
	}
	for key := range c {
		if strings.HasPrefix(key, "remote.") && strings.HasSuffix(key, ".promisor") && c.truth(key) {
			return true
		}
	}
	return false
}

// withoutUser removes from a remote's URL what may be secret. Git knows URLs,
// the scp form user@host:path and local paths.
func withoutUser(remote string) string {
	if strings.Contains(remote, "://") {
		u, err := url.Parse(remote)
		if err != nil || u.Opaque != "" {
			return ""
		}
		u.User, u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment = nil, "", false, "", ""
		return u.String()
	}
	colon, slash := strings.IndexByte(remote, ':'), strings.IndexByte(remote, '/')
	if colon >= 0 && (slash < 0 || colon < slash) {
		// The host ends at the first colon; a user may hold one.
		if at := strings.LastIndexByte(remote, '@'); at >= 0 && (slash < 0 || at < slash) {
			return remote[at+1:]
		}
	}
	return remote
}
