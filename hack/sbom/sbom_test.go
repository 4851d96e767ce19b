package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// The list holds every module of the binary, in the shape of the schema, and
// is the same each time.
func TestRead(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "firewall")
	if out, err := exec.Command("go", "build", "-o", binary, "../../firewall").CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, out)
	}
	first, err := read(binary)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := read(binary); err != nil || !bytes.Equal(first, again) {
		t.Errorf("another list the second time, error %v", err)
	}
	var list bom
	d := json.NewDecoder(bytes.NewReader(first))
	d.DisallowUnknownFields()
	if err := d.Decode(&list); err != nil {
		t.Fatal(err)
	}
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	if len(info.Deps) == 0 || len(list.Components) != len(info.Deps)+1 || len(list.Dependencies[0].DependsOn) != len(list.Components) {
		t.Errorf("%d components for %d modules and the standard library", len(list.Components), len(info.Deps))
	}
	if !regexp.MustCompile(`^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(list.Serial) {
		t.Errorf("serial number %s", list.Serial)
	}
	seen := map[string]bool{}
	purl := regexp.MustCompile(`^pkg:golang/[^@\s]+@[^@\s+]+$`)
	for _, c := range list.Components {
		if !purl.MatchString(c.PURL) || seen[c.Ref] || c.Name != "std" && len(c.Properties) == 0 && c.Pedigree == nil {
			t.Errorf("component %+v", c)
		}
		seen[c.Ref] = true
	}
}

func TestUnreadable(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if list, err := read(text); err == nil {
		t.Errorf("%s", list)
	}
}
