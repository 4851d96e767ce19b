package programs

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// A source of definitions (CustomResourceDefinitions): files of a module as it
// is published, or what controller-gen derives from the Go types of a package.
type source struct {
	in     string // nested module below hack/live that pins it
	module string
	files  string // a pattern below the module's folder; or
	types  string // packages, for controller-gen
	to     string // folder below crds
}

// definitionsFrom: what OpenShift serves is taken whole but for the variants of
// a definition that belong to a feature set; HelmRelease and the kinds of the
// notification controller are published as Go types only.
var definitionsFrom = []source{
	{in: "servers", module: "github.com/fluxcd/source-controller", files: "config/crd/bases/*.yaml", to: "flux"},
	{in: "servers", module: "github.com/fluxcd/kustomize-controller", files: "config/crd/bases/*.yaml", to: "flux"},
	{in: "crds", module: "github.com/fluxcd/helm-controller/api", types: "github.com/fluxcd/helm-controller/api/v2", to: "flux"},
	{in: "crds", module: "github.com/fluxcd/notification-controller/api", types: "github.com/fluxcd/notification-controller/api/...", to: "flux"},
	{in: "crds", module: "github.com/openshift/api", files: "config/v1/zz_generated.crd-manifests/*.yaml", to: "openshift"},
	{in: "crds", module: "github.com/openshift/api", files: "console/v1/zz_generated.crd-manifests/*.yaml", to: "openshift"},
	{in: "crds", module: "github.com/openshift/api", files: "machine/v1beta1/zz_generated.crd-manifests/*.yaml", to: "openshift"},
	{in: "crds", module: "github.com/openshift/api", files: "machineconfiguration/v1/zz_generated.crd-manifests/*.yaml", to: "openshift"},
	{in: "crds", module: "github.com/openshift/api", files: "operator/v1/zz_generated.crd-manifests/*.yaml", to: "openshift"},
	{in: "crds", module: "github.com/openshift/api", files: "route/v1/zz_generated.crd-manifests/*.yaml", to: "openshift"},
	{in: "crds", module: "github.com/openshift/api", files: "security/v1/zz_generated.crd-manifests/*.yaml", to: "openshift"},
	{in: "crds", module: "github.com/operator-framework/api", files: "crds/*.yaml", to: "olm"},
}

// define writes the definitions to the folder crds below dir.
func (s set) define(live, dir string, log io.Writer) error {
	for _, s := range s.definitions {
		to := filepath.Join(dir, "crds", s.to)
		if err := os.MkdirAll(to, 0o755); err != nil {
			return err
		}
		from := filepath.Join(live, s.in)
		if s.types != "" {
			// The folder is given with its package: of another pattern
			// controller-gen makes a definition without the embedded types.
			if _, err := run(from, log, "tool", "controller-gen", "crd:crdVersions=v1", "paths="+s.types, "output:crd:dir="+to); err != nil {
				return fmt.Errorf("generating definitions of %s: %w", s.module, err)
			}
			continue
		}
		if _, err := run(from, log, "mod", "download", s.module); err != nil {
			return err
		}
		module, err := run(from, log, "list", "-m", "-f", "{{.Dir}}", s.module)
		if err != nil {
			return err
		}
		if err := copyDefinitions(filepath.Join(strings.TrimSpace(module), filepath.FromSlash(s.files)), to); err != nil {
			return fmt.Errorf("definitions of %s: %w", s.module, err)
		}
	}
	return nil
}

// copyDefinitions copies the definitions that match the pattern; none is an
// error.
func copyDefinitions(pattern, to string) error {
	files, err := filepath.Glob(pattern)
	if err != nil {
		return err
	}
	copied := 0
	for _, file := range files {
		name := filepath.Base(file)
		if variant(name) {
			continue
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if !bytes.Contains(content, []byte("kind: CustomResourceDefinition")) {
			continue
		}
		if err := os.WriteFile(filepath.Join(to, name), content, 0o644); err != nil {
			return err
		}
		copied++
	}
	if copied == 0 {
		return fmt.Errorf("no definition in %s", pattern)
	}
	return nil
}

// variant reports whether a file of OpenShift is a definition's form under a
// feature set that is not the default, or on another kind of control plane.
func variant(name string) bool {
	for _, set := range []string{"CustomNoUpgrade", "DevPreviewNoUpgrade", "TechPreviewNoUpgrade", "-OKD.", "-Hypershift"} {
		if strings.Contains(name, set) {
			return true
		}
	}
	return false
}
