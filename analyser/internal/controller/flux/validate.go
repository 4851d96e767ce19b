package flux

// checkKustomization checks the fields of a Kustomization that change nothing
// about what lands where: the API server refuses the object all the same when
// one of them is wrong (upstream: config/crd of kustomize-controller 1.9). A
// value that is not known is taken for right.
func checkKustomization(spec field) {
	for _, key := range []string{"name", "namespace"} {
		spec.r.root().get("metadata").get(key).detail()
	}
	for _, key := range []string{"retryInterval", "timeout"} {
		if f := spec.get(key); f.known() {
			f.duration()
		}
	}
	for _, key := range []string{"wait", "force"} {
		if f := spec.get(key); f.known() {
			f.boolean()
		}
	}
	if f := spec.get("deletionPolicy"); f.known() {
		f.oneOf("MirrorPrune", "Delete", "WaitForTermination", "Orphan")
	}
	for _, e := range spec.get("healthChecks").list() {
		e.get("apiVersion").detail()
		e.get("kind").required().detail()
		e.get("name").required().detail()
		e.get("namespace").detail()
	}
	for _, e := range spec.get("healthCheckExprs").list() {
		e.get("apiVersion").required().detail()
		e.get("current").required().detail()
		for _, key := range []string{"kind", "inProgress", "failed"} {
			e.get(key).detail()
		}
	}
	for _, e := range spec.get("dependsOn").list() {
		e.get("readyExpr").detail()
	}
	decryption := spec.get("decryption")
	decryption.get("serviceAccountName").detail()
	if secret := decryption.get("secretRef"); secret.set() {
		secret.get("name").required().detail()
	}
	spec.get("sourceRef").get("apiVersion").detail()
	for _, e := range spec.get("ignore").list() {
		for _, p := range e.get("paths").required().list() {
			p.detail()
		}
		readSelector(e.get("target"))
	}
}

// buildMetadata are the entries of spec.buildMetadata.
func buildMetadata(f field) []string {
	var out []string
	for _, e := range f.list() {
		out = append(out, e.oneOf("originAnnotations", "transformerAnnotations"))
	}
	return out
}
