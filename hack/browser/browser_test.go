package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// chromium starts one browser for the tests of this package.
var chromium = sync.OnceValues(func() (context.Context, error) {
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil && path == "" {
			path = p
		}
	}
	if path == "" {
		return nil, fmt.Errorf("there is no Chromium: run make test, or hack/browser/setup.sh")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(profile),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.WindowSize(1280, 900),
	)
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(allocator)
	shutDown = func() { cancel(); stop() }
	return ctx, chromedp.Do(ctx)
})

var (
	profile  string
	shutDown = func() {}
)

func TestMain(m *testing.M) {
	var err error
	if profile, err = os.MkdirTemp("", "reach-browser-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	shutDown()
	os.RemoveAll(profile)
	os.Exit(code)
}

// tab is a page that is open. At the end of the test it wants that nothing was
// complained of and nothing was asked of anybody.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	trouble  []string
	requests []string
}

// open opens a file.
func open(t *testing.T, file string) *tab {
	t.Helper()
	if testing.Short() {
		t.Skip("no browser in short tests")
	}
	browser, err := chromium()
	if err != nil {
		t.Fatal(err)
	}
	tabCtx, cancelTab := chromedp.NewContext(browser)
	ctx, cancel := context.WithTimeout(tabCtx, 2*time.Minute)
	b := &tab{t: t, ctx: ctx}
	address := "file://" + file
	if err := chromedp.Listen(ctx, func(event any) { b.listen(event, address) }); err != nil {
		t.Fatal(err)
	}
	call(b, network.Enable, network.EnableParams{})
	b.do(chromedp.Navigate(address), chromedp.WaitReady(chromedp.CSS("html[data-ready]")))
	t.Cleanup(func() {
		b.mu.Lock()
		for _, s := range b.trouble {
			t.Errorf("the browser complains: %s", s)
		}
		for _, s := range b.requests {
			t.Errorf("the page asks for %s", s)
		}
		b.mu.Unlock()
		cancel()
		cancelTab()
	})
	return b
}

func (b *tab) listen(event any, address string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		b.trouble = append(b.trouble, fmt.Sprintf("console.%s is called", e.Type))
	case *runtime.EventExceptionThrown:
		b.trouble = append(b.trouble, "an exception: "+e.ExceptionDetails.Text)
	case *log.EventEntryAdded:
		b.trouble = append(b.trouble, fmt.Sprintf("%s: %s", e.Entry.Level, e.Entry.Text))
	case *page.EventJavascriptDialogOpening:
		b.trouble = append(b.trouble, "a dialog: "+e.Message)
	case *network.EventRequestWillBeSent:
		if plain, _, _ := strings.Cut(e.Request.URL, "#"); plain != address {
			b.requests = append(b.requests, e.Request.URL)
		}
	}
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// call runs a command of the protocol.
func call[P, R any](b *tab, command cdp.Command[P, R], params P) R {
	b.t.Helper()
	out, err := chromedp.Call(b.ctx, command, params)
	if err != nil {
		b.t.Fatal(err)
	}
	return out
}

// eval evaluates an expression of the page, and waits when it is a promise.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	out, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%s: %v", expression[:min(len(expression), 80)], err)
	}
	return out
}

// text is what a person reads in the first element of a selector.
func (b *tab) text(selector string) string {
	b.t.Helper()
	return eval[string](b, fmt.Sprintf("document.querySelector(%q).innerText", selector))
}

// choose puts a value into a field as a person would, and waits for the answer.
func (b *tab) choose(id, value string) {
	b.t.Helper()
	eval[bool](b, fmt.Sprintf(`new Promise((done) => {
		const e = document.getElementById(%q);
		e.value = %q;
		e.dispatchEvent(new Event("input", { bubbles: true }));
		setTimeout(() => done(true), 250);
	})`, id, value))
}

// colours chooses what the reader's system prefers.
func (b *tab) colours(scheme string) {
	b.t.Helper()
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
}

// keys presses keys, one after another.
func (b *tab) keys(keys ...string) {
	b.t.Helper()
	for _, k := range keys {
		b.do(chromedp.KeyEvent(k))
	}
}

// focused describes where the keyboard is.
func (b *tab) focused() string {
	b.t.Helper()
	return eval[string](b, `(() => { const e = document.activeElement; return e.id || e.className || e.textContent.trim().slice(0, 40); })()`)
}

// shot writes the whole page to REACH_SHOTS, when that names a folder.
func (b *tab) shot(name string) {
	b.t.Helper()
	dir := os.Getenv("REACH_SHOTS")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// paper writes what a printer gets to REACH_SHOTS, when that names a folder.
func (b *tab) paper(name string) {
	b.t.Helper()
	dir := os.Getenv("REACH_SHOTS")
	if dir == "" {
		return
	}
	pdf, err := chromedp.Run(b.ctx, chromedp.PrintToPDF())
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".pdf"), pdf, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// accessible wants no violation of axe-core's rules; rules limit it to some.
func (b *tab) accessible(what string, rules ...string) {
	b.t.Helper()
	axe, err := os.ReadFile(filepath.Join("node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		b.t.Fatalf("axe-core is not there: run make test, or hack/browser/setup.sh: %v", err)
	}
	// Not as a script of the page, which its policy would refuse.
	eval[bool](b, string(axe)+"; true")
	for _, v := range violations(b, rules...) {
		b.t.Errorf("%s: %s", what, v)
	}
}

func violations(b *tab, rules ...string) []string {
	b.t.Helper()
	only := ""
	if len(rules) > 0 {
		only = `, runOnly: ["` + strings.Join(rules, `", "`) + `"]`
	}
	return eval[[]string](b, `axe.run(document, { resultTypes: ["violations"]`+only+` }).then((r) => r.violations.map((v) =>
		v.id + " (" + v.impact + "): " + v.help + ": " + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 200) + " | " + n.failureSummary.slice(0, 300)).join(" || ")))`)
}
