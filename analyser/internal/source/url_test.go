package source

import (
	"strings"
	"testing"
)

// Each line holds names of one repository.
func TestNormaliseEqual(t *testing.T) {
	seen := map[string]string{}
	for _, same := range [][]string{
		{
			"https://github.com/Org/Repo", "https://github.com/org/repo.git", "ssh://git@github.com/Org/Repo",
			"git@github.com:Org/Repo.git", "github.com:Org/Repo", "ssh://git@github.com:22/org/repo/", "https://user:pass@GitHub.com:443/org//repo/",
			"http://github.com/org/repo", "git://github.com:9418/org/repo.git/", "ssh://git@ssh.github.com:443/org/repo.git",
			"https://www.github.com/org/repo?x=y#z", " https://github.com/org/repo ", "HTTPS://github.com/org/repo", "git+ssh://git@github.com/org/repo",
		},
		{"https://git.example.com/Org/repo", "git@git.example.com:Org/repo.git", "ssh://git@GIT.example.com./Org/repo.git"},
		{"https://git.example.com/org/repo"},
		{"https://git.example.com:8443/org/repo", "https://x@git.example.com:08443/org/repo.git"},
		{"ssh://git@git.example.com:2222/org/repo"},
		{
			"https://dev.azure.com/Org/My%20Project/_git/repo", "https://org@dev.azure.com/org/My Project/_git/repo",
			"git@ssh.dev.azure.com:v3/org/My%20Project/repo", "ssh://git@ssh.dev.azure.com:22/v3/org/My%20Project/repo",
			"https://org.visualstudio.com/DefaultCollection/My%20Project/_git/repo", "https://org.visualstudio.com/My%20Project/_git/repo",
		},
		{"oci://ghcr.io/org/repo", "oci://GHCR.io:443/org/repo/"},
		{"https://ghcr.io/org/repo"},
		{"file:///srv/git/repo.git", "/srv/git/repo", "file://localhost/srv/git/./repo/", "file:/srv/git/repo"},
		{"ssh://git@[2001:db8::1]/org/repo", "https://[2001:DB8::1]:443/org/repo"},
		{"https://git.example.com/a%2Fb", "https://git.example.com/a%2fb"},
		{""},
	} {
		want := Normalise(same[0])
		for _, u := range same {
			if got := Normalise(u); got != want {
				t.Errorf("Normalise(%q) = %q, and of %q it is %q", u, got, same[0], want)
			}
		}
		if other, ok := seen[want]; ok {
			t.Errorf("%q and %q are both %q", other, same[0], want)
		}
		seen[want] = same[0]
	}
}

func TestNormaliseDropsUser(t *testing.T) {
	if got := Normalise("https://oauth2:s3cret@example.com/r"); strings.Contains(got, "s3cret") {
		t.Errorf("the password is still in %q", got)
	}
}

// FuzzNormalise: once is enough.
func FuzzNormalise(f *testing.F) {
	for _, s := range []string{"https://github.com/o/r.git", "git@h:p/q", "file:/a", "//h:1/p", "a:b:c/d", "oci://h/%41%2525", "x://[::1]:2/3", "h.git.git/", "./a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once := Normalise(s)
		if twice := Normalise(once); twice != once {
			t.Errorf("%q: %q, then %q", s, once, twice)
		}
	})
}
