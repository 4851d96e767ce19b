package report

import "testing"

func TestProposedRootFlag(t *testing.T) {
	for _, c := range []struct{ cluster, path, want string }{
		{"prod", "clusters/prod", "--root prod=clusters/prod"},
		{"cluster", "", "--root cluster=."},
		{"a b", "x/a b", "--root 'a b=x/a b'"},
		{"it's", "x/it's", `--root 'it'\''s=x/it'\''s'`},
		{`a\xff`, `x/a\xff`, `--root 'a\xff=x/a\xff'`},
		{"$(x)", "$(x)", "--root '$(x)=$(x)'"},
		{"a\x1b\n", "a\x1b\n", `--root 'a\u{1b}\n=a\u{1b}\n'`},
	} {
		if got := (ProposedRoot{Cluster: c.cluster, Path: c.path}).Flag(); got != c.want {
			t.Errorf("%q %q: %s, want %s", c.cluster, c.path, got, c.want)
		}
	}
}
