package main

import (
	"bytes"
	"fmt"
)

// crdSize is about how large one CustomResourceDefinition is, in bytes.
const crdSize = 400 << 10

// crdFiles writes definitions with deep schemas, one a file, as charts bring
// them.
func (f *fleet) crdFiles() {
	var files []string
	for written := 0; written < f.crds<<20; {
		name := fmt.Sprintf("widget%03d", len(files))
		var b bytes.Buffer
		fmt.Fprintf(&b, `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: %[1]ss.fleet.example
spec:
  group: fleet.example
  names:
    kind: Widget%03[2]d
    plural: %[1]ss
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
`, name, len(files))
		for i := 0; b.Len() < crdSize; i++ {
			f.property(&b, fmt.Sprintf("field%d", i), 10, 5)
		}
		path := name + ".yaml"
		f.w.file("crds/"+path, b.Bytes())
		f.w.files++
		written += b.Len()
		files = append(files, path)
	}
	if len(files) > 0 {
		f.put("crds/kustomization.yaml", "resources", files)
	}
}

// property writes a property and, down to a depth, those below it.
func (f *fleet) property(b *bytes.Buffer, name string, indent, depth int) {
	pad := fmt.Sprintf("%*s", indent, "")
	fmt.Fprintf(b, "%s%s:\n%s  description: |-\n%s    Field %s is one of %d that are alike: what it holds is\n%s    described here at some length, as generated schemas do.\n",
		pad, name, pad, pad, name, f.random.IntN(1000), pad)
	if depth == 0 {
		fmt.Fprintf(b, "%s  type: string\n%s  maxLength: %d\n", pad, pad, f.random.IntN(1000))
		return
	}
	fmt.Fprintf(b, "%s  type: object\n%s  properties:\n", pad, pad)
	for i := range 1 + f.random.IntN(3) {
		f.property(b, fmt.Sprintf("%s%c", name, 'a'+i), indent+4, depth-1)
	}
}
