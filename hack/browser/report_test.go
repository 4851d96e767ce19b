package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

var views = []string{"coverage", "placements", "ownership", "findings"}

// TestEveryReportIsReadable: what people open is whole, quiet, and can be used
// by everybody, in light and in dark, on a screen, on a telephone and on paper.
func TestEveryReportIsReadable(t *testing.T) {
	for name, folder := range map[string]func(t *testing.T) string{
		"acme aliased": func(t *testing.T) string { return acme(t, "alias") },
		"acme real":    func(t *testing.T) string { return acme(t, "real") },
		"hub and spokes": func(t *testing.T) string {
			return corpus(t, "fluxcd__flux2-hub-spoke-example", "--root", "hub=hub")
		},
		"home": func(t *testing.T) string {
			return corpus(t, "bjw-s-labs__home-ops", "--root", "main=kubernetes/flux/cluster")
		},
		"three in a chain": func(t *testing.T) string { return corpus(t, "olga-mir__k8s-multi-cluster") },
		"without a root":   func(t *testing.T) string { return corpus(t, "redhat-cop__gitops-catalog") },
		"disputed":         disputed,
		"adopted":          adopted,
		"mixed namespace":  func(t *testing.T) string { return witnessed(t, "ownership_mixed_namespace") },
		"unreadable":       func(t *testing.T) string { return witnessed(t, "ownership_of_what_could_not_be_read") },
		"platforms":        func(t *testing.T) string { return witnessed(t, "platform_of_clusters") },
	} {
		t.Run(name, func(t *testing.T) {
			b := open(t, html(folder(t)))
			file := strings.ReplaceAll(name, " ", "-")
			for _, view := range views {
				if len(b.text("#"+view)) < 100 {
					t.Errorf("the view %s is empty", view)
				}
			}
			if age := b.text("#age"); !strings.Contains(age, " ago") && !strings.Contains(age, "just now") {
				t.Errorf("the age of the commit is %q", age)
			}
			b.shot(file + "-light")
			b.accessible("light")
			b.colours("dark")
			b.shot(file + "-dark")
			b.accessible("dark", "color-contrast")
			b.colours("light")
			b.do(chromedp.EmulateViewport(360, 740, chromedp.EmulateMobile))
			if wide := eval[int](b, "document.documentElement.scrollWidth"); wide > 360 {
				t.Errorf("a telephone of 360 pixels shows a page of %d: %s", wide, eval[string](b, `[...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > 361 && !e.closest(".scroll")).slice(0, 5).map((e) => e.tagName + "." + e.className + " " + e.textContent.slice(0, 60)).join(" | ")`))
			}
			b.shot(file + "-narrow")
			b.accessible("narrow", "scrollable-region-focusable", "target-size")
			b.paper(file)
		})
	}
}

// TestAccessibilityCheckConvicts: the check itself can fail.
func TestAccessibilityCheckConvicts(t *testing.T) {
	b := open(t, html(acme(t, "alias")))
	b.accessible("as it is")
	eval[bool](b, `document.querySelector("#file-text").closest("label").replaceWith(document.querySelector("#file-text")), true`)
	eval[bool](b, `document.querySelector("#file-text").removeAttribute("placeholder"), true`)
	if found := violations(b, "label"); len(found) != 1 || !strings.HasPrefix(found[0], "label ") {
		t.Errorf("a field without a label gives %q", found)
	}
}

// number is what a status line starts with.
func (b *tab) number(id string) string {
	b.t.Helper()
	first, _, _ := strings.Cut(b.text("#"+id), " ")
	return strings.ReplaceAll(first, "\u202f", "")
}

// TestSearchForAFile: what the search finds is what the data says.
func TestSearchForAFile(t *testing.T) {
	dir := acme(t, "real")
	b := open(t, html(dir))
	placements, files := records(t, dir, "placements.jsonl"), records(t, dir, "files.jsonl")
	distinct := func(keep func(p map[string]any) bool) string {
		paths := map[string]bool{}
		for _, p := range placements {
			if keep(p) {
				paths[p["path"].(string)] = true
			}
		}
		return fmt.Sprint(len(paths))
	}
	if got, want := b.number("file-status"), "The"; got != want {
		t.Errorf("before a search: %q", b.text("#file-status"))
	}
	b.choose("file-cluster", "hub-west")
	if got, want := b.number("file-status"), distinct(func(p map[string]any) bool { return p["cluster"] == "hub-west" }); got != want {
		t.Errorf("%s files on hub-west, want %s", got, want)
	}
	b.choose("file-class", "local")
	if got, want := b.number("file-status"), distinct(func(p map[string]any) bool {
		return p["cluster"] == "hub-west" && p["class"] == "local"
	}); got != want {
		t.Errorf("%s files local on hub-west, want %s", got, want)
	}
	b.choose("file-cluster", "")
	b.choose("file-class", "")
	b.choose("file-analysis", "unresolved")
	n := 0
	for _, f := range files {
		if f["analysis"] == "unresolved" {
			n++
		}
	}
	if got := b.number("file-status"); got != fmt.Sprint(n) {
		t.Errorf("%s files unresolved, want %d", got, n)
	}
	b.choose("file-analysis", "")
	b.choose("file-text", "RESOURCE-group azure")
	if got := b.text("#file-list"); !strings.HasPrefix(got, "infrastructure/azure/base/resource-group.yaml") {
		t.Fatalf("the search finds %q", got)
	}
	b.do(chromedp.Click(chromedp.CSS("#file-list summary")), chromedp.WaitVisible(chromedp.CSS("#file-list .trace")))
	// Each placement in the data stands there, and each of its hops.
	shown := b.text("#file-list")
	for _, p := range placements {
		if p["path"] != "infrastructure/azure/base/resource-group.yaml" {
			continue
		}
		if want := "on " + p["cluster"].(string) + " by " + p["controller"].(string); !strings.Contains(shown, want) {
			t.Errorf("%q is not shown in %q", want, shown)
		}
		for _, h := range p["trace"].([]any) {
			hop := h.(map[string]any)
			if path, ok := hop["path"].(string); ok {
				if line, ok := hop["line"].(float64); ok {
					path = fmt.Sprintf("%s:%d", path, int(line))
				}
				if !strings.Contains(shown, path) {
					t.Errorf("the hop %s is not shown", path)
				}
			}
		}
	}
	b.accessible("with a trace open")
	b.shot("trace")
	b.choose("file-text", "no such file anywhere")
	if got := b.text("#file-status"); got != "0 files match." {
		t.Errorf("nothing found is said as %q", got)
	}
}

// TestEveryPlacementIsThere: the page carries each placement and its whole
// trace, although it stores them as numbers.
func TestEveryPlacementIsThere(t *testing.T) {
	dir := acme(t, "real")
	b := open(t, html(dir))
	b.choose("file-text", "/")
	for eval[bool](b, `!document.getElementById("file-more").hidden`) {
		eval[bool](b, `document.getElementById("file-more").click(), true`)
	}
	got := eval[[]string](b, `(async () => {
		const out = [];
		const all = document.querySelectorAll("#file-list details");
		for (const d of all) d.open = true;
		await new Promise((done) => setTimeout(done, 500));
		for (const d of all) {
			for (const p of d.querySelectorAll(".placement")) {
				out.push(d.querySelector(".path").textContent + " " + p.querySelector("p").textContent + " " + [...p.querySelectorAll("li")].map((l) => l.textContent).join(" > "));
			}
		}
		return out.sort();
	})()`)
	want := map[string]int{}
	for _, p := range records(t, dir, "placements.jsonl") {
		if strings.Contains(p["path"].(string), "/") {
			want[describe(p)]++
		}
	}
	for _, line := range got {
		if want[line] == 0 {
			t.Fatalf("not in the data: %s", line)
		}
		want[line]--
	}
	for line, n := range want {
		if n != 0 {
			t.Errorf("not in the page: %s", line)
		}
	}
}

// describe is a placement in the words of the page.
func describe(p map[string]any) string {
	word := func(k string) string { s, _ := p[k].(string); return strings.ReplaceAll(s, "_", " ") }
	text := func(k string) string { s, _ := p[k].(string); return s }
	out := text("path") + " " + word("class")
	if text("cluster") != "" {
		out += " on " + text("cluster")
	}
	if text("controller") != "" {
		out += " by " + text("controller")
	}
	out += " (" + word("role")
	if s := word("state"); s != "" && s != "resolved" {
		out += ", " + s
	}
	if s := word("reason"); s != "" {
		out += ", " + s
	}
	out += ")"
	if s := text("detail"); s != "" {
		out += ": " + s
	}
	var hops []string
	for _, h := range p["trace"].([]any) {
		hop := h.(map[string]any)
		get := func(k string) string { s, _ := hop[k].(string); return s }
		s := get("kind")
		if get("name") != "" {
			s += " " + get("name")
		}
		if get("path") != "" {
			s += " " + get("path")
			if line, ok := hop["line"].(float64); ok {
				s += fmt.Sprintf(":%d", int(line))
			}
		}
		if get("cluster") != "" && get("cluster") != get("name") {
			s += " on " + get("cluster")
		}
		hops = append(hops, s)
	}
	return out + " " + strings.Join(hops, " > ")
}

func TestSearchForAnObject(t *testing.T) {
	dir := acme(t, "real")
	b := open(t, html(dir))
	n, want := 0, 0
	for _, o := range records(t, dir, "objects.jsonl") {
		if o["cluster"] == "aks-weu-prod" {
			n++
			if o["kind"] == "Deployment" {
				want++
			}
		}
	}
	b.choose("object-cluster", "aks-weu-prod")
	if got := b.number("object-status"); got != fmt.Sprint(n) {
		t.Errorf("%s objects, want %d", got, n)
	}
	b.choose("object-text", "deployment ")
	b.choose("object-verdict", "abstain")
	rows := eval[[]string](b, `[...document.querySelectorAll("#object-list tr")].map((r) => r.cells[0].innerText)`)
	found := 0
	for _, r := range rows {
		if strings.HasPrefix(r, "Deployment ") {
			found++
		}
	}
	if found != want || want == 0 {
		t.Errorf("%d deployments, want %d: %q", found, want, rows)
	}
	b.accessible("with objects")
	b.shot("objects")
}

func TestFilterFindings(t *testing.T) {
	dir := acme(t, "real")
	b := open(t, html(dir))
	findings := records(t, dir, "findings.jsonl")
	bySeverity := map[string]int{}
	for _, f := range findings {
		bySeverity[f["severity"].(string)]++
		// Without a filter each is there to be read.
		if !strings.Contains(eval[string](b, `document.getElementById("finding-static").textContent`), f["message"].(string)) {
			t.Errorf("not in the page: %s", f["message"])
		}
	}
	for severity, n := range bySeverity {
		b.choose("finding-severity", severity)
		if got := b.number("finding-status"); got != fmt.Sprint(n) {
			t.Errorf("%s: %s findings, want %d", severity, got, n)
		}
	}
	b.choose("finding-severity", "")
	b.choose("finding-text", "pager_team")
	if got := b.text("#finding-list"); !strings.Contains(got, "${PAGER_TEAM}") || !strings.Contains(got, "Remedy:") || !strings.Contains(got, "Consequence:") {
		t.Errorf("the finding reads %q", got)
	}
	b.do(chromedp.Click(chromedp.CSS("#finding-list summary")), chromedp.WaitVisible(chromedp.CSS("#finding-list .trace")))
	b.accessible("with a filter")
	b.choose("finding-text", "")
	if eval[bool](b, `document.getElementById("finding-static").hidden`) {
		t.Error("without a filter the list does not come back")
	}
}

// TestKeyboard: everything can be reached and used without a mouse.
func TestKeyboard(t *testing.T) {
	b := open(t, html(acme(t, "real")))
	b.keys(kb.Tab)
	if got := b.focused(); got != "skip" {
		t.Fatalf("the first stop of the keyboard is %q", got)
	}
	if left := eval[float64](b, `document.activeElement.getBoundingClientRect().left`); left < 0 {
		t.Error("the skip link stays out of sight")
	}
	b.keys(kb.Enter)
	if got := b.focused(); got != "main" {
		t.Errorf("the skip link leads to %q", got)
	}
	// On through everything: each stop shows that it has the keyboard.
	seen := map[string]bool{}
	for range 400 {
		b.keys(kb.Tab)
		at := b.focused()
		if !eval[bool](b, `(() => { const s = getComputedStyle(document.activeElement); return document.activeElement === document.body || s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 2; })()`) {
			t.Errorf("nobody sees that the keyboard is at %q", at)
		}
		if at == "file-text" && !seen[at] {
			b.keys("e", "g", "r", "e", "s", "s")
			eval[bool](b, `new Promise((done) => setTimeout(() => done(true), 250))`)
		}
		seen[at] = true
		if at == "finding-rule" {
			break
		}
	}
	for _, want := range []string{"file-text", "file-cluster", "object-text", "finding-text", "finding-rule"} {
		if !seen[want] {
			t.Errorf("the keyboard never comes to %s", want)
		}
	}
	b.do(chromedp.Focus(chromedp.CSS("#file-list summary")))
	b.keys(kb.Enter)
	b.do(chromedp.WaitVisible(chromedp.CSS("#file-list .trace")))
	if got := b.text("#file-list"); !strings.Contains(got, "egress") {
		t.Errorf("typing found %q", got)
	}
	// More rows: the keyboard goes on with the first new one.
	b.choose("file-text", "yaml")
	b.do(chromedp.Focus(chromedp.CSS("#file-more")))
	b.keys(kb.Enter)
	if got := eval[int](b, `[...document.querySelectorAll("#file-list summary")].indexOf(document.activeElement)`); got != 100 {
		t.Errorf("after more rows the keyboard is at row %d", got)
	}
}

func TestSortATable(t *testing.T) {
	b := open(t, html(acme(t, "real")))
	column := func() []int {
		return eval[[]int](b, `[...document.querySelector("#coverage table.sortable").tBodies[0].rows].map((r) => parseInt(r.cells[2].textContent.replace(/\D/g, "")))`)
	}
	b.do(chromedp.Focus(chromedp.CSS("#coverage th:nth-child(3) button")))
	for i, falling := range []bool{true, false} {
		b.keys(kb.Enter)
		numbers := column()
		for j := 1; j < len(numbers); j++ {
			if falling && numbers[j] > numbers[j-1] || !falling && numbers[j] < numbers[j-1] {
				t.Fatalf("sorted %d times: %v", i+1, numbers)
			}
		}
	}
	if got := eval[string](b, `document.querySelector("#coverage th:nth-child(3)").getAttribute("aria-sort")`); got != "ascending" {
		t.Errorf("a screen reader hears %q", got)
	}
	b.accessible("sorted")
}

func TestNavigation(t *testing.T) {
	b := open(t, html(acme(t, "real")))
	for _, view := range views {
		b.do(chromedp.Click(chromedp.CSS(`nav a[href="#` + view + `"]`)))
		eval[bool](b, `new Promise((done) => setTimeout(() => done(true), 900))`)
		if top := eval[float64](b, fmt.Sprintf("document.getElementById(%q).getBoundingClientRect().top", view)); top < -1 || top > 500 {
			t.Errorf("%s is at %v", view, top)
		}
		if got := eval[string](b, `document.querySelector("nav a[aria-current]").hash`); got != "#"+view {
			t.Errorf("at %s the navigation marks %s", view, got)
		}
	}
}

// TestDark: the page follows the reader's system.
func TestDark(t *testing.T) {
	b := open(t, html(acme(t, "real")))
	colour := func() string { return eval[string](b, "getComputedStyle(document.body).backgroundColor") }
	b.colours("light")
	light := colour()
	b.colours("dark")
	if dark := colour(); dark == light {
		t.Errorf("light and dark are both %s", dark)
	}
}

// TestPrint: on paper there is no navigation, no field, and every finding shows
// how it gets there.
func TestPrint(t *testing.T) {
	b := open(t, html(acme(t, "real")))
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
	for _, selector := range []string{"nav", "#file-filter", "#file-more"} {
		if eval[bool](b, fmt.Sprintf("document.querySelector(%q).checkVisibility()", selector)) {
			t.Errorf("%s is on paper", selector)
		}
	}
	b.shot("print")
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{})
	eval[bool](b, `(window.atPrint = -1, addEventListener("beforeprint", () => { window.atPrint = document.querySelectorAll("#findings details:not([open])").length; }), true)`)
	pdf, err := chromedp.Run(b.ctx, chromedp.PrintToPDF())
	if err != nil {
		t.Fatal(err)
	}
	if got := eval[int](b, "window.atPrint"); got != 0 {
		t.Errorf("%d traces of findings are closed on paper", got)
	}
	if !strings.HasPrefix(string(pdf[:5]), "%PDF-") {
		t.Error("there is no paper")
	}
	if eval[int](b, `document.querySelectorAll("#findings details[open]").length`) != 0 {
		t.Error("after printing the traces stay open")
	}
}
