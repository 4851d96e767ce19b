package flux

import (
	"errors"
	"strings"
	"testing"

	"github.com/fluxcd/pkg/envsubst"

	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/document"
	"github.com/gitops-reach/reach/analyser/internal/kustomize"
	"github.com/gitops-reach/reach/analyser/internal/position"
)

// A08: the path is joined inside the artifact.
func TestDirectory(t *testing.T) {
	for in, want := range map[string]string{
		"./apps/ov": "apps/ov", "apps/ov/": "apps/ov", "/apps/ov": "apps/ov",
		"../../apps/ov": "apps/ov", "apps/./base/../ov": "apps/ov",
		"": "", ".": "", "./": "", "/": "", "..": "", "a/../../..": "",
		`apps\ov`: `apps\ov`, "apps/Ov": "apps/Ov", "apps//ov": "apps/ov",
	} {
		if got := Directory(in); got != want {
			t.Errorf("Directory(%q) = %q, want %q", in, got, want)
		}
	}
}

// D03, each row of the table.
func TestExpressions(t *testing.T) {
	vars := map[string]string{"N": "Name", "EMPTY": ""}
	const fails = "\x00error"
	for in, want := range map[string]string{
		"${U:=d} ${U:-d} ${U=d}":         "d d d",
		"${U-d}":                         fails,
		"${N+alt}":                       fails,
		"${U:?m} ${U:+m}":                "m m",
		"${my-var}":                      fails,
		"${N.x}":                         fails,
		"${A B}":                         fails,
		"${N":                            fails,
		"${{ x }}":                       fails,
		"${}":                            fails,
		"$${{ x }}":                      "${{ x }}",
		"${N^^} ${N:0:2} ${N/e/E} ${#N}": "NAME Na NamE 4",
		"${U:-${N}}":                     "Name",
		"$N $(N)":                        "$N $(N)",
		"x$$":                            "x$",
		"$$N":                            "$N",
		"${1}":                           fails, // undeclared
		"${EMPTY:=d}":                    "d",
	} {
		got := fails
		if e, err := parseExpression(in); err == nil {
			if s, err := e.evaluate(vars, true); err == nil {
				got = s
			}
		}
		if got != want {
			t.Errorf("%s = %q, want %q", in, got, want)
		}
	}
}

// What envsubst cannot survive or bound is refused before it is asked.
func TestExpressionLimits(t *testing.T) {
	bomb := strings.Repeat("${X//x/", 12) + "y" + strings.Repeat("}", 12)
	for name, text := range map[string]string{
		"nested replacements": bomb,
		"many expressions":    strings.Repeat("${A}", maxExpressions+1),
		"many escapes":        strings.Repeat("$$", 1<<20),
		"trimming":            "${LONG##*a*a*a}",
		"deep nesting":        strings.Repeat("${A:=", maxExpressions+1) + strings.Repeat("}", maxExpressions+1),
	} {
		vars := map[string]string{"X": strings.Repeat("x", 100), "LONG": strings.Repeat("a", 1<<20)}
		e, err := parseExpression(text)
		if err == nil {
			_, err = e.evaluate(vars, false)
		}
		if !errors.Is(err, errLimit) {
			t.Errorf("%s: %v, want the limit", name, err)
		}
	}
	// The offset overflows in envsubst, which panics.
	e, err := parseExpression("${X:1:9223372036854775807}")
	if err == nil {
		_, err = e.evaluate(map[string]string{"X": "abc"}, false)
	}
	if !errors.Is(err, errMalformed) {
		t.Errorf("overflow: %v, want an error", err)
	}
}

// FuzzExpression holds three things: the answer is envsubst's own, the parts of
// a text that are known are the same whether or not others are, and what is
// written of an expression reads as the same expression.
func FuzzExpression(f *testing.F) {
	for _, s := range []string{
		"${A}", "x ${A:=d} $$ ${B//a/b}", `${A/\/a\\/\/b}`, "${A:1:${B}}", "$${A}", "${A:-a${B}c}", "${#A}", "${A%%*}",
		"${A,,}${B^}", "${A/#a/${B}}", "$$$${A}", "${A:=${B:=$$}}", "${A//$$/x}",
	} {
		f.Add(s)
	}
	vars := map[string]string{"A": "a/b$c", "B": "bbb", "C": ""}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1000 {
			return
		}
		e, err := parseExpression(text)
		if err != nil {
			if _, real := envsubst.Eval(text, func(s string) (string, bool) { return vars[s], true }); real == nil {
				t.Fatalf("%q is refused, and envsubst takes it", text)
			}
			return
		}
		for _, strict := range []bool{false, true} {
			got, err := e.evaluate(vars, strict)
			want, real := func() (s string, err error) {
				defer func() {
					if recover() != nil {
						err = errMalformed
					}
				}()
				return envsubst.Eval(text, func(s string) (string, bool) {
					v, ok := vars[s]
					return v, ok || !strict
				})
			}()
			if errors.Is(err, errLimit) {
				return
			}
			if (err == nil) != (real == nil) || err == nil && got != want {
				t.Fatalf("%q strict %v: %q, %v; envsubst says %q, %v", text, strict, got, err, want, real)
			}
		}
		whole, err := e.evaluate(vars, false)
		if err != nil {
			return
		}
		all := true
		e.uses(func(name string, _ bool) {
			_, ok := vars[name]
			all = all && ok
		})
		part, marked, err := e.partial(vars, func(string) string { return "\x00" })
		if all && (err != nil || !marked && part != whole) {
			t.Fatalf("%q in parts: %q, %v, %v; as a whole %q", text, part, marked, err, whole)
		}
		if all && marked {
			t.Fatalf("%q: everything is known, and a part is not", text)
		}
	})
}

// FuzzPostBuild looks for crashes: any text in an object, any value.
func FuzzPostBuild(f *testing.F) {
	f.Add("a: ${A}", "x: y")
	f.Add("${A}: [1, ${B}]", "\n- b")
	f.Add("items: ${A}", "[1]")
	f.Fuzz(func(t *testing.T, text, value string) {
		docs := document.NewReader(&position.Set{}, document.Limits{})
		file := docs.Text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"+text, 0)
		var in []*kustomize.Object
		for _, d := range file.Documents {
			in = append(in, &kustomize.Object{Ref: d.Ref, Tree: d.Tree})
		}
		for _, complete := range []bool{true, false} {
			s := &controller.Sync{Variables: controller.Variables{Declared: true}, CommonLabels: map[string]string{"a": "b"}}
			res := postBuild(&kustomize.Build{Objects: in}, s, map[string]string{"A": value}, complete, false, false)
			if res.Failure != nil && strings.Contains(res.Failure.Message, value) && len(value) > 8 {
				t.Errorf("the message shows a value: %s", res.Failure.Message)
			}
		}
	})
}

func TestVariablesOf(t *testing.T) {
	read := func(text string) *kustomize.Object {
		f := document.NewReader(&position.Set{}, document.Limits{}).Text(text, 0)
		if f.Err != nil || len(f.Documents) != 1 {
			t.Fatal(f.Err)
		}
		return &kustomize.Object{Ref: f.Documents[0].Ref, Tree: f.Documents[0].Tree}
	}
	for _, c := range []struct {
		text     string
		want     map[string]string
		complete bool
	}{
		{"{apiVersion: v1, kind: ConfigMap, data: {a: b, c: ''}}", map[string]string{"a": "b", "c": ""}, true},
		{"{apiVersion: v1, kind: ConfigMap, data: {a: 1, c: d}}", map[string]string{"c": "d"}, false},
		{"{apiVersion: v1, kind: Secret, data: {a: Yg==, c: Zg==}, stringData: {c: over}}", map[string]string{"a": "b", "c": "over"}, true},
		{"{apiVersion: v1, kind: Secret, data: {a: '!!!'}}", map[string]string{}, false},
		{"{apiVersion: v1, kind: Secret, stringData: {a: 'ENC[AES256_GCM,x]', b: clear}}", map[string]string{"b": "clear"}, false},
		{"{apiVersion: v1, kind: Secret}", map[string]string{}, true},
		{"{apiVersion: apps/v1, kind: Deployment}", map[string]string{}, false},
	} {
		got, complete := VariablesOf(read(c.text))
		if len(got) != len(c.want) || complete != c.complete {
			t.Errorf("%s: %v, %v", c.text, got, complete)
		}
		for k, v := range c.want {
			if got[k] != v {
				t.Errorf("%s: %s is not as expected", c.text, k)
			}
		}
	}
}
