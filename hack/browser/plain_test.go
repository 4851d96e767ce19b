package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// withoutScripts opens a file in a browser that runs no script of the page.
func withoutScripts(t *testing.T, file string) *tab {
	t.Helper()
	b := open(t, file)
	call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	b.do(chromedp.Navigate("file://"+file), chromedp.WaitReady(chromedp.CSS("footer")))
	return b
}

// TestReadableWithoutScripts: a browser that runs no script shows everything
// that there is to read of acme-platform: each file with its placements and
// their traces, each object, each finding with its facts, each row of a table;
// and nothing that would need a script.
func TestReadableWithoutScripts(t *testing.T) {
	dir := acme(t, "real")
	b := withoutScripts(t, html(dir))
	if eval[bool](b, `document.documentElement.dataset.ready === "true"`) {
		t.Fatal("the script of the page ran: the test shows nothing")
	}
	shown := func(selector string) bool {
		return eval[bool](b, fmt.Sprintf("[...document.querySelectorAll(%q)].some((e) => e.checkVisibility())", selector))
	}
	for _, selector := range []string{".filter", ".more", "[hidden]"} {
		if shown(selector) {
			t.Errorf("%s is shown and does nothing", selector)
		}
	}
	for _, selector := range []string{"#coverage table", ".picture svg", "#placements table", "#ownership table", "#finding-static"} {
		if !shown(selector) {
			t.Errorf("%s is not shown", selector)
		}
	}
	text := eval[string](b, "document.body.textContent")
	// A closed <details> opens without a script; its text is in the page.
	files := eval[map[string]string](b, `Object.fromEntries([...document.querySelectorAll("#placements .items > li")].map((li) =>
		[li.querySelector(".path").textContent, li.textContent]))`)
	for _, f := range records(t, dir, "files.jsonl") {
		if files[f["path"].(string)] == "" {
			t.Fatalf("%s is not in the page", f["path"])
		}
	}
	for _, p := range records(t, dir, "placements.jsonl") {
		about := files[p["path"].(string)]
		for _, want := range []string{strings.ReplaceAll(p["class"].(string), "_", " "), p["cluster"].(string), p["controller"].(string)} {
			if !strings.Contains(about, want) {
				t.Errorf("%s does not tell of %q", p["path"], want)
			}
		}
		for _, h := range p["trace"].([]any) {
			if at, _ := h.(map[string]any)["path"].(string); !strings.Contains(about, at) {
				t.Errorf("the trace of %s lacks %s", p["path"], at)
			}
		}
	}
	objects := eval[string](b, `document.querySelector("#ownership").textContent`)
	for _, o := range records(t, dir, "objects.jsonl") {
		if !strings.Contains(objects, o["name"].(string)) {
			t.Errorf("%s %s is not in the page", o["kind"], o["name"])
		}
	}
	for _, f := range records(t, dir, "findings.jsonl") {
		if !strings.Contains(text, f["message"].(string)) {
			t.Errorf("not in the page: %s", f["message"])
		}
		facts, _ := f["facts"].([]any)
		for _, fact := range facts {
			if !strings.Contains(text, fact.(map[string]any)["text"].(string)) {
				t.Errorf("not in the page: %v", fact)
			}
		}
	}
	b.do(chromedp.Click(chromedp.CSS("#file-list summary")), chromedp.WaitVisible(chromedp.CSS("#file-list .trace")))
	b.shot("without-scripts")
}

// TestFactsSideBySide: what is for people to decide stands apart from mistakes,
// with its facts in a table, with and without a filter.
func TestFactsSideBySide(t *testing.T) {
	dir := acme(t, "real")
	b := open(t, html(dir))
	const rule = "reach.rbac.privileged_subject"
	if apart := eval[string](b, `document.querySelector("[aria-labelledby=h-decide]").textContent`); !strings.Contains(apart, rule) {
		t.Errorf("%s is not among what is for you to decide", rule)
	}
	if eval[bool](b, fmt.Sprintf(`[...document.querySelectorAll("#finding-static section:not([aria-labelledby=h-decide])")].some((s) => s.textContent.includes(%q))`, rule)) {
		t.Errorf("%s is among the mistakes", rule)
	}
	rows := func(within string) string {
		return eval[string](b, fmt.Sprintf(`[...document.querySelectorAll(%q)].filter((s) => s.textContent.includes("acme-breakglass gives"))
			.flatMap((s) => [...s.querySelectorAll(".sides tbody tr")]).map((r) => [...r.cells].map((c) => c.textContent.trim()).join(" | ")).join("\n")`, within+" .finding"))
	}
	var want []string
	for _, f := range records(t, dir, "findings.jsonl") {
		if facts, _ := f["facts"].([]any); f["rule"] == rule {
			for _, fact := range facts {
				m := fact.(map[string]any)
				want = append(want, fmt.Sprintf("%s | %s | %s:%.0f", m["cluster"], m["text"], m["path"], m["line"]))
			}
		}
	}
	if len(want) != 2 {
		t.Fatalf("%d facts in the data", len(want))
	}
	if got := rows("#finding-static"); got != strings.Join(want, "\n") {
		t.Errorf("side by side stand\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
	b.choose("finding-rule", rule)
	if got := rows("#finding-list"); got != strings.Join(want, "\n") {
		t.Errorf("with a filter\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
	b.accessible("facts")
}
