package template

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	sigsyaml "sigs.k8s.io/yaml"
)

// unordered is a list whose order is that of Go's maps, which is none: what
// shows it depends on chance.
type unordered []string

var errUnordered = notEvaluated("keys of an object in no order")

// names are all functions that templates may call; a template with any other is
// none. Those without an entry in functions are not evaluated.
var names = func() map[string]any {
	out := map[string]any{}
	for _, n := range strings.Fields(otherNames) {
		out[n] = true
	}
	for n := range functions {
		out[n] = true
	}
	return out
}()

// otherNames are the builtin functions of text/template and those of slim-sprig
// that are not in functions.
const otherNames = `
and or inputs call html js urlquery
hello ago duration durationRound must_date_modify mustDateModify mustToDate toDate unixEpoch
title randInt maxf minf ceil floor round toDecimal
fromJson mustFromJson toPrettyJson mustToPrettyJson toRawJson mustToRawJson
typeOf typeIs typeIsLike kindOf kindIs deepEqual
osBase osClean osDir osExt osIsAbs b32enc b32dec
set unset slice mustSlice chunk mustChunk values
regexMatch mustRegexMatch regexFindAll mustRegexFindAll regexFind mustRegexFind regexReplaceAll mustRegexReplaceAll
regexReplaceAllLiteral mustRegexReplaceAllLiteral regexSplit mustRegexSplit regexQuoteMeta urlParse urlJoin
sha1sum sha256sum adler32sum float64 pluck without mustWithout uniq mustUniq has mustHas`

func fn(call func(a []any) (any, error), params ...param) *function {
	return &function{params: params, call: call}
}

func variadic(call func(a []any) (any, error), params ...param) *function {
	return &function{params: params, variadic: true, call: call}
}

// texts is a function of strings.
func texts[R any](n int, call func(a []string) R) *function {
	return fn(func(a []any) (any, error) {
		s := make([]string, len(a))
		for i, v := range a {
			s[i] = v.(string)
		}
		return call(s), nil
	}, slices.Repeat([]param{text}, n)...)
}

// whole is a function of integers, whatever they are written as.
func whole(call func(a []int64) int64) *function {
	return variadic(func(a []any) (any, error) {
		n := make([]int64, len(a))
		for i, v := range a {
			n[i] = toInt64(v)
		}
		return call(n), nil
	}, anything, anything)
}

// functions: the argument of a pipe comes last (upstream: text/template
// funcs.go, slim-sprig functions.go).
var functions = map[string]*function{
	"not":     fn(func(a []any) (any, error) { return !truth(a[0]), nil }, anything),
	"len":     fn(lengthOf, anything),
	"index":   variadic(index, anything, anything),
	"print":   variadic(func(a []any) (any, error) { return shown(a, fmt.Sprint) }, anything),
	"println": variadic(func(a []any) (any, error) { return shown(a, fmt.Sprintln) }, anything),
	"printf":  variadic(printf, text, anything),
	"eq":      variadic(equal, anything, anything),
	"ne": fn(func(a []any) (any, error) {
		v, err := equal(a)
		return err == nil && v == false, err
	}, anything, anything),
	"lt": compared(func(c int) bool { return c < 0 }),
	"le": compared(func(c int) bool { return c <= 0 }),
	"gt": compared(func(c int) bool { return c > 0 }),
	"ge": compared(func(c int) bool { return c >= 0 }),

	"lower":      texts(1, func(a []string) string { return strings.ToLower(a[0]) }),
	"upper":      texts(1, func(a []string) string { return strings.ToUpper(a[0]) }),
	"trim":       texts(1, func(a []string) string { return strings.TrimSpace(a[0]) }),
	"trimPrefix": texts(2, func(a []string) string { return strings.TrimPrefix(a[1], a[0]) }),
	"trimSuffix": texts(2, func(a []string) string { return strings.TrimSuffix(a[1], a[0]) }),
	"trimAll":    texts(2, func(a []string) string { return strings.Trim(a[1], a[0]) }),
	"trimall":    texts(2, func(a []string) string { return strings.Trim(a[1], a[0]) }),
	"contains":   texts(2, func(a []string) bool { return strings.Contains(a[1], a[0]) }),
	"hasPrefix":  texts(2, func(a []string) bool { return strings.HasPrefix(a[1], a[0]) }),
	"hasSuffix":  texts(2, func(a []string) bool { return strings.HasSuffix(a[1], a[0]) }),
	"splitList":  texts(2, func(a []string) []string { return strings.Split(a[1], a[0]) }),
	"split":      texts(2, func(a []string) map[string]string { return numbered(strings.Split(a[1], a[0])) }),
	"splitn": fn(func(a []any) (any, error) {
		return numbered(strings.SplitN(a[2].(string), a[0].(string), a[1].(int))), nil
	}, text, number, text),
	"replace": fn(replace, text, text, text),
	"repeat": fn(func(a []any) (any, error) {
		n, s := a[0].(int), a[1].(string)
		if n > 0 && len(s) > maxText/n {
			return nil, ErrLimit
		}
		return strings.Repeat(s, n), nil
	}, number, text),
	"trunc":   fn(func(a []any) (any, error) { return truncated(a[0].(int), a[1].(string)), nil }, number, text),
	"substr":  fn(substring, number, number, text),
	"indent":  fn(func(a []any) (any, error) { return indent("", a) }, number, text),
	"nindent": fn(func(a []any) (any, error) { return indent("\n", a) }, number, text),
	"quote":   variadic(func(a []any) (any, error) { return quoted(a, strconv.Quote) }, anything),
	"squote":  variadic(func(a []any) (any, error) { return quoted(a, func(s string) string { return "'" + s + "'" }) }, anything),
	"cat":     variadic(cat, anything),
	"plural": fn(func(a []any) (any, error) {
		if a[2].(int) == 1 {
			return a[0], nil
		}
		return a[1], nil
	}, text, text, number),
	"toString":  fn(func(a []any) (any, error) { return asText(a[0]) }, anything),
	"toStrings": fn(func(a []any) (any, error) { return asTexts(a[0]) }, anything),
	"join": fn(func(a []any) (any, error) {
		list, err := asTexts(a[1])
		return strings.Join(list, a[0].(string)), err
	}, text, anything),
	"b64enc": texts(1, func(a []string) string { return base64.StdEncoding.EncodeToString([]byte(a[0])) }),
	"b64dec": texts(1, func(a []string) string {
		b, err := base64.StdEncoding.DecodeString(a[0])
		if err != nil {
			return err.Error()
		}
		return string(b)
	}),
	"slugify": fn(slugify, text),
	"base":    texts(1, func(a []string) string { return path.Base(a[0]) }),
	"dir":     texts(1, func(a []string) string { return path.Dir(a[0]) }),
	"clean":   texts(1, func(a []string) string { return path.Clean(a[0]) }),
	"ext":     texts(1, func(a []string) string { return path.Ext(a[0]) }),
	"isAbs":   texts(1, func(a []string) bool { return path.IsAbs(a[0]) }),

	"atoi": texts(1, func(a []string) int {
		i, _ := strconv.Atoi(a[0])
		return i
	}),
	"int":   fn(func(a []any) (any, error) { return int(toInt64(a[0])), nil }, anything),
	"int64": fn(func(a []any) (any, error) { return toInt64(a[0]), nil }, anything),
	"add1":  fn(func(a []any) (any, error) { return toInt64(a[0]) + 1, nil }, anything),
	"add": variadic(func(a []any) (any, error) {
		var sum int64
		for _, v := range a {
			sum += toInt64(v)
		}
		return sum, nil
	}, anything),
	"sub": fn(func(a []any) (any, error) { return toInt64(a[0]) - toInt64(a[1]), nil }, anything, anything),
	"div": fn(func(a []any) (any, error) { return toInt64(a[0]) / toInt64(a[1]), nil }, anything, anything),
	"mod": fn(func(a []any) (any, error) { return toInt64(a[0]) % toInt64(a[1]), nil }, anything, anything),
	"mul": whole(func(a []int64) int64 {
		product := a[0]
		for _, v := range a[1:] {
			product *= v
		}
		return product
	}),
	"max": whole(func(a []int64) int64 { return slices.Max(a) }), "biggest": whole(func(a []int64) int64 { return slices.Max(a) }),
	"min":       whole(func(a []int64) int64 { return slices.Min(a) }),
	"until":     fn(func(a []any) (any, error) { return numbers(0, a[0].(int), sign(a[0].(int))) }, number),
	"untilStep": fn(func(a []any) (any, error) { return numbers(a[0].(int), a[1].(int), a[2].(int)) }, number, number, number),
	"seq":       variadic(sequence, number),

	"default": variadic(func(a []any) (any, error) {
		if len(a) < 2 || empty(a[1]) {
			return a[0], nil
		}
		return a[1], nil
	}, anything, anything),
	"empty": fn(func(a []any) (any, error) { return empty(a[0]), nil }, anything),
	"coalesce": variadic(func(a []any) (any, error) {
		if i := slices.IndexFunc(a, func(v any) bool { return !empty(v) }); i >= 0 {
			return a[i], nil
		}
		return nil, nil
	}, anything),
	"all": variadic(func(a []any) (any, error) { return !slices.ContainsFunc(a, empty), nil }, anything),
	"any": variadic(func(a []any) (any, error) {
		return slices.ContainsFunc(a, func(v any) bool { return !empty(v) }), nil
	}, anything),
	"ternary": fn(func(a []any) (any, error) {
		if a[2].(bool) {
			return a[0], nil
		}
		return a[1], nil
	}, anything, anything, boolean),
	"fail":   fn(func([]any) (any, error) { return nil, failf("fails by itself") }, text),
	"toJson": fn(func(a []any) (any, error) { return asJSON(a[0]) }, anything), "mustToJson": fn(func(a []any) (any, error) { return asJSON(a[0]) }, anything),
	"toYaml": fn(func(a []any) (any, error) { return asYAML(a[0]) }, anything), "mustToYaml": fn(func(a []any) (any, error) { return asYAML(a[0]) }, anything),

	"list": variadic(func(a []any) (any, error) { return a, nil }, anything), "tuple": variadic(func(a []any) (any, error) { return a, nil }, anything),
	"dict": variadic(dict, anything),
	"get": fn(func(a []any) (any, error) {
		if v, ok := a[0].(map[string]any)[a[1].(string)]; ok {
			return v, nil
		}
		return "", nil
	}, object, text),
	"hasKey": fn(func(a []any) (any, error) {
		_, ok := a[0].(map[string]any)[a[1].(string)]
		return ok, nil
	}, object, text),
	"keys": variadic(func(a []any) (any, error) {
		keys := unordered{}
		for _, m := range a {
			keys = append(keys, sortedKeys(m.(map[string]any))...)
		}
		if len(keys) < 2 {
			return []string(keys), nil
		}
		return keys, nil
	}, object),
	"pick": variadic(func(a []any) (any, error) { return filtered(a, true), nil }, object, text),
	"omit": variadic(func(a []any) (any, error) { return filtered(a, false), nil }, object, text),
	"dig":  variadic(dig, anything),

	"append": fn(appended, anything, anything), "push": fn(appended, anything, anything),
	"mustAppend": fn(appended, anything, anything), "mustPush": fn(appended, anything, anything),
	"prepend": fn(prepended, anything, anything), "mustPrepend": fn(prepended, anything, anything),
	"first": list(first), "mustFirst": list(first),
	"last": list(last), "mustLast": list(last),
	"rest":     list(func(l []any) any { return slices.Clone(l[min(1, len(l)):]) }),
	"mustRest": list(func(l []any) any { return slices.Clone(l[min(1, len(l)):]) }),
	"initial":  list(func(l []any) any { return slices.Clone(l[:max(0, len(l)-1)]) }), "mustInitial": list(func(l []any) any { return slices.Clone(l[:max(0, len(l)-1)]) }),
	"reverse": list(reversed), "mustReverse": list(reversed),
	"compact":     list(func(l []any) any { return slices.DeleteFunc(slices.Clone(l), empty) }),
	"mustCompact": list(func(l []any) any { return slices.DeleteFunc(slices.Clone(l), empty) }),
	"concat":      variadic(concat, anything),
	"sortAlpha":   fn(sorted, anything),
}

var errNoList = errors.New("the template gives a function something that is no list")

// list is a function of a list whose order counts.
func list(call func([]any) any) *function {
	return fn(func(a []any) (any, error) {
		l, ok := elements(a[0])
		if !ok {
			return nil, errNoList
		}
		if _, ok := a[0].(unordered); ok {
			return nil, errUnordered
		}
		return call(l), nil
	}, anything)
}

func first(l []any) any {
	if len(l) == 0 {
		return nil
	}
	return l[0]
}

func last(l []any) any {
	if len(l) == 0 {
		return nil
	}
	return l[len(l)-1]
}

func reversed(l []any) any {
	l = slices.Clone(l)
	slices.Reverse(l)
	return l
}

func appended(a []any) (any, error) {
	l, ok := elements(a[0])
	if !ok {
		return nil, errNoList
	}
	return append(slices.Clip(slices.Clone(l)), a[1]), nil
}

func prepended(a []any) (any, error) {
	l, ok := elements(a[0])
	if !ok {
		return nil, errNoList
	}
	return append([]any{a[1]}, l...), nil
}

func concat(a []any) (any, error) {
	var out []any
	for _, v := range a {
		l, ok := elements(v)
		if !ok {
			return nil, errNoList
		}
		out = append(out, l...)
	}
	return out, nil
}

func sorted(a []any) (any, error) {
	var out []string
	if u, ok := a[0].(unordered); ok {
		out = slices.Clone(u)
	} else {
		var err error
		if out, err = asTexts(a[0]); err != nil {
			return nil, err
		}
	}
	slices.Sort(out)
	return out, nil
}

func dict(a []any) (any, error) {
	out := map[string]any{}
	for i := 0; i < len(a); i += 2 {
		key, err := asText(a[i])
		if err != nil {
			return nil, err
		}
		if out[key] = ""; i+1 < len(a) {
			out[key] = a[i+1]
		}
	}
	return out, nil
}

func dig(a []any) (any, error) {
	n := len(a)
	m, def := a[n-1].(map[string]any), a[n-2]
	var step any
	for i, k := range a[:n-2] {
		v, ok := m[k.(string)]
		if !ok {
			return def, nil
		}
		if step = v; i < n-3 {
			m = v.(map[string]any)
		}
	}
	_ = a[n-3]
	return step, nil
}

func filtered(a []any, keep bool) map[string]any {
	out := map[string]any{}
	if !keep {
		maps.Copy(out, a[0].(map[string]any))
	}
	for _, k := range a[1:] {
		if v, ok := a[0].(map[string]any)[k.(string)]; keep && ok {
			out[k.(string)] = v
		} else if !keep {
			delete(out, k.(string))
		}
	}
	return out
}

func asYAML(v any) (any, error) {
	if _, ok := v.(unordered); ok {
		return nil, errUnordered
	}
	out, err := sigsyaml.Marshal(v)
	return string(out), err
}

func asJSON(v any) (any, error) {
	if _, ok := v.(unordered); ok {
		return nil, errUnordered
	}
	if f, ok := v.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
		return nil, notEvaluated("a number that JSON does not have")
	}
	out, err := json.Marshal(v)
	return string(out), err
}
