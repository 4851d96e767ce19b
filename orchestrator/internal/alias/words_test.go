package alias

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWordsOfTheRepository: an alias that stands in the repository would make two
// things look like one.
func TestWordsOfTheRepository(t *testing.T) {
	for _, c := range []struct {
		about         string
		given, before map[string]string
		clusters      map[string]string
		words         []string
		want          map[string]string
		err           string
	}{{
		about:    "a folder that is called as a default alias",
		clusters: map[string]string{"prod-eu": "hub", "prod-us": "hub"},
		words:    []string{"prod-eu", "hub-1"},
		want:     map[string]string{"prod-eu": "hub-2", "prod-us": "hub-3"},
	}, {
		about:    "as a part of a name, with other separators and letters",
		clusters: map[string]string{"prod-eu": "hub"},
		words:    []string{"apps-HUB_1.yaml", "hub.2", "ahub-3", "hub-30", "hub-3x"},
		want:     map[string]string{"prod-eu": "hub-3"},
	}, {
		about:    "a name that is replaced itself is not in the way",
		clusters: map[string]string{"acme-hub-1": "hub", "acme-hub-2": "hub"},
		words:    []string{"acme-hub-1", "acme-hub-2-kubeconfig"},
		want:     map[string]string{"acme-hub-1": "hub-1", "acme-hub-2": "hub-2"},
	}, {
		about:    "the word that default aliases begin with is no alias",
		clusters: map[string]string{"prod-eu": "spoke"},
		words:    []string{"spoke", "spoke-x"},
		want:     map[string]string{"prod-eu": "spoke-1"},
	}, {
		about:    "one that was chosen before gives way to a new folder",
		before:   map[string]string{"prod-eu": "hub-1", "gone": "hub-2"},
		clusters: map[string]string{"prod-eu": "hub"},
		words:    []string{"hub-1", "hub-2"},
		want:     map[string]string{"prod-eu": "hub-3", "gone": "hub-2"},
	}, {
		about:    "one that the user gave is an error",
		given:    map[string]string{"prod-eu": "blue"},
		clusters: map[string]string{"prod-eu": "hub"},
		words:    []string{"redblue", "blue-green", "Blue"},
		err:      `the repository has "Blue", with which the alias "blue" of "prod-eu" could be mistaken: choose another one`,
	}, {
		about:    "unless nothing here bears the name",
		given:    map[string]string{"elsewhere": "blue"},
		clusters: map[string]string{"prod-eu": "hub"},
		words:    []string{"blue"},
		want:     map[string]string{"elsewhere": "blue", "prod-eu": "hub-1"},
	}, {
		about:    "a name that only a path bears is one of this census",
		given:    map[string]string{"elsewhere": "blue"},
		clusters: map[string]string{"prod-eu": "hub"},
		words:    []string{"blue", "elsewhere-2"},
		err:      `the repository has "blue", with which the alias "blue" of "elsewhere" could be mistaken: choose another one`,
	}, {
		about:    "a part of the name that it stands for is not in the way",
		given:    map[string]string{"acme-blue": "blue"},
		clusters: map[string]string{"acme-blue": "hub"},
		words:    []string{"acme-blue", "ACME_BLUE_DOMAIN"},
		want:     map[string]string{"acme-blue": "blue"},
	}} {
		m, before := Mapping{Clusters: c.given}, Mapping{Clusters: c.before}
		words := NewWords(m, before)
		for _, word := range append(c.words, c.words...) {
			words.Note(word)
		}
		got, err := m.Complete(before, Known{Clusters: c.clusters, Words: words})
		if err != nil || c.err != "" {
			if err == nil || err.Error() != c.err {
				t.Errorf("%s: got %v, want %s", c.about, err, c.err)
			}
			continue
		}
		if diff := cmp.Diff(c.want, got.Clusters); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", c.about, diff)
		}
	}
}

// TestWordsOfTheRepositoryItself: its own name, owner and host, also where these
// are ordinary words without an alias.
func TestWordsOfTheRepositoryItself(t *testing.T) {
	known := func(m Mapping, words ...string) Known {
		w := NewWords(m, Mapping{})
		for _, word := range words {
			w.Note(word)
		}
		return Known{Repository: ParseRepository("https://git.corp.example/team/acme.git", ""), Clusters: map[string]string{"x-1": "hub"}, Words: w}
	}
	got, err := Mapping{}.Complete(Mapping{}, known(Mapping{}, "helm-repository.yaml"))
	want := map[string]string{"acme": "repository-1", "git.corp.example": "git-host"}
	if diff := cmp.Diff(want, got.Repository); err != nil || diff != "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	given := Mapping{Clusters: map[string]string{"x-1": "team"}}
	_, err = given.Complete(Mapping{}, known(given))
	if want := `the repository has "team", with which the alias "team" of "x-1" could be mistaken: choose another one`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
