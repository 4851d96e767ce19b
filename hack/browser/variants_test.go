package browser

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

func write(t *testing.T, file, content string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// disputed is the report of acme-platform beside an oracle that says of some
// Kustomizations something else: every result of a comparison is there.
func disputed(t *testing.T) string {
	plain := acme(t, "real")
	return once(t, "disputed", func(dir string) {
		var rows []map[string]any
		for i, k := range records(t, plain, "kustomizations.jsonl") {
			row := map[string]any{"class": k["class"], "target": k["target"], "objects": k["objects"]}
			for _, key := range []string{"cluster", "namespace", "name"} {
				row[key] = k[key]
			}
			switch {
			case k["state"] != "resolved":
				row["state"], row["reason"] = "failed", "build_failed"
				delete(row, "objects")
			case i%17 == 1:
				continue // only ours
			case i%17 == 3:
				row["class"], row["target"] = "remote_direct", "ocp-edge"
			case i%17 == 5:
				row["objects"] = 99
			}
			rows = append(rows, row)
		}
		rows = append(rows, map[string]any{"cluster": "hub-east", "namespace": "flux-system", "name": "only-theirs", "class": "local", "target": "hub-east"})
		text, err := json.Marshal(map[string]any{"schema": "reach.oracle/v1", "tool": "a check of our own 1.2", "kustomizations": rows})
		if err != nil {
			t.Fatal(err)
		}
		reach(t, "census", plain+".git", "--config", plain+".yaml", "--names", "real", "--out", dir, "--oracle", write(t, dir+".oracle.json", string(text)))
	})
}

// adopted is the report of acme-platform with a baseline that knows some findings,
// and suppressions that hold, have expired and match nothing.
func adopted(t *testing.T) string {
	plain := acme(t, "real")
	return once(t, "adopted", func(dir string) {
		baseline, err := os.ReadFile(filepath.Join(plain, "findings.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		known := bytes.Join(bytes.SplitAfter(baseline, []byte("\n"))[8:16], nil)
		config, err := os.ReadFile(plain + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		suppressions := "\nsuppressions:\n"
		for _, s := range [][3]string{
			{"reach.rbac.privileged_subject", "Whoever is on call may do everything; who that was is logged.", "2027-06-30"},
			{"reach.flux.uncovered_path", "Kept until the move to the new layout is done.", "2026-01-31"},
			{"reach.flux.dangling_reference", "Nothing like this is there.", "2027-06-30"},
		} {
			suppressions += fmt.Sprintf("- rule: %s\n  path: \"**\"\n  reason: %q\n  expires: %s\n", s[0], s[1], s[2])
		}
		reach(t, "census", plain+".git", "--config", write(t, dir+".yaml", string(config)+suppressions), "--names", "real", "--out", dir,
			"--baseline", write(t, dir+".findings.jsonl", string(known)))
	})
}

// witnessed is the report of a golden census with what was seen on its clusters.
func witnessed(t *testing.T, name string) string {
	return once(t, name, func(dir string) {
		archive, err := txtar.ParseFile("../../testdata/census/" + name + ".txtar")
		if err != nil {
			t.Fatal(err)
		}
		repository := dir + ".git"
		args := []string{"census", repository, "--names", "real", "--out", dir}
		commit := strings.TrimSpace(command(t, "go", "run", "../acme", "-archive", "../../testdata/census/"+name+".txtar", "-git", repository))
		for _, f := range archive.Files {
			switch f.Name {
			case "facts":
				args = append(args, "--facts", write(t, dir+".facts.jsonl", strings.ReplaceAll(string(f.Data), "COMMIT", commit)))
			case "reach.yaml":
				args = append(args, "--config", write(t, dir+".yaml", string(f.Data)))
			case "flags":
				args = append(args, strings.Fields(string(f.Data))...)
			}
		}
		reach(t, args...)
	})
}

// TestOracleInThePage: what differs comes first, with both sides, and every result
// of the data stands there.
func TestOracleInThePage(t *testing.T) {
	dir := disputed(t)
	b := open(t, html(dir))
	rows := eval[[]string](b, `[...document.querySelectorAll("[aria-labelledby=h-oracle] tbody tr")].map((r) => [...r.cells].slice(0, 3).map((c) => c.innerText).join(" "))`)
	want, last := map[string]int{}, map[string]int{}
	for _, o := range records(t, dir, "oracle.jsonl") {
		if result := o["result"].(string); result != "agree" {
			want[strings.ReplaceAll(result, "_", " ")]++
		}
	}
	if len(want) != 4 {
		t.Fatalf("the data has %v", want)
	}
	for i, row := range rows {
		for result := range want {
			if strings.Contains(row, " "+result) {
				want[result]--
				last[result] = i
			}
		}
	}
	for result, n := range want {
		if n != 0 {
			t.Errorf("%d rows of %q are not in the page: %q", n, result, rows)
		}
	}
	if last["differ"] > last["only theirs"] || last["only theirs"] > last["only ours"] || last["only ours"] > last["theirs failed"] {
		t.Errorf("the order is %v", last)
	}
}

// TestWhatIsHiddenIsCounted: the page says how many findings a baseline and
// suppressions hide, and until when.
func TestWhatIsHiddenIsCounted(t *testing.T) {
	dir := adopted(t)
	b := open(t, html(dir))
	by := map[string]int{}
	for _, h := range records(t, dir, "hidden.jsonl") {
		by[h["by"].(string)]++
	}
	if got, want := b.text("#findings .alert"), fmt.Sprintf("%d known to the baseline", by["baseline"]); by["baseline"] == 0 || !strings.Contains(got, want) {
		t.Errorf("the page says %q, want %q", got, want)
	}
	rows := eval[[]string](b, `[...document.querySelectorAll("[aria-labelledby=h-suppressions] tbody tr")].map((r) => [...r.cells].map((c) => c.innerText).join(" | "))`)
	want := []string{
		"reach.rbac.privileged_subject | ** | 1 | 2027-06-30 | Whoever is on call",
		"reach.flux.uncovered_path | ** | 6 | expired 2026-01-31 | Kept until",
		"reach.flux.dangling_reference | ** | 0 | 2027-06-30 | Nothing like this",
	}
	for i := range want {
		if i >= len(rows) || !strings.HasPrefix(rows[i], want[i]) {
			t.Errorf("suppressions: %q, want %q", rows, want)
			break
		}
	}
}
