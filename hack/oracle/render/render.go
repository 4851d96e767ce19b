// Package render builds with the tools themselves: kustomize's krusty, and
// Flux's generator, build and substitution, put together as kustomize-controller
// does. It is what the census is held against, by hack/agreement and by `reach
// oracle`; the analyser has no part of it.
package render

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	generator "github.com/fluxcd/pkg/kustomize"
	ssautil "github.com/fluxcd/pkg/ssa/utils"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/openapi"
)

// Isolate keeps the oracles from reaching out: what they fetch goes to a proxy
// that is not there, and they find no git or helm to run. It returns the
// function that ends that.
func Isolate() (undo func()) {
	before := map[string]string{}
	set := func(k, v string) {
		before[k] = os.Getenv(k)
		os.Setenv(k, v)
	}
	set("PATH", "")
	for _, k := range []string{"http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"} {
		set(k, "http://127.0.0.1:9")
	}
	return func() {
		for k, v := range before {
			os.Setenv(k, v)
		}
	}
}

// Kustomize is `kustomize build --load-restrictor LoadRestrictionsNone` in a
// new process.
func Kustomize(dir string) (objects []any, err error) {
	defer Isolate()()
	defer func() {
		if r := recover(); r != nil {
			objects, err = nil, fmt.Errorf("panic: %v", r)
		}
	}()
	openapi.ResetOpenAPI()
	m, err := krusty.MakeKustomizer(&krusty.Options{
		LoadRestrictions: types.LoadRestrictionsNone, PluginConfig: types.DisabledPluginConfig(),
	}).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return nil, err
	}
	for _, r := range m.Resources() {
		j, err := r.MarshalJSON()
		if err != nil {
			return nil, err
		}
		o, err := Decode(j)
		if err != nil {
			return nil, err
		}
		objects = append(objects, o)
	}
	return objects, nil
}

// ErrRefused says that a Kustomization is none.
var ErrRefused = errors.New("the API server refuses the Kustomization")

// Flux is what kustomize-controller applies for a Kustomization (upstream:
// internal/controller/kustomization_controller.go, reconcile and build, without
// decryption), on an artifact that lies at root.
func Flux(object json.RawMessage, root, dir string, c client.Client, strict bool) (objects []any, err error) {
	var k kustomizev1.Kustomization
	if err := json.Unmarshal(object, &k); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&k)
	if err != nil {
		return nil, err
	}
	u := unstructured.Unstructured{Object: content}
	path := filepath.Join(root, filepath.FromSlash(dir))
	restore := keep(path)
	defer func() {
		if e := restore(); e != nil && err == nil {
			err = e
		}
	}()
	defer Isolate()()
	if _, err := generator.NewGenerator(root, u).WriteFile(path); err != nil {
		return nil, err
	}
	m, err := generator.SecureBuild(root, path, true)
	if err != nil {
		return nil, fmt.Errorf("kustomize build failed: %w", err)
	}
	for _, r := range m.Resources() {
		if r.GetName() == "" || r.GetKind() == "" || r.GetApiVersion() == "" {
			return nil, fmt.Errorf("failed to decode Kubernetes apiVersion, kind and name")
		}
		if k.Spec.PostBuild == nil {
			continue
		}
		out, err := generator.SubstituteVariables(context.Background(), c, u, r, generator.SubstituteWithStrict(strict),
			generator.SubstituteWithAlways(k.GetSubstituteStrategy() == kustomizev1.SubstituteStrategyAlways))
		if err != nil {
			return nil, fmt.Errorf("post build failed: %w", err)
		}
		if out != nil {
			if _, err := m.Replace(r); err != nil {
				return nil, fmt.Errorf("replacing: %w", err)
			}
		}
	}
	text, err := m.AsYaml()
	if err != nil {
		return nil, err
	}
	applied, err := ssautil.ReadObjects(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("reading back: %w", err)
	}
	if meta := k.Spec.CommonMetadata; meta != nil {
		ssautil.SetCommonMetadata(applied, meta.Labels, meta.Annotations)
	}
	for _, o := range applied {
		j, err := o.MarshalJSON()
		if err != nil {
			return nil, err
		}
		v, err := Decode(j)
		if err != nil {
			return nil, err
		}
		objects = append(objects, v)
	}
	return objects, nil
}

// Cluster is a client of one cluster that holds nothing but ConfigMaps and Secrets,
// by "Kind/namespace/name".
func Cluster(objects map[string]json.RawMessage) client.Client { return &held{objects: objects} }

// held are the ConfigMaps and Secrets of one cluster, by "Kind/namespace/name".
type held struct {
	client.Client
	objects map[string]json.RawMessage
}

// Get reads a ConfigMap or a Secret as the API server would return it.
func (h *held) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	kind := strings.TrimPrefix(fmt.Sprintf("%T", into), "*v1.")
	j, ok := h.objects[kind+"/"+key.Namespace+"/"+key.Name]
	if !ok {
		return apierrors.NewNotFound(schema.GroupResource{Resource: strings.ToLower(kind) + "s"}, key.Name)
	}
	if err := json.Unmarshal(j, into); err != nil {
		return err
	}
	if s, ok := into.(*corev1.Secret); ok {
		for k, v := range s.StringData {
			if s.Data == nil {
				s.Data = map[string][]byte{}
			}
			s.Data[k] = []byte(v)
		}
	}
	return nil
}

// Decode reads JSON with its numbers as they are written.
func Decode(j []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(j))
	d.UseNumber()
	var v any
	return v, d.Decode(&v)
}

// keep returns a function that puts the kustomization files of a directory
// back as they are now: Flux's generator rewrites them in place.
func keep(dir string) func() error {
	before := map[string][]byte{}
	for _, name := range KustomizationFiles {
		if content, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
			before[name] = content
		}
	}
	return func() error {
		for _, name := range KustomizationFiles {
			p := filepath.Join(dir, name)
			i, err := os.Lstat(p)
			content, had := before[name]
			switch {
			case had:
				if err := os.WriteFile(p, content, 0o644); err != nil {
					return err
				}
			case err == nil && i.Mode().IsRegular():
				if err := os.Remove(p); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

// KustomizationFiles are the names of kustomization files.
var KustomizationFiles = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}
