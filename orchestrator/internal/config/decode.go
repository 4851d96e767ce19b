package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// decode fills a Config from one YAML document. The standard decoder neither
// keeps the lines of values nor explains unknown keys, hence this small one.
func decode(data []byte, c *Config) (line int, message string) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	if err := decoder.Decode(&doc); errors.Is(err, io.EOF) {
		return 0, ""
	} else if err != nil {
		return syntax(err)
	}
	var next yaml.Node
	if err := decoder.Decode(&next); err == nil {
		return next.Line, "a second document: the configuration is one"
	} else if !errors.Is(err, io.EOF) {
		return syntax(err)
	}
	var m *mistake
	if err := value(doc.Content[0], reflect.ValueOf(c).Elem(), ""); errors.As(err, &m) {
		return m.line, m.message
	}
	return 0, ""
}

var (
	yamlError = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`) })
	// The parser, other than the scanner, counts lines from 0.
	parserError = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^did not find expected (<|node content|'-' indicator|key$|',' or)|^found (undefined tag handle|duplicate %|incompatible)`)
	})
	readerError = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`control characters|UTF-8|UTF-16|Unicode`) })
)

// syntax takes the line out of a parser's error.
func syntax(err error) (int, string) {
	text, _, _ := strings.Cut(err.Error(), "\n")
	m := yamlError().FindStringSubmatch(text)
	if m == nil {
		return 0, "not YAML: " + text
	}
	line, _ := strconv.Atoi(m[1])
	switch {
	case readerError().MatchString(m[2]):
	case parserError().MatchString(m[2]):
		line++
	case line == 0:
		line = 1
	}
	return line, "not YAML: " + m[2]
}

// mistake is an error with its line.
type mistake struct {
	line    int
	message string
}

func (m *mistake) Error() string { return m.message }

func wrong(n *yaml.Node, format string, args ...any) error {
	return &mistake{n.Line, fmt.Sprintf(format, args...)}
}

// value decodes n into v. at is the key that holds it, for messages.
func value(n *yaml.Node, v reflect.Value, at string) error {
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		return wrong(n, "anchors and aliases are not read here: write the value out")
	}
	if n.Tag == "!!null" {
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return value(n, v.Elem(), at)
	case reflect.Struct:
		return mapping(n, v, at)
	case reflect.Map:
		return table(n, v, at)
	case reflect.Slice:
		if n.Kind != yaml.SequenceNode {
			return wrong(n, "%s wants a list: start each entry with a dash", at)
		}
		list := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
		for i, item := range n.Content {
			if err := value(item, list.Index(i), "an entry of "+at); err != nil {
				return err
			}
		}
		v.Set(list)
		return nil
	}
	return scalar(n, v, at)
}

func scalar(n *yaml.Node, v reflect.Value, at string) error {
	if n.Kind != yaml.ScalarNode {
		return wrong(n, "%s wants a single value", at)
	}
	switch v.Kind() {
	case reflect.Bool:
		if n.Tag != "!!bool" {
			return wrong(n, "%s wants true or false", at)
		}
		v.SetBool(strings.EqualFold(n.Value, "true"))
	case reflect.Int64:
		i, err := strconv.ParseInt(n.Value, 10, 64)
		if err != nil || i <= 0 || i > reachv1.MaxLimit || n.Tag != "!!int" {
			return wrong(n, "%s wants a whole number from 1 to %d, without a unit", at, reachv1.MaxLimit)
		}
		v.SetInt(i)
	default:
		// A date in YAML is a date without quotes.
		day := n.Tag == "!!timestamp" && v.Type() == reflect.TypeFor[Day]()
		if n.Tag != "!!str" && !day {
			return wrong(n, "%s wants text: put %s in quotes", at, n.Value)
		}
		v.SetString(n.Value)
	}
	return nil
}

// mapping decodes into a struct and stores its line.
func mapping(n *yaml.Node, v reflect.Value, at string) error {
	if n.Kind != yaml.MappingNode {
		if at == "" {
			return wrong(n, "the configuration is a mapping of keys: roots, clusters, spokes, sources, aliases, limits, suppressions")
		}
		return wrong(n, "%s wants keys: %s", at, strings.Join(keys(v.Type()), ", "))
	}
	if p, ok := v.Addr().Interface().(placed); ok {
		p.at(n.Line)
	}
	return entries(n, func(key string, keyNode, valueNode *yaml.Node) error {
		for i := range v.NumField() {
			if key != "" && v.Type().Field(i).Tag.Get("yaml") == key {
				return value(valueNode, v.Field(i), key)
			}
		}
		return wrong(keyNode, "unknown key %q: the keys here are %s", key, strings.Join(keys(v.Type()), ", "))
	})
}

// placed is a value that remembers the line where it starts.
type placed interface{ at(line int) }

func (r *Root) at(line int)      { r.line = line }
func (c *Cluster) at(line int)   { c.line = line }
func (s *Spoke) at(line int)     { s.line = line }
func (r *SecretRef) at(line int) { r.line = line }
func (s *Source) at(line int)    { s.line = line }

func (s *Suppression) at(line int) { s.line = line }

// keys are the keys of a struct in their order.
func keys(t reflect.Type) []string {
	var out []string
	for i := range t.NumField() {
		if key := t.Field(i).Tag.Get("yaml"); key != "" {
			out = append(out, key)
		}
	}
	return out
}

// table decodes into a map with keys that the user chooses.
func table(n *yaml.Node, v reflect.Value, at string) error {
	if n.Kind != yaml.MappingNode {
		return wrong(n, "%s wants lines of the form name: value", at)
	}
	out := reflect.MakeMap(v.Type())
	err := entries(n, func(key string, _, valueNode *yaml.Node) error {
		item := reflect.New(v.Type().Elem()).Elem()
		if err := value(valueNode, item, at+"."+key); err != nil {
			return err
		}
		out.SetMapIndex(reflect.ValueOf(key), item)
		return nil
	})
	v.Set(out)
	return err
}

// entries calls f for each key of a mapping, and refuses what is no plain key.
func entries(n *yaml.Node, f func(key string, keyNode, valueNode *yaml.Node) error) error {
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		switch {
		case k.Kind != yaml.ScalarNode || k.Tag == "!!merge" || k.Anchor != "":
			return wrong(k, "a key is a plain word here")
		case seen[k.Value] != 0:
			return wrong(k, "the key %q stands at line %d already: put both together", k.Value, seen[k.Value])
		}
		seen[k.Value] = k.Line
		if err := f(k.Value, k, n.Content[i+1]); err != nil {
			return err
		}
	}
	return nil
}
