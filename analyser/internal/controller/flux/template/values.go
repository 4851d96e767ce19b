package template

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// empty is what default and its kin take for unset.
func empty(v any) bool { return !truth(v) }

// asText is slim-sprig's strval.
func asText(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case unordered:
		return "", errUnordered
	}
	return fmt.Sprint(v), nil
}

// asTexts is slim-sprig's strslice.
func asTexts(v any) ([]string, error) {
	if v == nil {
		return []string{}, nil
	}
	if _, ok := v.(unordered); ok {
		return nil, errUnordered
	}
	l, ok := elements(v)
	if !ok {
		l = []any{v}
	}
	out := make([]string, 0, len(l))
	for _, e := range l {
		if e == nil {
			continue
		}
		s, err := asText(e)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

func integer(v any) (int64, bool) {
	switch v := v.(type) {
	case int:
		return int64(v), true
	case int64:
		return v, true
	}
	return 0, false
}

// toInt64 is slim-sprig's function of that name.
func toInt64(v any) int64 {
	switch v := v.(type) {
	case string:
		i, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			return 0
		}
		return i
	case float64:
		return int64(v)
	case bool:
		if v {
			return 1
		}
	}
	i, _ := integer(v)
	return i
}

func lengthOf(a []any) (any, error) {
	n, ok := length(a[0])
	if !ok {
		return nil, failf("asks for the length of something that has none")
	}
	return n, nil
}

func index(a []any) (any, error) {
	v := a[0]
	if v == nil {
		return nil, failf("takes an element of nothing")
	}
	for _, i := range a[1:] {
		switch m := v.(type) {
		case nil:
			return nil, failf("takes an element of nothing")
		case string, unordered:
			return nil, notEvaluated("a character of a text")
		case map[string]any:
			k, ok := i.(string)
			if !ok {
				return nil, failf("takes an element of an object by something that is no text")
			}
			v = m[k]
		case map[string]string:
			k, ok := i.(string)
			if !ok {
				return nil, failf("takes an element of an object by something that is no text")
			}
			v = m[k]
		default:
			l, ok := elements(v)
			n, isNumber := integer(i)
			if !ok || !isNumber || n < 0 || n >= int64(len(l)) {
				return nil, failf("takes an element that is not there")
			}
			v = l[n]
		}
	}
	return v, nil
}

func shown(a []any, print func(...any) string) (any, error) {
	if err := ordered(a); err != nil {
		return nil, err
	}
	return print(a...), nil
}

func ordered(a []any) error {
	for _, v := range a {
		if _, ok := v.(unordered); ok {
			return errUnordered
		}
	}
	return nil
}

var (
	stars  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`%[^a-zA-Z%]*\*`) })
	widths = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[0-9]+`) })
)

func printf(a []any) (any, error) {
	format := a[0].(string)
	if err := ordered(a); err != nil {
		return nil, err
	}
	if stars().MatchString(format) {
		return nil, notEvaluated("a width that is an argument")
	}
	sum := 0
	for _, w := range widths().FindAllString(format, -1) {
		n, err := strconv.Atoi(w)
		if sum += n; err != nil || n > maxText || sum > maxText {
			return nil, ErrLimit
		}
	}
	return fmt.Sprintf(format, a[1:]...), nil
}

// equal is eq: true when the first argument equals any other.
func equal(a []any) (any, error) {
	if len(a) < 2 {
		return nil, failf("compares one value")
	}
	for _, b := range a[1:] {
		same, err := equals(a[0], b)
		if same || err != nil {
			return same, err
		}
	}
	return false, nil
}

func equals(a, b any) (bool, error) {
	if a == nil || b == nil {
		if m, ok := a.(map[string]any); ok && m == nil {
			return b == nil, nil
		}
		if m, ok := b.(map[string]any); ok && m == nil {
			return a == nil, nil
		}
		return a == nil && b == nil, nil
	}
	if x, ok := integer(a); ok {
		if y, ok := integer(b); ok {
			return x == y, nil
		}
	}
	switch x := a.(type) {
	case string:
		if y, ok := b.(string); ok {
			return x == y, nil
		}
	case bool:
		if y, ok := b.(bool); ok {
			return x == y, nil
		}
	case float64:
		if y, ok := b.(float64); ok {
			return x == y, nil
		}
	}
	if emptyMap(a) != emptyMap(b) {
		return false, notEvaluated("a comparison of no inputs with an object")
	}
	return false, failf("compares values of different types, or lists or objects")
}

// emptyMap reports no inputs at all, which Go takes for nil.
func emptyMap(v any) bool {
	m, ok := v.(map[string]any)
	return ok && m == nil
}

func compared(holds func(int) bool) *function {
	return fn(func(a []any) (any, error) {
		x, ok := integer(a[0])
		y, ok2 := integer(a[1])
		if ok && ok2 {
			return holds(cmp.Compare(x, y)), nil
		}
		switch x := a[0].(type) {
		case string:
			if y, ok := a[1].(string); ok {
				return holds(cmp.Compare(x, y)), nil
			}
		case float64:
			if y, ok := a[1].(float64); ok && x == x && y == y {
				return holds(cmp.Compare(x, y)), nil
			}
		}
		return nil, failf("compares what has no order")
	}, anything, anything)
}

func replace(a []any) (any, error) {
	old, with, s := a[0].(string), a[1].(string), a[2].(string)
	if strings.Count(s, old)*len(with) > maxText {
		return nil, ErrLimit
	}
	return strings.ReplaceAll(s, old, with), nil
}

func truncated(n int, s string) string {
	switch {
	case n < 0 && len(s)+n > 0:
		return s[len(s)+n:]
	case n >= 0 && len(s) > n:
		return s[:n]
	}
	return s
}

func substring(a []any) (any, error) {
	start, end, s := a[0].(int), a[1].(int), a[2].(string)
	switch {
	case start < 0:
		return s[:end], nil
	case end < 0 || end > len(s):
		return s[start:], nil
	}
	return s[start:end], nil
}

func indent(prefix string, a []any) (any, error) {
	n, s := a[0].(int), a[1].(string)
	if n > 0 && strings.Count(s, "\n")+1 > maxText/n {
		return nil, ErrLimit
	}
	pad := strings.Repeat(" ", n)
	return prefix + pad + strings.ReplaceAll(s, "\n", "\n"+pad), nil
}

func quoted(a []any, quote func(string) string) (any, error) {
	var out []string
	for _, v := range a {
		if v == nil {
			continue
		}
		s, err := asText(v)
		if err != nil {
			return nil, err
		}
		out = append(out, quote(s))
	}
	return strings.Join(out, " "), nil
}

// cat joins what there is with spaces, of which it trims none but the last: the
// values are put into the format after it is trimmed.
func cat(a []any) (any, error) {
	var out []string
	for _, v := range a {
		if v == nil {
			continue
		}
		s, err := asText(v)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return strings.Join(out, " "), nil
}

func numbered(parts []string) map[string]string {
	out := make(map[string]string, len(parts))
	for i, p := range parts {
		out["_"+strconv.Itoa(i)] = p
	}
	return out
}

func sign(n int) int {
	if n < 0 {
		return -1
	}
	return 1
}

// numbers are those from start towards stop, which is not among them.
func numbers(start, stop, step int) ([]int, error) {
	out := []int{}
	down := stop < start
	if step == 0 && down || down != (step < 0) || step == 0 {
		return out, nil
	}
	for i := start; down && i > stop || !down && i < stop; i += step {
		if out = append(out, i); len(out) > maxText/8 {
			return nil, ErrLimit
		}
	}
	return out, nil
}

// sequence is seq: END, START END or START STEP END.
func sequence(a []any) (any, error) {
	n := make([]int, len(a))
	for i, v := range a {
		n[i] = v.(int)
	}
	start, step, end := 1, 1, 0
	switch len(n) {
	case 1:
		end = n[0]
	case 2:
		start, end = n[0], n[1]
	case 3:
		start, step, end = n[0], n[1], n[2]
	default:
		return "", nil
	}
	last := end + 1
	if end < start {
		if last = end - 1; len(n) == 3 && step > 0 {
			return "", nil
		}
		if len(n) < 3 {
			step = -1
		}
	}
	l, err := numbers(start, last, step)
	if err != nil {
		return nil, err
	}
	return strings.Trim(fmt.Sprint(l), "[]"), nil
}

var slugs = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^a-zA-Z0-9\-_]+`) })

// slugify is gosimple/slug for text that needs no transliteration and is not
// cut: letters and digits joined by single dashes.
func slugify(a []any) (any, error) {
	s := strings.ToLower(strings.TrimSpace(a[0].(string)))
	for _, r := range s {
		if r > 0x7e || r < ' ' || strings.ContainsRune("&@", r) {
			return nil, notEvaluated("a slug of symbols")
		}
	}
	s = slugs().ReplaceAllString(s, "-")
	for strings.Contains(s, "--") {
		s = strings.ReplaceAll(s, "--", "-")
	}
	if s = strings.Trim(s, "-_"); len(s) > 63 {
		return nil, notEvaluated("a slug that is cut")
	}
	return s, nil
}
