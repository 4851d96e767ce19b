package report

import (
	"fmt"
	"slices"
	"testing"
)

// TestDefectsInOrder: what differs is told before what could not be compared,
// however much of that there is.
func TestDefectsInOrder(t *testing.T) {
	var d Digest
	if err := d.Begin(&Header{}); err != nil {
		t.Fatal(err)
	}
	rows := []*OracleRow{}
	for i := range 2 * keptTroubled {
		rows = append(rows, &OracleRow{Name: fmt.Sprint(i), Result: "theirs_failed"})
	}
	for _, result := range []string{"agree", "only_ours", "only_theirs", "differ", "differ"} {
		rows = append(rows, &OracleRow{Name: "last", Result: result})
	}
	for _, r := range rows {
		if err := d.Oracle(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.End(&Census{}); err != nil {
		t.Fatal(err)
	}
	if len(d.Defects) != keptTroubled {
		t.Errorf("%d rows are kept", len(d.Defects))
	}
	var got []string
	for _, r := range d.Defects[:6] {
		got = append(got, r.Result)
	}
	if want := []string{"differ", "differ", "only_theirs", "only_ours", "theirs_failed", "theirs_failed"}; !slices.Equal(got, want) {
		t.Errorf("the first rows are %v", got)
	}
}
