package alias

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReplace(t *testing.T) {
	m := Mapping{
		Clusters: map[string]string{
			"prod-eu": "hub-1", "prod-eu-2": "hub-2", "prod-eu/edge/kubeconfig": "spoke-1", "eu": "spoke-2",
			"Lab_9": "spoke-3", "7": "spoke-4", "fluxcd": "cluster-1",
		},
		Repository: map[string]string{"git.acme.example": "git-host"},
	}
	r := m.Replacer()
	for _, c := range []struct{ in, want string }{
		{"prod-eu", "hub-1"},
		{"clusters/prod-eu/apps", "clusters/hub-1/apps"},
		{"clusters/prod-europe/apps", "clusters/prod-europe/apps"},
		{"nonprod-eu", "nonprod-eu"},
		// the longest name wins
		{"prod-eu-2 and prod-eu-3", "hub-2 and hub-1-3"},
		{"prod-eu/edge/kubeconfig", "spoke-1"},
		{"prod-eu/edge/other", "hub-1/edge/other"},
		// other separators and letter case
		{"Secret flux-system/prod-eu-kubeconfig#value", "Secret flux-system/hub-1-kubeconfig#value"},
		{"${PROD_EU_DOMAIN}", "${HUB_1_DOMAIN}"},
		{"prod_eu.yaml", "hub_1.yaml"},
		{"api.prod.eu.example.com", "api.hub-1.example.com"},
		{"LAB-9", "SPOKE_3"},
		{"https://git.acme.example/x", "https://git-host/x"},
		// bytes that are not UTF-8 end a word
		{`a/\xffprod-eu\xff`, `a/\xffhub-1\xff`},
		{"ein größerer prod-eu", "ein größerer hub-1"},
		{"überprod-eu", "überprod-eu"},
		// brief names and numbers only where they stand alone
		{"clusters/eu/apps", "clusters/spoke-2/apps"},
		{"the eu is large", "the eu is large"},
		{"clusters/7/apps", "clusters/spoke-4/apps"},
		{"version 1.7 of 7", "version 1.7 of 7"},
		{`the cluster "7"`, `the cluster "spoke-4"`},
		// public domains stay
		{"kustomize.toolkit.fluxcd.io/v1", "kustomize.toolkit.fluxcd.io/v1"},
		{"ghcr.io/fluxcd/charts", "ghcr.io/cluster-1/charts"},
		{"fluxcd-io", "cluster-1-io"},
		{"", ""},
	} {
		got := r.Replace(c.in)
		if got != c.want {
			t.Errorf("Replace(%q) = %q, want %q", c.in, got, c.want)
		}
		if names := m.Check().Value(got); len(names) > 0 {
			t.Errorf("after Replace(%q) the check still finds %q in %q", c.in, names, got)
		}
		if names := m.Check().Value(c.in); (len(names) > 0) != (got != c.in) {
			t.Errorf("the check finds %q in %q, and Replace makes %q of it", names, c.in, got)
		}
	}
}

// oracle finds a name by a regular expression: written a third way.
func oracle(name string) *regexp.Regexp {
	pattern := regexp.QuoteMeta(name)
	pattern = regexp.MustCompile(`(?:\\\.|[-_ ])`).ReplaceAllString(pattern, "[-_. ]")
	return regexp.MustCompile(`(?i)(?:^|[^\pL\pN])` + pattern + `(?:$|[^\pL\pN])`)
}

// TestNoNameSurvives replaces random names in random text that is full of them.
func TestNoNameSurvives(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(list ...string) string { return list[random.IntN(len(list))] }
	name := func() string {
		words := []string{}
		for range 1 + random.IntN(3) {
			words = append(words, pick("prod", "eu", "hub", "spoke", "cluster", "a1", "acme", "WEST", "größe", "1", "edge", "site", "repository", "owner", "x"))
		}
		out := strings.Join(words, pick("-", "-", "_", ".", "/"))
		if len([]rune(out)) < 3 {
			out += "xyz"
		}
		return out
	}
	respell := func(s string) string {
		switch random.IntN(4) {
		case 0:
			return strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(s))
		case 1:
			return strings.ToLower(strings.ReplaceAll(s, "_", "-"))
		}
		return s
	}
	for round := range 200 {
		known := Known{Clusters: map[string]string{}, Repository: ParseRepository("git@git."+name()+".example:"+name()+"/"+name()+".git", "")}
		for range 1 + random.IntN(8) {
			known.Clusters[name()] = pick("hub", "spoke", "cluster")
		}
		m, err := Mapping{}.Complete(Mapping{}, known)
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		var names []string
		oracles := map[string]*regexp.Regexp{}
		for _, p := range m.pairs() {
			names = append(names, p.real)
			oracles[p.real] = oracle(p.real)
		}
		r, check := m.Replacer(), m.Check()
		for range 20 {
			var text strings.Builder
			for range 1 + random.IntN(6) {
				text.WriteString(pick("", "/", "-", "_", " ", "clusters/", ".", "#", "x", `\xff`, "${", "é"))
				text.WriteString(respell(names[random.IntN(len(names))]))
				text.WriteString(pick("", "/", "-", "_", " ", ".yaml", "}", "y", "1"))
			}
			got := r.Replace(text.String())
			for _, name := range names {
				if brief(name) {
					continue
				}
				if oracles[name].MatchString(got) {
					t.Fatalf("round %d: %q survives in %q, made of %q with %v", round, name, got, text.String(), m.pairs())
				}
				if oracles[name].MatchString(text.String()) && len(check.Value(text.String())) == 0 {
					t.Fatalf("round %d: the check does not find %q in %q", round, name, text.String())
				}
			}
			if found := check.Value(got); len(found) > 0 {
				t.Fatalf("round %d: the check finds %q in %q, made of %q with %v", round, found, got, text.String(), m.pairs())
			}
		}
	}
}

func TestComplete(t *testing.T) {
	for _, c := range []struct {
		about  string
		given  Mapping
		before Mapping
		known  Known
		want   Mapping
	}{{
		about: "sorted by name within a role",
		known: Known{Clusters: map[string]string{"z": "hub", "zeta": "spoke", "alpha": "spoke", "mid": "cluster"}},
		want: Mapping{
			Clusters:   map[string]string{"z": "hub-1", "alpha": "spoke-1", "zeta": "spoke-2", "mid": "cluster-1"},
			Repository: map[string]string{}, Words: map[string]string{},
		},
	}, {
		about: "around what is taken",
		given: Mapping{Clusters: map[string]string{"gone": "hub-1", "blue": "hub-3"}},
		known: Known{Clusters: map[string]string{"blue": "hub", "green": "hub", "red": "hub"}},
		want: Mapping{
			Clusters:   map[string]string{"gone": "hub-1", "blue": "hub-3", "green": "hub-2", "red": "hub-4"},
			Repository: map[string]string{}, Words: map[string]string{},
		},
	}, {
		about:  "what it was before, unless a new name is in its way",
		given:  Mapping{Clusters: map[string]string{"a-1": "blue"}},
		before: Mapping{Clusters: map[string]string{"a-1": "hub-1", "b-1": "hub-2", "c-1": "blue", "d-1": "red"}},
		known:  Known{Clusters: map[string]string{"a-1": "hub", "b-1": "hub", "c-1": "hub", "hub": "spoke"}},
		want: Mapping{
			Clusters:   map[string]string{"a-1": "blue", "b-1": "cluster-1", "c-1": "cluster-2", "d-1": "red", "hub": "spoke-1"},
			Repository: map[string]string{}, Words: map[string]string{},
		},
	}, {
		about: "an alias holds no real name",
		known: Known{Clusters: map[string]string{"hub": "hub", "spoke-1": "spoke", "other": "spoke"}},
		want: Mapping{
			Clusters:   map[string]string{"hub": "cluster-1", "other": "spoke-2", "spoke-1": "spoke-3"},
			Repository: map[string]string{}, Words: map[string]string{},
		},
	}, {
		about: "ordinary words need none, clusters always",
		known: Known{
			Clusters:   map[string]string{"production": "cluster"},
			Repository: ParseRepository("https://github.com/acme/gitops.git", ""),
		},
		want: Mapping{
			Clusters:   map[string]string{"production": "cluster-1"},
			Repository: map[string]string{"acme": "owner"}, Words: map[string]string{},
		},
	}, {
		about: "groups above the repository, a private host",
		known: Known{Repository: ParseRepository("https://token@git.acme.example/acme/ship/fleet-9.git", "")},
		want: Mapping{
			Clusters:   map[string]string{},
			Repository: map[string]string{"acme": "owner", "ship": "owner-1", "fleet-9": "repository", "git.acme.example": "git-host"},
			Words:      map[string]string{},
		},
	}} {
		got, err := c.given.Complete(c.before, c.known)
		if err != nil {
			t.Errorf("%s: %v", c.about, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", c.about, diff)
		}
		again, err := c.given.Complete(got, c.known)
		if diff := cmp.Diff(got, again); err != nil || diff != "" {
			t.Errorf("%s: completing again changes it: %v\n%s", c.about, err, diff)
		}
	}
}

func TestCompleteRefuses(t *testing.T) {
	for _, c := range []struct {
		clusters map[string]string
		want     string
	}{
		{map[string]string{"a-1": "blue", "b-1": "Blue"}, `"a-1" and "b-1" have the same alias, "Blue": give each its own`},
		{map[string]string{"a-1": "not-b-1", "b-1": "red"}, `the alias "not-b-1" of "a-1" gives the real name "b-1" away: choose another one`},
		{map[string]string{"a-1": "x/y"}, `"x/y" cannot be the alias of "a-1": use letters, digits and dashes`},
		{map[string]string{"a-1": "a-1"}, `the alias "a-1" of "a-1" gives the real name "a-1" away: choose another one`},
	} {
		_, err := Mapping{Clusters: c.clusters}.Complete(Mapping{}, Known{})
		if err == nil || err.Error() != c.want {
			t.Errorf("%v: got %v, want %s", c.clusters, err, c.want)
		}
	}
}

func TestParseRepository(t *testing.T) {
	for _, c := range []struct {
		url, dir string
		want     Repository
	}{
		{"https://github.com/acme/platform.git", "", Repository{"platform", []string{"acme"}, "github.com"}},
		{"git@git.acme.example:acme/ops/platform.git", "", Repository{"platform", []string{"acme", "ops"}, "git.acme.example"}},
		{"ssh://git@git.acme.example:2222/acme/platform", "", Repository{"platform", []string{"acme"}, "git.acme.example"}},
		{"https://dev.azure.com/acme/proj/_git/platform", "", Repository{"platform", []string{"acme", "proj"}, "dev.azure.com"}},
		{"/home/me/src/platform.git", "", Repository{"platform", nil, ""}},
		{"file:///home/me/src/platform", "", Repository{"platform", nil, ""}},
		{"", "/home/me/platform.git", Repository{"platform", nil, ""}},
		{"", "acme-platform", Repository{"acme-platform", nil, ""}},
		{"ssh://git@git.acme.example/a%FF/b", "", Repository{"b", []string{`a\xff`}, "git.acme.example"}},
		{"", "/home/me/pl\xff", Repository{`pl\xff`, nil, ""}},
	} {
		got := ParseRepository(c.url, c.dir)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%q %q: (-want +got)\n%s", c.url, c.dir, diff)
		}
	}
}

func TestFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.json")
	m, err := Load(name)
	if err != nil || len(m.pairs()) != 0 {
		t.Fatalf("a file that is not there: %v, %v", m, err)
	}
	want := Mapping{Clusters: map[string]string{"prod-eu": "hub-1"}, Repository: map[string]string{}, Words: map[string]string{}}
	p, err := want.Write(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(name); err == nil {
		t.Error("the file is there before Commit")
	}
	if err := p.Commit(); err != nil {
		t.Fatal(err)
	}
	p.Discard()
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, want 0600", info.Mode().Perm())
	}
	got, err := Load(name)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}

	for text, want := range map[string]string{
		"{\n\"schema\": \"reach.aliases/v1\",\n\"clutsers\": {}}": "%s:3: not an alias file that reach wrote: mend it, or move it away to start afresh",
		`{"schema": "reach.aliases/v2"}`:                          `%s: the schema is "reach.aliases/v2", this version of reach knows "reach.aliases/v1": move the file away to start afresh`,
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(name); err == nil || err.Error() != fmt.Sprintf(want, name) {
			t.Errorf("%s: got %v", text, err)
		}
	}
}

// TestProse: names that are ordinary words are not looked for in sentences, all
// others are.
func TestProse(t *testing.T) {
	m, err := Mapping{}.Complete(Mapping{}, Known{Clusters: map[string]string{"production": "cluster", "prod-eu": "hub"}})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"| root | cluster | production files |": "[]",
		"lands on prod-eu":                      "[prod-eu]",
		"lands on PROD_EU":                      "[prod-eu]",
	} {
		if got := fmt.Sprint(m.Check().Prose(text)); got != want {
			t.Errorf("Prose(%q) = %v, want %v", text, got, want)
		}
	}
	if got := fmt.Sprint(m.Check().Passed()); got != "[production]" {
		t.Errorf("not looked for: %v", got)
	}
}

// TestPacksAreOrdinary: the page for people names packs, so a cluster of such a
// name must not make every report unpublishable.
func TestPacksAreOrdinary(t *testing.T) {
	packs, err := os.ReadFile(filepath.Join("..", "..", "..", "analyser", "internal", "coverage", "packs.txt"))
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`(?m)^pack (\S+)`).FindAllStringSubmatch(string(packs), -1)
	if len(names) < 10 {
		t.Fatalf("only %d packs in packs.txt", len(names))
	}
	for _, name := range names {
		if !ordinary(name[1]) {
			t.Errorf("the pack %s is missing in ordinary.txt", name[1])
		}
	}
}

func TestDomains(t *testing.T) {
	m, err := Mapping{}.Complete(Mapping{}, Known{Clusters: map[string]string{"east": "hub"}, Domains: []string{"apps.east.corp.example", "word"}})
	if err != nil {
		t.Fatal(err)
	}
	got := m.Replacer().Replace("shop.apps.east.corp.example on east, a word")
	if want := "shop.domain-1 on hub-1, a word"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if len(m.Check().Value("https://shop.apps.east.corp.example/")) == 0 {
		t.Error("a domain is not looked for")
	}
}
