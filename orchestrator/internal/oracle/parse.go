package oracle

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// columns of the CSV form. kustomization holds namespace/name, or
// cluster/namespace/name, in place of the first three.
var columns = []string{"cluster", "namespace", "name", "kustomization", "class", "target", "state", "reason", "objects"}

// parseCSV reads RFC 4180, fields separated by commas, with a first line that
// names the columns. Empty lines, and lines that begin with #, are skipped.
func parseCSV(data []byte) (*File, *mistake) {
	in := csv.NewReader(bytes.NewReader(data))
	in.Comment, in.TrimLeadingSpace, in.ReuseRecord = '#', true, true
	in.FieldsPerRecord = -1
	f := &File{Format: "csv"}
	var index map[string]int
	width := 0
	for {
		record, err := in.Read()
		if errors.Is(err, io.EOF) {
			if index == nil {
				return nil, wrong(1, "it holds no line with the names of the columns: %s", strings.Join(columns, ", "))
			}
			return f, nil
		}
		var syntax *csv.ParseError
		if errors.As(err, &syntax) {
			return nil, wrong(syntax.Line, "not CSV: %v", syntax.Err)
		} else if err != nil {
			return nil, wrong(0, "not CSV: %v", err)
		}
		line, _ := in.FieldPos(0)
		if index == nil {
			var at *mistake
			if index, at = heads(record, line); at != nil {
				return nil, at
			}
			width = len(record)
			continue
		}
		if len(record) != width {
			return nil, wrong(line, "%d fields where the first line names %d columns", len(record), width)
		}
		cell := func(name string) string {
			if i, ok := index[name]; ok {
				return strings.TrimSpace(record[i])
			}
			return ""
		}
		r := Row{
			Cluster: cell("cluster"), Namespace: cell("namespace"), Name: cell("name"), Class: cell("class"),
			Target: cell("target"), State: cell("state"), Reason: cell("reason"), Line: line,
		}
		if whole := cell("kustomization"); whole != "" {
			if at := r.split(whole); at != nil {
				return nil, at
			}
		}
		if n := cell("objects"); n != "" {
			count, err := strconv.Atoi(n)
			if err != nil {
				return nil, wrong(line, "objects %q is no number", n)
			}
			r.Objects = &count
		}
		f.Rows = append(f.Rows, r)
	}
}

// heads reads the names of the columns.
func heads(record []string, line int) (map[string]int, *mistake) {
	index := map[string]int{}
	for i, name := range record {
		name = strings.ToLower(strings.TrimSpace(name))
		if !slices.Contains(columns, name) {
			return nil, wrong(line, "unknown column %q: the first line names columns, of %s", name, strings.Join(columns, ", "))
		}
		if _, twice := index[name]; twice {
			return nil, wrong(line, "the column %q stands twice", name)
		}
		index[name] = i
	}
	_, whole := index["kustomization"]
	_, name := index["name"]
	_, class := index["class"]
	switch {
	case whole == name:
		return nil, wrong(line, "one of the columns kustomization and name has to be there, and not both")
	case !class:
		return nil, wrong(line, "the column class is missing")
	}
	return index, nil
}

// split reads namespace/name or cluster/namespace/name.
func (r *Row) split(whole string) *mistake {
	rest, name, ok := cutLast(whole)
	if !ok {
		return wrong(r.Line, "the Kustomization %q is not namespace/name", whole)
	}
	r.Namespace, r.Name = rest, name
	if cluster, namespace, ok := cutLast(rest); ok {
		if r.Cluster != "" && r.Cluster != cluster {
			return wrong(r.Line, "the Kustomization %q is on another cluster than %q", whole, r.Cluster)
		}
		r.Cluster, r.Namespace = cluster, namespace
	}
	return nil
}

func cutLast(s string) (before, after string, found bool) {
	i := strings.LastIndexByte(s, '/')
	if i < 0 {
		return "", s, false
	}
	return s[:i], s[i+1:], true
}

// document is the JSON form.
type document struct {
	JSONSchema string `json:"$schema,omitempty"`
	Schema     string `json:"schema"`
	Tool       string `json:"tool,omitempty"`
	Commit     string `json:"commit,omitempty"`
	Rows       []Row  `json:"kustomizations"`
}

// parseJSON reads a document, or a list of rows alone.
func parseJSON(data []byte) (*File, *mistake) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	f := &File{Format: "json"}
	p := &reader{data: data, d: d}
	first, err := d.Token()
	if err != nil {
		return nil, p.syntax(err)
	}
	var at *mistake
	if first == json.Delim('[') {
		f.Rows, at = p.rows()
	} else {
		at = p.document(f)
	}
	if at != nil {
		return nil, at
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, wrong(p.line(), "text follows the list")
	}
	return f, nil
}

// reader reads JSON and knows the line.
type reader struct {
	data []byte
	d    *json.Decoder
}

// line is that of the next value.
func (p *reader) line() int {
	at := int(min(p.d.InputOffset(), int64(len(p.data))))
	for at < len(p.data) && strings.IndexByte(" \t\r\n,:", p.data[at]) >= 0 {
		at++
	}
	return 1 + bytes.Count(p.data[:at], []byte("\n"))
}

func (p *reader) syntax(err error) *mistake {
	line := p.line()
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		line = 1 + bytes.Count(p.data[:min(max(syntax.Offset-1, 0), int64(len(p.data)))], []byte("\n"))
		return wrong(line, "not JSON: %v", err)
	case errors.As(err, &kind):
		return wrong(line, "%s is a %s and should be a %s", kind.Field, kind.Value, kind.Type)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return wrong(1+bytes.Count(bytes.TrimRight(p.data, "\n"), []byte("\n")), "not JSON: it breaks off")
	}
	return wrong(line, "%s", strings.TrimPrefix(err.Error(), "json: "))
}

func (p *reader) document(f *File) *mistake {
	var head document
	listed := false
	for p.d.More() {
		line := p.line()
		key, err := p.d.Token()
		if err != nil {
			return p.syntax(err)
		}
		switch key {
		case "$schema":
			err = p.d.Decode(&head.JSONSchema)
		case "schema":
			err = p.d.Decode(&head.Schema)
		case "tool":
			err = p.d.Decode(&f.Tool)
		case "commit":
			err = p.d.Decode(&f.Commit)
		case "kustomizations":
			open, e := p.d.Token()
			if e == nil && open != json.Delim('[') {
				return wrong(line, "kustomizations wants a list")
			}
			if e != nil {
				return p.syntax(e)
			}
			var at *mistake
			if f.Rows, at = p.rows(); at != nil {
				return at
			}
			listed = true
		default:
			return wrong(line, "unknown key %q: the keys are schema, tool, commit, kustomizations", key)
		}
		if err != nil {
			return p.syntax(err)
		}
	}
	if _, err := p.d.Token(); err != nil {
		return p.syntax(err)
	}
	switch {
	case head.Schema != Schema:
		return wrong(1, "the schema is %q, this version of reach reads %q", head.Schema, Schema)
	case !listed:
		return wrong(1, "the list kustomizations is missing")
	}
	return nil
}

// rows reads what follows an opening bracket, up to the closing one.
func (p *reader) rows() ([]Row, *mistake) {
	rows := []Row{}
	for p.d.More() {
		line := p.line()
		var r Row
		if err := p.d.Decode(&r); err != nil {
			at := p.syntax(err)
			var syntax *json.SyntaxError
			if !errors.As(err, &syntax) && !errors.Is(err, io.ErrUnexpectedEOF) {
				at.line = line // the decoder is already behind the value
			}
			return nil, at
		}
		r.Line = line
		rows = append(rows, r)
	}
	if _, err := p.d.Token(); err != nil {
		return nil, p.syntax(err)
	}
	return rows, nil
}

// Write writes the JSON form, sorted, a Kustomization a line.
func Write(w io.Writer, f *File) error {
	rows := slices.Clone(f.Rows)
	slices.SortStableFunc(rows, compareRows)
	head, err := json.Marshal(document{JSONSchema: SchemaID, Schema: Schema, Tool: f.Tool, Commit: f.Commit})
	if err != nil {
		return err
	}
	head, _ = bytes.CutSuffix(head, []byte("null}"))
	var out bytes.Buffer
	out.Write(head)
	out.WriteByte('[')
	for i := range rows {
		row, err := json.Marshal(&rows[i])
		if err != nil {
			return err
		}
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteByte('\n')
		out.Write(row)
	}
	fmt.Fprint(&out, "\n]}\n")
	_, err = w.Write(out.Bytes())
	return err
}

func compareRows(a, b Row) int {
	return slices.Compare([]string{a.Cluster, a.Namespace, a.Name}, []string{b.Cluster, b.Namespace, b.Name})
}
