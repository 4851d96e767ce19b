package summary

import (
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// grid is a table without lines whose first columns give way when the terminal
// is narrow.
type grid struct {
	header []string
	rows   [][]string
	right  map[int]bool
}

func newTable(header ...string) *grid { return &grid{header: header, right: map[int]bool{}} }

func (t *grid) row(cells ...string) { t.rows = append(t.rows, cells) }

// numbers sets the columns, from 0, that are aligned on the right.
func (t *grid) numbers(columns ...int) {
	for _, c := range columns {
		t.right[c] = true
	}
}

func (t *grid) print(p *printer, indent int) {
	if len(t.rows) == 0 {
		return
	}
	const gap = 2
	widths := t.widths()
	// The widest column of words gives way first, down to a legible rest.
	for total(widths, gap) > p.Width-indent {
		widest := -1
		for i, w := range widths {
			if !t.right[i] && w > 12 && (widest < 0 || w > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
	}
	w := table.NewWriter()
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft, style.Box.PaddingRight = "", strings.Repeat(" ", gap)
	style.Format.Header = text.FormatDefault
	w.SetStyle(style)
	var configs []table.ColumnConfig
	for i, width := range widths {
		c := table.ColumnConfig{Number: i + 1, WidthMax: width, WidthMaxEnforcer: middle}
		if t.right[i] {
			c.Align, c.AlignHeader = text.AlignRight, text.AlignRight
		}
		configs = append(configs, c)
	}
	w.SetColumnConfigs(configs)
	if strings.Join(t.header, "") != "" {
		w.AppendHeader(cells(t.header))
	}
	for _, r := range t.rows {
		w.AppendRow(cells(r))
	}
	for line := range strings.SplitSeq(w.Render(), "\n") {
		p.line("%s%s", strings.Repeat(" ", indent), strings.TrimRight(line, " "))
	}
}

// widths are the natural widths of the columns; an empty column has none.
func (t *grid) widths() []int {
	widths := make([]int, len(t.header))
	for _, r := range append([][]string{t.header}, t.rows...) {
		for i, cell := range r {
			widths[i] = max(widths[i], text.StringWidthWithoutEscSequences(cell))
		}
	}
	return widths
}

func total(widths []int, gap int) int {
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
