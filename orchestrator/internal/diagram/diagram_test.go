package diagram

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gitops-reach/reach/orchestrator/internal/report"
)

func render(t *testing.T, makeHandler func(io.Writer) report.Handler, hub string, placements ...report.Placement) string {
	t.Helper()
	var out bytes.Buffer
	h := makeHandler(&out)
	header := report.Header{Repository: "platform"}
	census := report.Census{Header: header, Clusters: []report.Cluster{
		{Name: hub, Role: "hub"}, {Name: "spoke", Role: "spoke", ControllerCluster: hub},
	}}
	if err := h.Begin(&header); err != nil {
		t.Fatal(err)
	}
	for i := range placements {
		if err := h.Placement(&placements[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.End(&census); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func placements(hub string) []report.Placement {
	return []report.Placement{
		{Class: "local", Cluster: hub, ControllerCluster: hub},
		{Class: "local", Cluster: hub, ControllerCluster: hub},
		{Class: "remote_hub_render", Cluster: "spoke", ControllerCluster: hub},
		{Class: "remote_direct", Cluster: "spoke", ControllerCluster: hub},
		{Class: "unresolved", Cluster: "elsewhere", ControllerCluster: hub},
		{Class: "unresolved"},
		{Class: "uncovered"},
	}
}

func TestDOT(t *testing.T) {
	want := `digraph reach {
  rankdir=LR;
  node [shape=box, style=rounded, fontname="sans-serif"];
  edge [fontname="sans-serif", fontsize=10];
  repository [shape=folder, label="platform\n1 uncovered\n1 on an unknown cluster"];
  c1 [label="elsewhere\ncluster"];
  c2 [label="hub\nhub", peripheries=2];
  c3 [label="spoke\nspoke"];
  repository -> c2 [label="2 local"];
  c2 -> c1 [label="1 unresolved", style=dashed];
  c2 -> c3 [label="1 remote_direct\n1 remote_hub_render"];
}
`
	if diff := cmp.Diff(want, render(t, NewDOT, "hub", placements("hub")...)); diff != "" {
		t.Error(diff)
	}
}

func TestMermaid(t *testing.T) {
	want := `flowchart LR
  repository[("platform<br/>1 uncovered<br/>1 on an unknown cluster")]
  c1("elsewhere<br/>cluster")
  c2[["hub<br/>hub"]]
  c3("spoke<br/>spoke")
  repository -->|"2 local"| c2
  c2 -.->|"1 unresolved"| c1
  c2 -->|"1 remote_direct<br/>1 remote_hub_render"| c3
`
	if diff := cmp.Diff(want, render(t, NewMermaid, "hub", placements("hub")...)); diff != "" {
		t.Error(diff)
	}
}

// TestHostileNames: a name ends no string and starts no statement.
func TestHostileNames(t *testing.T) {
	hub := "a\"]; evil -> x\n\\<script>`|#"
	dot := render(t, NewDOT, hub, placements(hub)...)
	if !strings.Contains(dot, `label="a\"]; evil -> x\\n\\<script>`) || strings.Count(dot, "\n") != 12 {
		t.Errorf("DOT: %s", dot)
	}
	mermaid := render(t, NewMermaid, hub, placements(hub)...)
	if strings.Contains(mermaid, "<script>") || strings.Count(mermaid, "\n") != 8 || strings.Contains(mermaid, `a"`) {
		t.Errorf("Mermaid: %s", mermaid)
	}
}

// TestCircle: clusters that reach each other end.
func TestCircle(t *testing.T) {
	if got := level(map[string]string{"a": "b", "b": "a", "c": "c"}, "a"); got > 2 {
		t.Errorf("level %d", got)
	}
}
