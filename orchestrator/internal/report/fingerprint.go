package report

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// Fingerprints names the findings of one census. The zero value is ready; it is
// not safe for concurrent use.
type Fingerprints struct{ seen map[string]int }

// Of is the fingerprint of what a finding is about, 32 hexadecimal digits. It
// holds neither the line, which moves, nor the message, whose words may change;
// the n-th finding that is about the same thing is told apart by n, so the
// findings of a census are to be asked for in its order, hidden ones included.
func (p *Fingerprints) Of(f *Finding) string {
	if p.seen == nil {
		p.seen = map[string]int{}
	}
	key := fmt.Sprintf("%q", []string{f.Rule, f.Path, f.Cluster, f.Kind, f.Namespace, f.Name, f.Var})
	n := p.seen[key]
	p.seen[key]++
	if n > 0 {
		key += fmt.Sprintf(" %d", n)
	}
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:16])
}

// CompareFindings orders findings as a census does: the worst first, then by
// rule, place, cluster and object.
func CompareFindings(a, b *Finding) int {
	return cmp.Or(
		cmp.Compare(SeverityRank(b.Severity), SeverityRank(a.Severity)), strings.Compare(a.Rule, b.Rule),
		strings.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line),
		strings.Compare(a.Cluster, b.Cluster), strings.Compare(a.Kind, b.Kind),
		strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name), strings.Compare(a.Var, b.Var),
	)
}
