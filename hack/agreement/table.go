package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// table is the result: one line for each repository and oracle.
type table struct {
	details int
	lines   []line
}

type line struct {
	subject, oracle string
	*tally
	took time.Duration
}

func newTable(details int) *table { return &table{details: details} }

func (t *table) add(subject, oracle string, sum *tally, took time.Duration) {
	t.lines = append(t.lines, line{subject, oracle, sum, took})
}

func (t *table) bad() bool {
	for _, l := range t.lines {
		if l.bad() {
			return true
		}
	}
	return false
}

const columns = "agree\twe miss\twe add\tidentity\tspec\torder\tboth fail\tother cause\tonly oracle fails\tonly we fail\texternal\tunresolved"

func (l line) row() string {
	return fmt.Sprintf("%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d", l.agree, l.miss, l.tally.add, l.identity, l.spec, l.order,
		l.bothFail-l.otherCause, l.otherCause, l.oracleFails, l.weFail, l.external, l.undecidable)
}

func (t *table) print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "repository\toracle\tbuilds\t%s\ttime\t\n", columns)
	sums := map[string]*line{}
	for _, l := range t.lines {
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%v\t\n", l.subject, l.oracle, l.targets, l.row(), l.took.Round(10*time.Millisecond))
		s := sums[l.oracle]
		if s == nil {
			s = &line{subject: "all", oracle: l.oracle, tally: newTally()}
			sums[l.oracle] = s
		}
		s.plus(l.tally)
		s.took += l.took
	}
	for _, k := range sorted(sums) {
		l := sums[k]
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%v\t\n", l.subject, l.oracle, l.targets, l.row(), l.took.Round(10*time.Millisecond))
	}
	w.Flush()
	for _, l := range t.lines {
		if len(l.reasons) > 0 {
			fmt.Fprintf(out, "\n%s, %s: not compared or in part\n", l.subject, l.oracle)
			for _, r := range sorted(l.reasons) {
				fmt.Fprintf(out, "  %4d %s\n", l.reasons[r], r)
			}
		}
	}
	for _, l := range t.lines {
		if len(l.differences) == 0 {
			continue
		}
		fmt.Fprintf(out, "\n%s, %s: differences\n", l.subject, l.oracle)
		for i, d := range l.differences {
			if i == t.details {
				fmt.Fprintf(out, "  and %d more\n", len(l.differences)-i)
				break
			}
			fmt.Fprintf(out, "  %s\n", strings.ReplaceAll(d, "\n", "\n  "))
		}
	}
}

func (t *tally) plus(o *tally) {
	t.targets += o.targets
	t.agree += o.agree
	t.miss += o.miss
	t.add += o.add
	t.identity += o.identity
	t.spec += o.spec
	t.order += o.order
	t.bothFail += o.bothFail
	t.otherCause += o.otherCause
	t.oracleFails += o.oracleFails
	t.weFail += o.weFail
	t.external += o.external
	t.undecidable += o.undecidable
	for k, n := range o.reasons {
		t.reasons[k] += n
	}
	t.differences = append(t.differences, o.differences...)
}
