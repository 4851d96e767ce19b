package cli

import (
	"strings"
	"testing"

	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

func TestSealMode(t *testing.T) {
	walls := func(standing ...string) []*reachv1.SealWall {
		var out []*reachv1.SealWall
		for _, name := range allWalls {
			w := &reachv1.SealWall{Name: name, Detail: "why"}
			for _, s := range standing {
				w.Stands = w.Stands || s == name
			}
			out = append(out, w)
		}
		return out
	}
	for _, tt := range []struct {
		mode   sealMode
		walls  []*reachv1.SealWall
		kernel bool
		want   string
	}{
		{sealAuto, walls(allWalls...), true, ""},
		{sealAuto, walls(kernelWalls...), true, ""},
		{sealAuto, walls("imports", "seccomp"), true, "landlock (why);"},
		{sealAuto, walls("imports", "landlock"), true, "seccomp (why);"},
		{sealAuto, nil, true, "landlock (the analyser does not know it), seccomp"},
		{sealAuto, nil, false, ""},
		{sealAll, walls(allWalls...), true, ""},
		{sealAll, walls(allWalls...), false, ""},
		{sealAll, walls(kernelWalls...), true, "imports (why), symbols (why);"},
		{sealAll, walls("imports", "symbols"), false, "landlock (why), seccomp (why);"},
		{sealNever, nil, true, ""},
	} {
		err := tt.mode.check(tt.walls, tt.kernel)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s, kernel %t: error %v, want %q", tt.mode, tt.kernel, err, tt.want)
		}
	}
}

// An analyser that is not sealed is asked nothing and leaves nothing.
func TestUnsealedIsRefused(t *testing.T) {
	f := &fakeAnalyser{messages: acme(t), unsealed: true}
	workplace(t)
	_, _, err := take(t.Context(), f, "--out", "new", "--require-seal")
	if err == nil || !strings.Contains(err.Error(), "symbols") || f.request != nil {
		t.Errorf("error %v, request %v", err, f.request)
	}
	if exists("new/census.json") {
		t.Error("a report was written")
	}
	if _, _, err := take(t.Context(), f, "--out", "new", "--require-seal=false"); err != nil {
		t.Error(err)
	}
	if _, _, err := take(t.Context(), f, "--out", "other", "--require-seal=some"); exitCode(err) != exitUsage {
		t.Errorf("error %v", err)
	}
}
