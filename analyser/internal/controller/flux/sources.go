package flux

import (
	"regexp"
	"strings"
	"sync"

	"github.com/gitops-reach/reach/analyser/internal/controller"
)

var (
	gitURL  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(http|https|ssh)://.*$`) })
	ociURL  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^oci://.*$`) })
	helmURL = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(http|https|oci)://.*$`) })
)

func newSource(r *reader) controller.Source {
	return controller.Source{Engine: Name, Object: r.obj.Ref, Pos: r.obj.Origin}
}

func finish(r *reader, s controller.Source, d *controller.Declared) {
	s.Problem = r.problem()
	d.Sources = append(d.Sources, s)
}

// readGitRepository reads a GitRepository (upstream: source-controller/api v1,
// v1beta2, v1beta1).
func readGitRepository(r *reader, d *controller.Declared) {
	spec := r.spec().required()
	s := newSource(r)
	spec.get("interval").required().duration()
	s.URL = spec.get("url").required().matching(gitURL, "an http://, https:// or ssh:// URL")
	s.Ref = gitRef(spec.get("ref"))
	s.Suspend = spec.get("suspend").boolean()
	s.RecurseSubmodules = spec.get("recurseSubmodules").boolean()
	s.SparseCheckout = spec.get("sparseCheckout").texts()
	readIgnore(spec, &s)
	for _, e := range spec.get("include").list() {
		in := controller.Include{
			Source: controller.SourceRef{
				Kind: "GitRepository", Namespace: r.obj.Ref.Namespace,
				Name: e.get("repository").required().get("name").required().text(),
			},
			FromPath: e.get("fromPath").text(),
			ToPath:   e.get("toPath").text(),
			Pos:      e.pos(),
		}
		in.ToPath = or(in.ToPath, in.Source.Name)
		s.Includes = append(s.Includes, in)
	}
	finish(r, s, d)
}

// gitRef applies the precedence of the clone: commit, name, tag, semver,
// branch, and the branch "master" when nothing is set. (The comments of the API
// put semver before tag; fluxcd/pkg/git/gogit Client.Clone does not.)
func gitRef(f field) string {
	for _, k := range []string{"commit", "name", "tag", "semver", "branch"} {
		if v := f.get(k).text(); v != "" {
			return k + ":" + v
		}
	}
	return "branch:master"
}

// readIgnore reads spec.ignore.
func readIgnore(spec field, s *controller.Source) {
	f := spec.get("ignore")
	if !f.set() {
		return
	}
	s.Ignore, s.IgnoreSet = f.text(), true
	s.IgnorePos = scalarStart(f.node)
}

// readOCIRepository reads an OCIRepository: digest wins over semver over tag,
// the tag "latest" is the default.
func readOCIRepository(r *reader, d *controller.Declared) {
	spec := r.spec().required()
	s := newSource(r)
	spec.get("interval").required().duration()
	s.URL = spec.get("url").required().matching(ociURL, "an oci:// URL")
	s.Ref = "tag:latest"
	for _, k := range []string{"digest", "semver", "tag"} {
		if v := spec.get("ref").get(k).text(); v != "" {
			s.Ref = k + ":" + v
			break
		}
	}
	s.Suspend = spec.get("suspend").boolean()
	s.LayerCopy = spec.get("layerSelector").get("operation").oneOf("extract", "copy") == "copy"
	readIgnore(spec, &s)
	finish(r, s, d)
}

// readBucket reads a Bucket. Its URL is the endpoint, its Ref the bucket.
func readBucket(r *reader, d *controller.Declared) {
	spec := r.spec().required()
	s := newSource(r)
	spec.get("interval").required().duration()
	s.URL = spec.get("endpoint").required().text()
	s.Ref = "bucket:" + spec.get("bucketName").required().text()
	s.Prefix = spec.get("prefix").text()
	s.Suspend = spec.get("suspend").boolean()
	readIgnore(spec, &s)
	finish(r, s, d)
}

func readHelmRepository(r *reader, d *controller.Declared) {
	spec := r.spec().required()
	s := newSource(r)
	spec.get("interval").duration()
	s.URL = spec.get("url").required().matching(helmURL, "an http://, https:// or oci:// URL")
	s.Suspend = spec.get("suspend").boolean()
	finish(r, s, d)
}

func readHelmChart(r *reader, d *controller.Declared) {
	spec := r.spec().required()
	s := newSource(r)
	spec.get("interval").required().duration()
	s.Suspend = spec.get("suspend").boolean()
	s.Chart = chartTemplate(spec, r.obj.Ref.Namespace)
	// The reference of a HelmChart has no namespace: it is always local.
	s.Chart.Source.Namespace = r.obj.Ref.Namespace
	finish(r, s, d)
}

// readExternalArtifact reads an ExternalArtifact. What is in the artifact is
// told by the ArtifactGenerator that owns it, if any does.
func readExternalArtifact(r *reader, d *controller.Declared) {
	s := newSource(r)
	if ref := r.spec().get("sourceRef"); ref.set() {
		ref.get("kind").required().text()
		ref.get("name").required().text()
	}
	finish(r, s, d)
}

var (
	copyFrom = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^@([a-z0-9]([a-z0-9_-]*[a-z0-9])?)/(.*)$`) })
	copyTo   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^@(artifact)/(.*)$`) })
)

// readArtifactGenerator reads an ArtifactGenerator (upstream: source-watcher/api
// v2, source.extensions.fluxcd.io/v1beta1).
func readArtifactGenerator(r *reader, d *controller.Declared) {
	spec := r.spec().required()
	ns := r.obj.Ref.Namespace
	s := newSource(r)
	s.Suspend = strings.EqualFold(r.annotation(groupExtensions+"/reconcile"), "disabled")
	g := &controller.ArtifactGenerator{
		Sources:     map[string]controller.SourceRef{},
		PathPattern: spec.get("pathPattern").matching(copyFrom, `of the form "@alias/pattern"`),
	}
	for _, e := range spec.get("sources").required().list() {
		alias := e.get("alias").required()
		if _, ok := g.Sources[alias.text()]; ok {
			r.stall("invalid_spec", alias.pos(), "%s is the alias of two sources", alias.name())
		}
		g.Sources[alias.text()] = readSourceRef(e, ns, "Bucket", "GitRepository", "OCIRepository", "HelmChart", "ExternalArtifact")
	}
	names := map[string]bool{}
	for _, e := range spec.get("artifacts").required().list() {
		name := e.get("name").required()
		a := controller.GeneratedArtifact{Name: name.text(), Namespace: e.get("namespace").text(), Pos: e.pos()}
		if key := a.Namespace + "/" + a.Name; names[key] {
			r.stall("invalid_spec", name.pos(), "%s is the name of two artifacts", name.name())
		} else {
			names[key] = true
		}
		for _, c := range e.get("copy").required().list() {
			a.Copy = append(a.Copy, controller.Copy{
				From:     c.get("from").required().matching(copyFrom, `of the form "@alias/pattern"`),
				To:       c.get("to").required().matching(copyTo, `of the form "@artifact/path"`),
				Exclude:  c.get("exclude").texts(),
				Strategy: c.get("strategy").oneOf("Overwrite", "Merge", "Extract"),
				Optional: c.get("optional").boolean(),
				Pos:      c.pos(),
			})
		}
		g.Artifacts = append(g.Artifacts, a)
	}
	s.Generator = g
	finish(r, s, d)
}
