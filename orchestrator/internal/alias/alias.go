// Package alias replaces the real names of clusters and of the repository by
// aliases, and checks that none survived.
//
// It guarantees that a name is found wherever it stands between characters that
// are neither letters nor digits, in any case and with any of "-", "_", "." and
// space as its separators, so that neither clusters/prod-eu/apps nor
// PROD_EU_DOMAIN nor prod-eu-kubeconfig gives prod-eu away. It cannot see a name
// that is spelled another way: run together with other letters (prodeu),
// abbreviated, translated or encoded.
package alias

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Mapping is real names to aliases.
type Mapping struct {
	Clusters map[string]string `json:"clusters"`
	// Repository holds the parts of the repository's address: its name, the
	// owners above it, and the host when it is not a public one.
	Repository map[string]string `json:"repository"`
	// Words are whatever else the user wants replaced.
	Words map[string]string `json:"words"`
}

// Known is what a census learned about real names.
type Known struct {
	// Clusters maps the name of each cluster to its role: "hub", "spoke" or
	// "cluster".
	Clusters   map[string]string
	Repository Repository
	// References lead to clusters that something names, as "Secret
	// namespace/name#key".
	References []string
	// Domains are DNS names of clusters.
	Domains []string
	// Words are what the repository itself says; nil for nothing.
	Words *Words
}

// pairs lists the mapping as one, clusters first and sorted.
func (m Mapping) pairs() []pair {
	var out []pair
	for _, part := range []map[string]string{m.Clusters, m.Repository, m.Words} {
		for _, real := range slices.Sorted(maps.Keys(part)) {
			out = append(out, pair{real: real, alias: part[real]})
		}
	}
	return out
}

type pair struct {
	real, alias string
	// keep marks a public domain, which stays as it is.
	keep bool
}

// Complete returns m with an alias for each name that is known and has none: the
// one that it had before, as long as that can still do its work, else a default:
// hub-1, spoke-2, cluster-3, repository, owner, git-host, domain-4. Names of a role are
// numbered in their sorted order, so that the same names give the same aliases,
// and around the numbers and words that are taken. No alias that is chosen here
// holds a real name or stands in the repository, where it would make two things
// look like one. Owners, hosts and repositories whose names are ordinary
// words of the field are left alone: they identify nobody and stand in every
// second path.
//
// The error, if any, names two names of m that would become one, an alias of m
// that gives a name away, or one that stands in the repository.
func (m Mapping) Complete(before Mapping, known Known) (Mapping, error) {
	out := m.Over(before)
	var open []request
	roles := maps.Clone(known.Clusters)
	if roles == nil {
		roles = map[string]string{}
	}
	add := func(into map[string]string, real, role string) {
		open = append(open, request{into: into, real: real, prefix: role, numbered: numbered[role]})
		into[real] = ""
	}
	for _, name := range slices.Sorted(maps.Keys(known.Clusters)) {
		if out.Clusters[name] == "" {
			add(out.Clusters, name, known.Clusters[name])
		}
	}
	for _, p := range known.Repository.parts() {
		roles[p.real] = cmp.Or(roles[p.real], p.role)
		if known.Words != nil && ordinary(p.real) && !out.has(p.real) {
			known.Words.Note(p.real)
		}
		if _, cluster := known.Clusters[p.real]; !cluster && !out.has(p.real) && !ordinary(p.real) {
			add(out.Repository, p.real, p.role)
		}
	}
	for _, ref := range known.references() {
		roles[ref] = cmp.Or(roles[ref], "kubeconfig")
		if _, cluster := known.Clusters[ref]; !cluster && !out.has(ref) {
			add(out.Words, ref, "kubeconfig")
		}
	}
	for _, domain := range slices.Sorted(slices.Values(known.Domains)) {
		roles[domain] = cmp.Or(roles[domain], "domain")
		if _, cluster := known.Clusters[domain]; !cluster && !out.has(domain) && strings.Contains(domain, ".") {
			add(out.Words, domain, "domain")
		}
	}
	// From here on all real names are in view, those without an alias included.
	real, taken := newMatcher(out.pairs()), map[string]bool{}
	blank := out.blank()
	for _, p := range m.pairs() {
		taken[strings.ToLower(p.alias)] = true
	}
	for _, part := range []struct{ given, all map[string]string }{
		{m.Clusters, out.Clusters}, {m.Repository, out.Repository}, {m.Words, out.Words},
	} {
		for _, name := range slices.Sorted(maps.Keys(part.all)) {
			alias := part.all[name]
			if _, given := part.given[name]; given || alias == "" {
				continue
			}
			met := known.has(name, roles) && known.Words.text(alias, blank) != ""
			if key := strings.ToLower(alias); taken[key] || real.has(alias) || met {
				// A name that is new, or newly configured, is in its way, or
				// something that the repository calls so now.
				add(part.all, name, cmp.Or(roles[name], "name"))
			} else {
				taken[key] = true
			}
		}
	}
	free := func(alias string) bool {
		return !taken[alias] && !real.has(alias) && known.Words.text(alias, blank) == ""
	}
	next := map[string]int{}
	for _, r := range open {
		name := r.choose(real.has, free, next)
		taken[name], r.into[r.real] = true, name
	}
	if err := out.validate(); err != nil {
		return out, err
	}
	for _, p := range m.pairs() {
		if text := known.Words.text(p.alias, blank); text != "" && known.has(p.real, roles) {
			return out, fmt.Errorf("the repository has %q, with which the alias %q of %q could be mistaken: choose another one", text, p.alias, p.real)
		}
	}
	return out, nil
}

// numbered are the roles whose default alias always has a number.
var numbered = map[string]bool{"hub": true, "spoke": true, "cluster": true, "kubeconfig": true, "domain": true, "name": true}

// has reports whether a real name is one of this census, so that its alias is
// used.
func (k Known) has(real string, roles map[string]string) bool {
	return roles[real] != "" || k.Words != nil && k.Words.used[real]
}

// references are the names of the Secrets and ConfigMaps that lead to clusters.
// One that nothing names is called <controller cluster>/<namespace>/<reference>,
// and the reference is most often named after it; one that the user named may
// have more such names. Names that only say what they are tell nothing, and those
// that hold the name of a cluster are told by its alias.
func (k Known) references() []string {
	found := map[string]bool{}
	var clusters []pair
	for name := range k.Clusters {
		clusters = append(clusters, pair{real: name})
	}
	named := newMatcher(clusters)
	for _, text := range k.References {
		_, text, _ = strings.Cut(text, " ")
		_, ref, _ := strings.Cut(text, "/")
		ref, _, _ = strings.Cut(ref, "#")
		if telling(ref) && !named.has(ref) {
			found[ref] = true
		}
	}
	for name := range k.Clusters {
		parts := strings.Split(name, "/")
		if len(parts) < 3 {
			continue
		}
		ref, _, _ := strings.Cut(parts[len(parts)-1], "#")
		ref, _, _ = strings.Cut(ref, " ")
		if telling(ref) {
			found[ref] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// telling reports whether the name of a reference says more than what it is.
func telling(ref string) bool {
	return slices.ContainsFunc(strings.FieldsFunc(ref, func(r rune) bool { return strings.ContainsRune("-_.", r) }), func(word string) bool {
		return !slices.Contains(plainReference, strings.ToLower(word))
	})
}

// plainReference are the words of references that tell nothing.
var plainReference = []string{"cluster", "kubeconfig", "kube", "config", "secret", "spoke", "remote", "target", "value", "workload", "admin"}

func (m Mapping) has(real string) bool {
	_, repository := m.Repository[real]
	_, word := m.Words[real]
	return repository || word
}

// request is a name in want of an alias.
type request struct {
	into         map[string]string
	real, prefix string
	numbered     bool
}

// choose returns the first free name: the prefix, with a number where it needs
// one, or another neutral word when the prefix itself is a real name. next keeps
// the number up to which each prefix is used up: names are taken, never freed.
func (r request) choose(givesAway, free func(string) bool, next map[string]int) string {
	number := func(prefix string) string {
		for {
			next[prefix]++
			if candidate := prefix + strconv.Itoa(next[prefix]); free(candidate) {
				return candidate
			}
		}
	}
	for _, prefix := range []string{r.prefix, "cluster", "site", "place", "alias"} {
		if givesAway(prefix) {
			continue
		}
		if !r.numbered && free(prefix) {
			return prefix
		}
		return number(prefix + "-")
	}
	// Only a repository whose clusters bear all of the words above gets here.
	return number("q")
}

// validate reports an alias that cannot do its work.
func (m Mapping) validate() error {
	real, owner := newMatcher(m.pairs()), map[string]string{}
	for _, p := range m.pairs() {
		key := strings.ToLower(p.alias)
		switch other, taken := owner[key]; {
		case p.alias == "" || strings.TrimSpace(p.alias) != p.alias || strings.ContainsAny(p.alias, "/\\\"'`<>|\n\r\t"):
			return fmt.Errorf("%q cannot be the alias of %q: use letters, digits and dashes", p.alias, p.real)
		case taken && other != p.real:
			return fmt.Errorf("%q and %q have the same alias, %q: give each its own", other, p.real, p.alias)
		}
		owner[key] = p.real
		if name, found := real.first(p.alias); found {
			return fmt.Errorf("the alias %q of %q gives the real name %q away: choose another one", p.alias, p.real, name)
		}
	}
	return nil
}
