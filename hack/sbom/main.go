// Command sbom writes what a Go program was linked from, as a CycloneDX list:
//
//	go run ./hack/sbom bin/reach-analyser bin/reach
//
// writes bin/reach-analyser.cdx.json and bin/reach.cdx.json. The list is read
// from the binary itself (debug/buildinfo); the same binary gives the same
// bytes.
//
// Schema: CycloneDX 1.6, https://cyclonedx.org/docs/1.6/json/. Package URLs:
// https://github.com/package-url/purl-spec, type golang. Go's checksums of
// modules are of trees, no hash that CycloneDX knows, and are properties.
package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(binaries []string) error {
	for _, b := range binaries {
		list, err := read(b)
		if err != nil {
			return err
		}
		if err := os.WriteFile(b+".cdx.json", list, 0o644); err != nil {
			return err
		}
	}
	return nil
}

type bom struct {
	Schema       string       `json:"$schema"`
	Format       string       `json:"bomFormat"`
	Spec         string       `json:"specVersion"`
	Serial       string       `json:"serialNumber"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version,omitempty"`
	PURL       string     `json:"purl,omitempty"`
	Hashes     []hash     `json:"hashes,omitempty"`
	Pedigree   *pedigree  `json:"pedigree,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type pedigree struct {
	Notes string `json:"notes"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn"`
}

// read makes the list of one binary. All modules are written as what the
// program depends on: which of them needs which is not in a binary.
func read(binary string) ([]byte, error) {
	f, err := os.Open(binary)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return nil, err
	}
	info, err := buildinfo.Read(f)
	if err != nil {
		return nil, fmt.Errorf("reading how %s was built: %w", binary, err)
	}
	sum := h.Sum(nil)
	program := component{
		Type: "application", Ref: info.Path, Name: info.Path,
		Hashes: []hash{{"SHA-256", hex.EncodeToString(sum)}},
	}
	for _, s := range info.Settings {
		program.Properties = append(program.Properties, property{"go:build:" + s.Key, s.Value})
	}
	list := bom{
		Schema: "http://cyclonedx.org/schema/bom-1.6.schema.json", Format: "CycloneDX", Spec: "1.6", Version: 1,
		Serial: serial(sum), Metadata: metadata{program},
	}
	add := func(c component) {
		c.Type, c.Ref = "library", c.PURL
		list.Components = append(list.Components, c)
	}
	version := strings.TrimPrefix(strings.Fields(info.GoVersion)[0], "go")
	add(component{Name: "std", Version: version, PURL: "pkg:golang/std@" + version})
	for _, d := range info.Deps {
		c := component{Name: d.Path, Version: d.Version, PURL: "pkg:golang/" + d.Path + "@" + strings.ReplaceAll(d.Version, "+", "%2B")}
		sum := d.Sum
		if d.Replace != nil {
			sum = d.Replace.Sum
			c.Pedigree = &pedigree{"replaced by " + d.Replace.Path + " " + d.Replace.Version + ", an edited copy made by the build (hack/seal)"}
		}
		if sum != "" {
			c.Properties = []property{{"go:sum", sum}}
		}
		add(c)
	}
	depends := dependency{Ref: program.Ref, DependsOn: []string{}}
	for _, c := range list.Components {
		depends.DependsOn = append(depends.DependsOn, c.Ref)
	}
	list.Dependencies = []dependency{depends}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err = e.Encode(list)
	return out.Bytes(), err
}

// serial is a UUID (RFC 9562, version 8) of the digest of the binary.
func serial(sum []byte) string {
	u := bytes.Clone(sum[:16])
	u[6], u[8] = u[6]&0x0f|0x80, u[8]&0x3f|0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}
