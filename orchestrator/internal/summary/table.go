package summary

import (
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// grid is a table without lines that fits its width: columns without a cell are
// left out, columns of words give way, and optional ones make room.
type grid struct {
	columns []column
	rows    [][]string
}

type column struct {
	title string
	// number is aligned on the right and keeps its width.
	number bool
	// optional columns are left out when words would become illegible.
	optional bool
}

func newTable(columns ...column) *grid { return &grid{columns: columns} }

func (t *grid) row(cells ...string) { t.rows = append(t.rows, cells) }

const (
	gap = 2
	// legible is the least width of a column of words as long as something else
	// can give way, least the one below which nothing gives way.
	legible, least = 24, 12
)

// fit leaves columns out and returns the widths of the others.
func (t *grid) fit(width int) []int {
	for i := len(t.columns) - 1; i >= 0; i-- {
		if !slices.ContainsFunc(t.rows, func(r []string) bool { return r[i] != "" && r[i] != nothing }) {
			t.drop(i)
		}
	}
	widths := t.widths()
	for floor := legible; total(widths) > width; {
		if widest := t.widest(widths, floor); widest >= 0 {
			widths[widest]--
			continue
		}
		if i := slices.IndexFunc(t.columns, func(c column) bool { return c.optional }); i >= 0 {
			t.drop(i)
			widths = t.widths()
			continue
		}
		if floor == least {
			break
		}
		floor = least
	}
	return widths
}

// widest is the widest column of words that is wider than floor, or -1.
func (t *grid) widest(widths []int, floor int) int {
	widest := -1
	for i, w := range widths {
		if !t.columns[i].number && w > floor && (widest < 0 || w > widths[widest]) {
			widest = i
		}
	}
	return widest
}

func (t *grid) drop(i int) {
	t.columns = slices.Delete(slices.Clone(t.columns), i, i+1)
	for n := range t.rows {
		t.rows[n] = slices.Delete(t.rows[n], i, i+1)
	}
}

func (t *grid) print(p *printer, indent int) {
	if len(t.rows) == 0 {
		return
	}
	widths := t.fit(p.tableWidth - indent)
	w := table.NewWriter()
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft, style.Box.PaddingRight = "", strings.Repeat(" ", gap)
	style.Format.Header = text.FormatDefault
	w.SetStyle(style)
	var configs []table.ColumnConfig
	header := make([]string, len(t.columns))
	for i, width := range widths {
		c := table.ColumnConfig{Number: i + 1, WidthMax: width, WidthMaxEnforcer: folded}
		if t.columns[i].number {
			c.Align, c.AlignHeader = text.AlignRight, text.AlignRight
		}
		configs, header[i] = append(configs, c), t.columns[i].title
	}
	w.SetColumnConfigs(configs)
	if strings.Join(header, "") != "" {
		w.AppendHeader(cells(header))
	}
	for _, r := range t.rows {
		w.AppendRow(cells(r))
	}
	for line := range strings.SplitSeq(w.Render(), "\n") {
		p.line("%s%s", strings.Repeat(" ", indent), strings.TrimRight(line, " "))
	}
}

// widths are the natural widths of the columns.
func (t *grid) widths() []int {
	widths := make([]int, len(t.columns))
	for i, c := range t.columns {
		widths[i] = text.StringWidthWithoutEscSequences(c.title)
		for _, r := range t.rows {
			widths[i] = max(widths[i], text.StringWidthWithoutEscSequences(r[i]))
		}
	}
	return widths
}

func total(widths []int) int {
	sum := 0
	for _, w := range widths {
		sum += w + gap
	}
	return sum - gap
}

func cells(row []string) table.Row {
	out := make(table.Row, len(row))
	for i, c := range row {
		out[i] = c
	}
	return out
}
