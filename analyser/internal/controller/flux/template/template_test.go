package template

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"text/template"

	sprig "github.com/go-task/slim-sprig/v3"
	sigsyaml "sigs.k8s.io/yaml"
)

// real is flux-operator's own way to render (internal/builder, newTemplate),
// but for slugify.
func real(text string, inputs map[string]any) (out string, err error) {
	toYAML := func(v any) (string, error) {
		b, err := sigsyaml.Marshal(v)
		return string(b), err
	}
	t, err := template.New("resourceset").Delims("<<", ">>").
		Funcs(sprig.HermeticTxtFuncMap()).
		Funcs(template.FuncMap{
			"slugify": func(string) (string, error) { return "", errors.New("not here") },
			"inputs":  func() any { return inputs }, "mustToYaml": toYAML,
			"toYaml": func(v any) string {
				s, _ := toYAML(v)
				return s
			},
		}).
		Option("missingkey=error").Parse(text)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = t.Execute(&b, nil)
	return b.String(), err
}

func sample() map[string]any {
	return map[string]any{
		"name": "Team A", "count": int64(3), "zero": int64(0), "ratio": 1.5, "on": true, "off": false, "nothing": nil, "blank": "",
		"list": []any{"b", "a", int64(2), nil}, "none": []any{}, "path": "apps/web/v1",
		"map": map[string]any{"y": "2", "x": "1", "deep": map[string]any{"z": []any{int64(1)}}},
	}
}

// agree compares Render with the real template.
func agree(t *testing.T, text string, inputs map[string]any) (evaluated bool) {
	t.Helper()
	got, err := Render(text, inputs, NewBudget())
	if errors.Is(err, ErrNotEvaluated) || errors.Is(err, ErrLimit) {
		return false
	}
	want, wanted := real(text, inputs)
	switch {
	case (err == nil) != (wanted == nil):
		t.Errorf("%q: error %v, text/template says %v", text, err, wanted)
	case err == nil && got.String() != want:
		t.Errorf("%q = %q, text/template says %q", text, got, want)
	}
	return true
}

// TestAgree: every template is evaluated and gives what text/template and
// slim-sprig give, errors included.
func TestAgree(t *testing.T) {
	for _, text := range []string{
		"", "plain", "a << inputs.name >> b", "<<inputs.name>>", "<<- inputs.name ->>", " \n<<- inputs.name ->>\n x", "<< /* c */ >>x", "<<- /* c */ ->> x",
		"<< inputs.map.deep.z >> << inputs.map >> << inputs.nothing >> << inputs.ratio >> << inputs.list >>",
		"<< inputs.absent >>", "<< inputs.name.x >>", "<< .x >>", "<< . >>", "<< $ >>", "<< inputs.nothing.x >>", "<< inputs >>", "<< inputs 1 >>",
		"<< if inputs.on >>yes<< else >>no<< end >>", "<< if inputs.off >>a<< else if eq inputs.count 3 >>b<< else >>c<< end >>",
		"<< if not inputs.off >>a<< end >><< if inputs.none >>b<< end >><< if inputs.zero >>c<< end >><< if inputs.nothing >>d<< end >>",
		"<< if and inputs.on (eq inputs.name \"Team A\") >>a<< end >><< if or inputs.off inputs.absent >>b<< end >>",
		"<< if or inputs.on inputs.absent >>short<< end >>", "<< and 1 0 2 >> << or 0 \"\" 5 >> << 7 | and 1 >> << 7 | or 1 >> << and >>",
		"<< range inputs.list >>[<< . >>]<< end >>", "<< range $i, $e := inputs.list >><< $i >>=<< $e >>;<< end >>", "<< range $k, $v := inputs.map >><< $k >>=<< $v >>;<< end >>",
		"<< range inputs.none >>a<< else >>empty<< end >>", "<< range inputs.count >><< . >>,<< end >>", "<< range $i := 3 >><< $i >><< end >>", "<< range inputs.ratio >>a<< end >>",
		"<< range inputs.name >>a<< end >>", "<< range $i, $e := 3 >>a<< end >>", "<< range inputs.nothing >>a<< else >>b<< end >>",
		"<< range $e := inputs.list >><< if eq $e \"a\" >><< break >><< end >><< $e >><< end >>", "<< range inputs.list >><< if not . >><< continue >><< end >><< . >><< end >>",
		"<< $x := 1 >><< range inputs.list >><< $x = add $x 1 >><< end >><< $x >>", "<< $x := 1 >><< if true >><< $x := 2 >><< $x >><< end >><< $x >>",
		"<< with inputs.map >><< .x >><< end >><< with inputs.none >>a<< else >>b<< end >>", "<< with $m := inputs.map.deep >><< $m.z >><< end >>", "<< with inputs.off >>a<< else with inputs.name >><< . >><< end >>",
		"<< define \"t\" >>(<< . >>)<< end >><< template \"t\" inputs.name >><< template \"t\" >>", "<< template \"absent\" >>", "<< block \"b\" inputs.count >>n << . >><< end >>",
		"<< define \"r\" >><< if gt . 0 >><< . >><< template \"r\" (int (sub . 1)) >><< end >><< end >><< template \"r\" 3 >>",
		"<< (inputs.map).x >> << (index inputs.list 0) | upper >> << index inputs.map \"deep\" \"z\" 0 >> << index inputs.map \"no\" >>", "<< index inputs.list 9 >>", "<< index inputs.list inputs.count >>", "<< index inputs.nothing 1 >>", "<< index inputs.map 1 >>",
		"<< len inputs.list >> << len inputs.map >> << len inputs.name >>", "<< len inputs.nothing >>", "<< len 3 >>",
		"<< eq inputs.count 3 >> << eq inputs.count 3.0 >>", "<< eq inputs.name \"x\" \"Team A\" >> << eq inputs.nothing nil >> << eq inputs.name nil >> << eq 1 true >>", "<< eq inputs.list inputs.list >>", "<< eq inputs.map nil >>", "<< eq 1 >>",
		"<< ne inputs.name \"x\" >> << lt 1 2 >> << le 2 2 >> << gt \"b\" \"a\" >> << ge 1.5 inputs.ratio >>", "<< lt 1 1.5 >>", "<< lt true false >>", "<< lt nil 1 >>", "<< ne 1 2 3 >>",
		"<< print 1 2 \"a\" \"b\" 3 >><< println inputs.nothing >><< printf \"%s-%03d-%v-%q\" inputs.name inputs.count inputs.list inputs.blank >>", "<< printf \"%d\" inputs.name >>", "<< printf 3 >>", "<< inputs.name | printf \"%s %s\" \"x\" >>",
		"<< upper inputs.name | lower | quote >> << squote inputs.name inputs.count inputs.nothing >> << quote >> << inputs.map | quote >>", "<< upper inputs.count >>", "<< upper 3 >>", "<< upper >>", "<< upper nil >>", "<< upper inputs.nothing >>",
		"<< trim \" a \" >><< trimAll \"x\" \"xax\" >><< trimall \"x\" \"xax\" >><< trimPrefix \"a\" \"ab\" >><< trimSuffix \"b\" \"ab\" >>",
		"<< contains \"e\" inputs.name >><< hasPrefix \"T\" inputs.name >><< inputs.name | hasSuffix \"A\" >>",
		"<< splitList \"/\" inputs.path >> << (split \"/\" inputs.path)._1 >> << (splitn \"/\" 2 inputs.path)._1 >> << range splitList \"/\" inputs.path >><< . >>;<< end >>", "<< (split \"/\" \"a\")._9 >>",
		"<< inputs.path | replace \"/\" \"-\" >> << repeat 3 \"ab\" >> << trunc 3 inputs.path >> << trunc -2 inputs.path >> << substr 1 3 inputs.path >> << substr -1 2 inputs.path >> << substr 2 -1 inputs.path >>", "<< substr 9 3 \"abc\" >>", "<< repeat -1 \"a\" >>", "<< repeat inputs.count \"a\" >>",
		"x<< \"a\\nb\" | indent 2 >><< \"a\\nb\" | nindent 2 >>", "<< indent -1 \"a\" >>", "<< inputs.count | indent 2 >>", "<< cat inputs.name nil inputs.count true >>", "<< plural \"one\" \"many\" 1 >><< plural \"one\" \"many\" (len inputs.list) >>",
		"<< toString inputs.count >> << toString inputs.list >> << toStrings inputs.list >> << toStrings nil >> << toStrings 3 >> << join \",\" inputs.list >> << join \",\" 3 >> << join \",\" nil >>",
		"<< b64enc inputs.name >> << b64dec \"YQ==\" >> << b64dec \"!\" >> << base inputs.path >> << dir inputs.path >> << clean \"a/../b\" >> << ext \"a.b\" >> << isAbs \"/a\" >>",
		"<< atoi \"12\" >> << atoi \"x\" >> << int \"7\" >> << int64 1.9 >> << int true >> << int nil >> << add1 inputs.count >> << add 1 \"2\" inputs.count >> << sub 5 inputs.count >> << div 7 2 >> << mod 7 2 >> << mul 2 3 4 >> << max 1 5 3 >> << biggest 1 2 >> << min 4 2 >> << add >>", "<< div 1 0 >>", "<< mul >>",
		"<< until 3 >> << until -2 >> << untilStep 1 6 2 >> << untilStep 3 0 -1 >> << untilStep 0 3 -1 >> << untilStep 0 3 0 >> << seq 3 >> << seq 2 4 >> << seq 1 2 7 >> << seq -2 >> << seq 5 1 >> << seq 5 -2 1 >> << seq 5 2 1 >> << seq >> << seq 0 >>", "<< until inputs.count >>",
		"<< default \"d\" inputs.blank >><< default \"d\" inputs.name >><< inputs.zero | default 5 >><< default \"d\" >><< default \"d\" inputs.nothing >><< default \"d\" inputs.none >>", "<< default \"d\" inputs.absent >>",
		"<< empty inputs.none >><< empty inputs.name >><< coalesce inputs.blank 0 inputs.name >><< coalesce >><< all 1 0 >><< all >><< any 0 1 >><< any >><< ternary \"a\" \"b\" inputs.on >><< inputs.off | ternary \"a\" \"b\" >>", "<< ternary 1 2 3 >>",
		"<< fail \"no\" >>", "<< if false >><< fail \"no\" >><< end >>ok",
		"<< toJson inputs.map >> << toJson \"<a>\" >> << toYaml inputs.map >><< toYaml inputs.nothing >><< inputs.map | toYaml | nindent 4 >> << mustToYaml inputs.list >><< mustToJson inputs.list >>",
		"<< list 1 \"a\" nil >> << tuple >> << (dict \"a\" 1 \"b\").a >> << (dict \"a\" 1 \"b\").b >> << get inputs.map \"x\" >> << get inputs.map \"no\" >> << hasKey inputs.map \"x\" >> << pick inputs.map \"x\" \"no\" >> << omit inputs.map \"x\" >>", "<< get \"a\" \"b\" >>", "<< hasKey inputs.none \"x\" >>",
		"<< keys inputs.map | sortAlpha >> << len (keys inputs.map) >> << keys (dict \"a\" 1) >>", "<< dig \"deep\" \"z\" \"d\" inputs.map >> << dig \"deep\" \"no\" \"d\" inputs.map >>", "<< dig \"x\" \"y\" \"d\" inputs.map >>", "<< dig 1 >>",
		"<< first inputs.list >><< last inputs.list >><< rest inputs.list >><< initial inputs.list >><< reverse inputs.list >><< compact inputs.list >><< first inputs.none >><< rest inputs.none >><< initial (until 1) >><< sortAlpha (splitList \"/\" inputs.path) >><< sortAlpha 3 >>", "<< first 3 >>", "<< rest inputs.name >>",
		"<< append inputs.list 9 >><< prepend inputs.list 9 >><< concat inputs.list (list 1) (until 2) >><< push inputs.none 1 >>", "<< append 1 2 >>", "<< concat 1 >>",
		"<< 'a' >> << 0x10 >> << 1e3 >> << 1_000 >> << \"a\\tb\" >> << `raw` >> << true >> << nil >>", "<< 99999999999999999999 >>", "<< 3 | inputs.name >>", "<< inputs.name 3 >>", "<< $x >>", "<< unknown 1 >>", "<< if >>", "<< inputs.name", "<< end >>", "<< break >>", "<< $0 = 0 >>", "<< \"a\" | upper | >>", "<< nil | quote >>", "<< 1 2 >>",
	} {
		if !agree(t, text, sample()) {
			t.Errorf("%q is not evaluated", text)
		}
		if !agree(t, text, nil) {
			t.Errorf("%q is not evaluated without inputs", text)
		}
	}
}

// TestNotEvaluated: what is not evaluated is said, never guessed.
func TestNotEvaluated(t *testing.T) {
	for _, text := range []string{
		"<< keys inputs.map >>", "<< range keys inputs.map >><< . >><< end >>", "<< first (keys inputs.map) >>", "<< regexMatch \"a\" \"b\" >>", "<< typeOf 1 >>",
		"<< printf \"%*d\" 3 4 >>", "<< index inputs.name 1 >>", "<< slugify \"a&b\" >>", "<< slugify \"é\" >>", "<< toJson (keys inputs.map) >>",
	} {
		if _, err := Render(text, sample(), NewBudget()); !errors.Is(err, ErrNotEvaluated) {
			t.Errorf("%q: %v", text, err)
		}
	}
	// A function that is not evaluated does not matter where it is not called.
	if got, err := Render("<< if false >><< typeOf 1 >><< end >>x", nil, NewBudget()); err != nil || got.String() != "x" {
		t.Errorf("%v, %v", got, err)
	}
}

// TestSlugify: from the documentation of gosimple/slug.
func TestSlugify(t *testing.T) {
	for in, want := range map[string]string{
		"Hello World": "hello-world", " a.b/c ": "a-b-c", "--a__b--": "a__b", "A--B": "a-b", "": "", "!": "",
	} {
		j, _ := json.Marshal(in)
		got, err := Render("<< slugify "+string(j)+" >>", nil, NewBudget())
		if err != nil || got.String() != want {
			t.Errorf("%q: %v, %v, want %q", in, got, err, want)
		}
	}
}

// TestLimits: what would never end ends.
func TestLimits(t *testing.T) {
	for name, text := range map[string]string{
		"a template that calls itself": "<< define \"a\" >><< template \"a\" >><< end >><< template \"a\" >>",
		"a loop":                       "<< range 1000000000 >><< end >>",
		"nested loops":                 "<< range 100000 >><< range 100000 >>x<< end >><< end >>",
		"a wide number":                "<< printf \"%9999999d\" 1 >>",
		"a long text":                  "<< repeat 99999999 \"abc\" >>",
		"doubling":                     "<< $x := \"a\" >><< range 100 >><< $x = print $x $x >><< end >>",
		"a replacement":                "<< $x := repeat 100000 \"a\" >><< replace \"a\" $x $x >>",
		"an indentation":               "<< indent 99999999 \"a\" >>",
		"a list":                       "<< until 99999999999 >>",
		"parentheses":                  "<< " + strings.Repeat("(", 100_000) + "1" + strings.Repeat(")", 100_000) + " >>",
		"blocks":                       strings.Repeat("<< if true >>", 100_000) + strings.Repeat("<< end >>", 100_000),
	} {
		if _, err := Render(text, sample(), NewBudget()); !errors.Is(err, ErrLimit) {
			t.Errorf("%s: %v, want the limit", name, err)
		}
	}
}

// TestLines: each line of the text knows the line of the template that wrote it.
func TestLines(t *testing.T) {
	const text = "a: 1\n<<- range inputs.list >>\nb: << . >>\n  c: d\n<<- end >>\n<< toYaml inputs.map >>e: f\n"
	got, err := Render(text, map[string]any{"list": []any{int64(1), int64(2)}, "map": map[string]any{"x": "y", "z": "w"}}, NewBudget())
	if err != nil {
		t.Fatal(err)
	}
	want := []int{0, 2, 3, 2, 3, 5, 5, 5}
	lines := strings.Split(strings.TrimSuffix(got.String(), "\n"), "\n")
	if len(lines) != len(want) {
		t.Fatalf("%q", lines)
	}
	for i, w := range want {
		if got.Line(i) != w {
			t.Errorf("line %d (%q) comes from line %d, want %d", i, lines[i], got.Line(i), w)
		}
	}
}

// TestOutlines: every way through the conditions, once each.
func TestOutlines(t *testing.T) {
	if _, ok := Outlines("<< if x >>b<< end >>", "?", NewBudget()); ok {
		t.Fatal("x is no function")
	}
	texts, ok := Outlines("a<< if inputs.x >>b<< inputs.y >><< else >>c<< end >><< range inputs.z >>d<< end >><< $v := 1 >>", "?", NewBudget())
	var got []string
	for _, x := range texts {
		got = append(got, x.String())
	}
	if want := "ab?d acd ab? ac"; !ok || strings.Join(got, " ") != want {
		t.Errorf("%q, %v, want %q", got, ok, want)
	}
	if _, ok := Outlines(strings.Repeat("<< if inputs.x >>a<< end >>", maxConditions+1), "?", NewBudget()); ok {
		t.Error("too many ways are told")
	}
}

// FuzzRender: either it is not evaluated, or it is what text/template gives.
func FuzzRender(f *testing.F) {
	for _, s := range []string{
		"<< if eq inputs.name \"x\" >>a<< else >><< range $i, $e := inputs.list >><< $i >><< $e >><< end >><< end >>",
		"<< with inputs.map >><< .x | upper | quote >><< end >>", "<< define \"a\" >><< . >><< end >><< template \"a\" 1.5 >>",
		"<< printf \"%v\" (dict \"a\" (list 1 nil)) >>", "<< $x := 3 >><< range $x >><< $x = add1 . >><< end >><< $x >>", "<< seq 1 2 9 | splitList \" \" | join \",\" >>",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 2000 || strings.Contains(text, "slugify") || strings.Contains(text, "range") && strings.ContainsAny(text, "0123456789") && len(text) > 300 {
			return
		}
		budget := &Budget{left: 1 << 20}
		if _, err := Render(text, sample(), budget); errors.Is(err, ErrLimit) || errors.Is(err, ErrNotEvaluated) {
			return
		}
		agree(t, text, sample())
		Outlines(text, "?", NewBudget())
	})
}
