package sarif

import "encoding/json"

// Known is a result of an earlier log.
type Known struct{ Fingerprint, Severity string }

// Read reads what an earlier census wrote, but for results that it suppressed.
// ok is false when data is no SARIF log of reach at all.
func Read(data []byte) (commit, names string, results []Known, ok bool) {
	var log struct {
		Runs []struct {
			Tool       struct{ Driver struct{ Name string } }
			Properties struct{ Commit, Names string }
			Results    []struct {
				Fingerprints map[string]string
				Properties   struct{ Severity string }
				Suppressions []json.RawMessage
			}
		}
	}
	if json.Unmarshal(data, &log) != nil || len(log.Runs) != 1 || log.Runs[0].Tool.Driver.Name != "reach" {
		return "", "", nil, false
	}
	run := &log.Runs[0]
	for _, r := range run.Results {
		if len(r.Suppressions) == 0 {
			results = append(results, Known{r.Fingerprints[fingerprint], r.Properties.Severity})
		}
	}
	return run.Properties.Commit, run.Properties.Names, results, true
}
