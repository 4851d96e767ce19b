package finding

import "testing"

// TestWorking: who waits hears of every rule before it runs.
func TestWorking(t *testing.T) {
	told, ran := 0, 0
	rule := &Rule{Name: "reach.test", Run: func(*Model) []Finding {
		if ran++; told != ran {
			t.Errorf("rule %d runs after %d words", ran, told)
		}
		return nil
	}}
	if Run(&Model{Working: func() { told++ }}, []*Rule{rule, rule}); ran != 2 {
		t.Errorf("%d rules ran, want 2", ran)
	}
}
