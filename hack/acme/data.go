package main

import (
	"embed"
	"fmt"
	"slices"

	"sigs.k8s.io/yaml"
)

// The elements of the data sets, which stand in data/*.yaml.
//
//go:embed data/*.yaml
var dataFiles embed.FS

// data is what "each: NAME" in a source archive iterates over.
var data = map[string][]any{
	"installs":  load[install]("installs"),
	"operators": load[operator]("operators"),
	"addons":    load[addon]("addons"),
	"tenants":   load[tenant]("tenants"),
	"apps":      load[app]("apps"),
}

// install is Flux on one cluster.
type install struct {
	Dir, Flux   string
	CRDs        []crd
	Controllers []fluxController
}

type crd struct {
	Component, Group, Version, Kind, Plural, Singular, Short string
}

type fluxController struct {
	Name, Version string
	Service       bool
}

// operator is what OLM needs to install one.
type operator struct {
	Name, Namespace, Package, Channel, Approval, Catalog, StartingCSV string
	Privileged, AllNamespaces                                         bool
}

// addon is a chart that a hub installs into spokes.
type addon struct {
	Name, Repository, URL, Chart, Version, Target string
	OCI, Namespaced                               bool
	Values                                        string
	ValuesFile                                    string
}

// tenant is a team's namespace. AllowFrom are namespaces that may talk to it.
type tenant struct {
	Name, CostCenter, Owner, PodSecurity, Role string
	Deployer                                   bool
	CPU, Memory, MemoryLimit, Volumes, GPUs    string
	Limits                                     string
	AllowFrom                                  []string
}

// app is an application. Parts are the optional files of its base: sa, svc,
// np, hpa, pdb, sm, es; wi marks its service account for workload identity.
type app struct {
	Name, Team, PartOf, Workload, Container, Image string
	Parts                                          []string
	Replicas, MaxReplicas, Port, ServicePort       int
	PortName, Probe, MetricsPath                   string
	CPU, Memory, Schedule, Storage, Volume         string
	Command, SecretStore                           string
	Callers                                        []string
	Env                                            []variable
	Config                                         *config
}

// Has reports whether the application has a part.
func (a app) Has(part string) bool { return slices.Contains(a.Parts, part) }

// variable of the environment; with Secret, Value is the key in that Secret.
type variable struct {
	Name, Value, Secret string
}

// config is a file that the base turns into a ConfigMap.
type config struct {
	Key, File, Mount, Content string
}

func load[T any](name string) []any {
	file := "data/" + name + ".yaml"
	text, err := dataFiles.ReadFile(file)
	if err != nil {
		panic(err) // it is embedded
	}
	var elements []T
	if err := yaml.UnmarshalStrict(text, &elements); err != nil {
		panic(fmt.Sprintf("%s: %v", file, err))
	}
	result := make([]any, len(elements))
	for i, e := range elements {
		result[i] = e
	}
	return result
}
