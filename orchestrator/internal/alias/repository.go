package alias

import (
	_ "embed"
	"net/url"
	"path"
	"strings"

	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// Repository is the address of a repository in parts.
type Repository struct {
	// Name of the repository, without ".git".
	Name string
	// Owners from the outermost group to the one that holds the repository.
	Owners []string
	// Host, empty when unknown.
	Host string
}

// ParseRepository takes the URL of a remote apart: https, ssh, scp-like and
// local paths. directory is the clone's own path, whose last element names the
// repository when there is no URL.
//
// Bytes that are not UTF-8 appear as in everything that the protocol carries.
func ParseRepository(remote, directory string) Repository {
	r := parse(remote, directory)
	r.Name, r.Host = reachv1.Text(r.Name), reachv1.Text(r.Host)
	for i := range r.Owners {
		r.Owners[i] = reachv1.Text(r.Owners[i])
	}
	return r
}

func parse(remote, directory string) Repository {
	if remote == "" {
		return Repository{Name: strings.TrimSuffix(path.Base(strings.TrimSuffix(strings.ReplaceAll(directory, "\\", "/"), "/.git")), ".git")}
	}
	host, p := "", remote
	if u, err := url.Parse(remote); err == nil && u.Scheme != "" && u.Opaque == "" {
		host, p = u.Hostname(), u.Path
	} else if before, after, ok := strings.Cut(remote, ":"); ok && !strings.Contains(before, "/") {
		// scp-like: [user@]host:path
		host, p = before[strings.LastIndex(before, "@")+1:], after
	}
	var elements []string
	for e := range strings.SplitSeq(p, "/") {
		if e != "" && e != "_git" && e != "scm" {
			elements = append(elements, e)
		}
	}
	if len(elements) == 0 {
		return Repository{Host: host}
	}
	last := len(elements) - 1
	r := Repository{Name: strings.TrimSuffix(elements[last], ".git"), Host: host}
	if host != "" {
		// The directories of a local path name a machine's folders, not owners.
		r.Owners = elements[:last]
	}
	return r
}

// String is the real name for people: owners and name, joined by slashes.
func (r Repository) String() string {
	if r.Name == "" {
		return "repository"
	}
	return strings.Join(append(append([]string{}, r.Owners...), r.Name), "/")
}

type part struct{ real, role string }

func (r Repository) parts() []part {
	var out []part
	if r.Name != "" && r.Name != "." && r.Name != "/" {
		out = append(out, part{r.Name, "repository"})
	}
	for _, o := range r.Owners {
		if o != r.Name {
			out = append(out, part{o, "owner"})
		}
	}
	if r.Host != "" && !publicHosts[strings.ToLower(r.Host)] {
		out = append(out, part{r.Host, "git-host"})
	}
	return out
}

var publicHosts = map[string]bool{
	"github.com": true, "gitlab.com": true, "bitbucket.org": true, "dev.azure.com": true,
	"ssh.dev.azure.com": true, "codeberg.org": true, "localhost": true, "127.0.0.1": true,
}

//go:embed ordinary.txt
var ordinaryText string

//go:embed domains.txt
var domainsText string

var ordinaryWords, publicDomains = func() (map[string]bool, []string) {
	words := map[string]bool{}
	for _, w := range lines(ordinaryText) {
		words[w] = true
	}
	return words, lines(domainsText)
}()

// lines are the words of a list, without comments.
func lines(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		out = append(out, strings.Fields(line)...)
	}
	return out
}

// ordinary reports whether a name is a word that any repository may use and that
// the report itself uses.
func ordinary(name string) bool { return ordinaryWords[strings.ToLower(name)] }
