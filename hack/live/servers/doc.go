// Package servers pins what the live clusters are made of: Kubernetes' API
// server and kubectl, Flux's source-controller and kustomize-controller. It is
// a module of its own, which nothing imports, because these need other and
// very many dependencies; hack/live builds them. helm-controller is not among
// them: no version of it that Go 1.26 builds was to be had as a module.
//
// go mod tidy does not work here (a test of Flux needs a module that is not to
// be had). To move to other versions: all k8s.io modules to the one of
// k8s.io/kubernetes by the replacements, and the first five replacements as in
// Flux's own go.mod, which a module that requires it has to repeat; then
// go get -tool the controllers at their version, and never go get tool, which
// takes the newest.
package servers
