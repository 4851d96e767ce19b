package finding

// badYAML finds manifests that are not YAML.
var badYAML = &Rule{
	Name:     "reach.document.bad_yaml",
	Doc:      "A file with a manifest's name cannot be read as YAML, so nothing is known of what it holds.",
	Severity: Warning,
	Run: func(m *Model) []Finding {
		var out []Finding
		for _, u := range m.Unparsed {
			out = append(out, Finding{
				At:      u.At,
				Message: "The file cannot be read as YAML (" + u.Code + "): " + u.Message + ".",
				Remedy:  "Mend the file, or move it out of the directories that a Kustomization reads.",
			})
		}
		return out
	},
}
