package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gitops-reach/reach/hack/dump"
	"github.com/gitops-reach/reach/hack/oracle/render"
)

// state are the ConfigMaps and Secrets of a cluster, by "Kind/namespace/name",
// as the analyser's builds say. They are compared like all objects, so that an
// error in one shows where it is built.
type state map[string]json.RawMessage

// states are those of all clusters.
type states map[string]state

// key tells apart what goes into the build of a Sync beside its source; object is the
// Kustomization to build.
func (c states) key(reply *dump.Reply, s *dump.Sync) (key string, object json.RawMessage) {
	object = c[s.Cluster].certain(s.Object, s, &reply.Builds[s.Build])
	return digest(s.Directory, string(object), c[s.Cluster].text(object, s.Namespace), fmt.Sprint(reply.Strict[s.Cluster])), object
}

func configs(reply *dump.Reply) states {
	out := states{}
	for _, s := range reply.Syncs {
		for _, c := range []string{s.Cluster, s.Target} {
			if out[c] == nil {
				out[c] = state{}
			}
		}
		if s.Build < 0 || s.Blocked {
			continue
		}
		for _, o := range append(reply.Builds[s.Build].Objects, s.Made...) {
			if o.Group != "" || o.Kind != "ConfigMap" && o.Kind != "Secret" || o.UnknownName {
				continue
			}
			key := o.Kind + "/" + o.Namespace + "/" + o.Name
			if _, ok := out[s.Target][key]; !ok {
				out[s.Target][key] = o.Content
			}
		}
	}
	return out
}

func (s state) client() client.Client { return render.Cluster(s) }

// text is what a Kustomization reads for substitution.
func (s state) text(object json.RawMessage, namespace string) string {
	var out strings.Builder
	for _, r := range spec(object).PostBuild.SubstituteFrom {
		out.WriteString(r.Kind + "/" + r.Name + string(s[r.Kind+"/"+namespace+"/"+r.Name]))
	}
	return out.String()
}

// lacks reports a source of variables that does not land on the cluster.
func (s state) lacks(object json.RawMessage, namespace string) bool {
	return slices.ContainsFunc(spec(object).PostBuild.SubstituteFrom, func(r variableSource) bool {
		_, ok := s[r.Kind+"/"+namespace+"/"+r.Name]
		return !ok
	})
}

type variableSource struct {
	Kind, Name string
	Optional   bool
}

type kustomizationSpec struct {
	PostBuild struct {
		Substitute     map[string]string
		SubstituteFrom []variableSource
	}
}

func spec(object json.RawMessage) kustomizationSpec {
	var k struct{ Spec kustomizationSpec }
	_ = json.Unmarshal(object, &k)
	return k.Spec
}

// certain replaces the sources of variables of a Kustomization when one of
// them is not in the repository or encrypted: by the variables that are known,
// and, for the ones that the analyser says it does not know, by the text that
// it keeps in their place. So the rest of the build is still compared.
func (s state) certain(object json.RawMessage, sync *dump.Sync, build *dump.Build) json.RawMessage {
	p := spec(object).PostBuild
	values, complete := map[string]string{}, true
	for _, r := range p.SubstituteFrom {
		j, ok := s[r.Kind+"/"+sync.Namespace+"/"+r.Name]
		if !ok {
			complete = false
			continue
		}
		v, whole := variables(r.Kind, j)
		maps.Copy(values, v)
		complete = complete && whole
	}
	if complete && len(build.Unknown) == 0 {
		return object
	}
	for _, name := range build.Unknown {
		values[name] = "${" + name + "}"
	}
	maps.Copy(values, p.Substitute)
	var k map[string]any
	if json.Unmarshal(object, &k) != nil {
		return object
	}
	sp, _ := k["spec"].(map[string]any)
	pb, ok := sp["postBuild"].(map[string]any)
	if !ok {
		return object
	}
	delete(pb, "substituteFrom")
	pb["substitute"] = values
	out, err := json.Marshal(k)
	if err != nil {
		return object
	}
	return out
}

// variables are the values of a ConfigMap or Secret; not whole when one is
// encrypted or no string.
func variables(kind string, object json.RawMessage) (values map[string]string, whole bool) {
	var o struct{ Data, StringData map[string]any }
	if json.Unmarshal(object, &o) != nil {
		return nil, false
	}
	values, whole = map[string]string{}, true
	add := func(k string, v any, encoded bool) {
		text, ok := v.(string)
		ok = ok && !strings.HasPrefix(text, "ENC[")
		if ok && encoded {
			b, err := base64.StdEncoding.DecodeString(text)
			text, ok = string(b), err == nil
		}
		if !ok {
			whole = false
			return
		}
		values[k] = text
	}
	for k, v := range o.Data {
		add(k, v, kind == "Secret")
	}
	if kind == "Secret" {
		for k, v := range o.StringData {
			add(k, v, false)
		}
	}
	return values, whole
}
