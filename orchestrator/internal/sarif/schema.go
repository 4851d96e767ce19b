package sarif

// The part of SARIF 2.1.0 that is written. Names are those of the standard.

type log struct {
	Schema  string `json:"$schema"`
	Version string `json:"version"`
	Runs    []run  `json:"runs"`
}

type run struct {
	Tool              tool           `json:"tool"`
	AutomationDetails *automation    `json:"automationDetails,omitempty"`
	ColumnKind        string         `json:"columnKind"`
	Results           []result       `json:"results"`
	Properties        map[string]any `json:"properties"`
}

type automation struct {
	ID string `json:"id"`
}

type tool struct {
	Driver driver `json:"driver"`
}

type driver struct {
	Name            string `json:"name"`
	Version         string `json:"version,omitempty"`
	SemanticVersion string `json:"semanticVersion,omitempty"`
	InformationURI  string `json:"informationUri"`
	Rules           []rule `json:"rules"`
}

type rule struct {
	ID                   string   `json:"id"`
	Name                 string   `json:"name"`
	ShortDescription     message  `json:"shortDescription"`
	FullDescription      message  `json:"fullDescription"`
	Help                 *message `json:"help,omitempty"`
	DefaultConfiguration struct {
		Level string `json:"level"`
	} `json:"defaultConfiguration"`
	Properties ruleProperties `json:"properties"`
}

type ruleProperties struct {
	Tags      []string `json:"tags"`
	Precision string   `json:"precision"`
	Problem   string   `json:"problem.severity"`
}

type message struct {
	Text     string `json:"text"`
	Markdown string `json:"markdown,omitempty"`
}

type result struct {
	RuleID              string            `json:"ruleId"`
	RuleIndex           int               `json:"ruleIndex"`
	Level               string            `json:"level"`
	Message             message           `json:"message"`
	Locations           []location        `json:"locations"`
	CodeFlows           []codeFlow        `json:"codeFlows,omitempty"`
	Related             []location        `json:"relatedLocations,omitempty"`
	Fingerprints        map[string]string `json:"fingerprints"`
	PartialFingerprints map[string]string `json:"partialFingerprints"`
	Suppressions        []suppression     `json:"suppressions,omitempty"`
	Properties          map[string]any    `json:"properties"`
}

type suppression struct {
	Kind          string `json:"kind"`
	Status        string `json:"status"`
	Justification string `json:"justification"`
}

type location struct {
	Physical *physical `json:"physicalLocation,omitempty"`
	Logical  []logical `json:"logicalLocations,omitempty"`
	Message  *message  `json:"message,omitempty"`
}

type physical struct {
	Artifact artifact `json:"artifactLocation"`
	Region   *region  `json:"region,omitempty"`
}

type artifact struct {
	URI    string `json:"uri"`
	BaseID string `json:"uriBaseId"`
}

type region struct {
	StartLine int `json:"startLine"`
}

type logical struct {
	Name           string `json:"name"`
	FullyQualified string `json:"fullyQualifiedName"`
	Kind           string `json:"kind"`
}

type codeFlow struct {
	ThreadFlows []threadFlow `json:"threadFlows"`
}

type threadFlow struct {
	Locations []step `json:"locations"`
}

type step struct {
	Location location `json:"location"`
}
