package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/gitops-reach/reach/orchestrator/internal/launch"
	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// sealMode is the value of --require-seal.
type sealMode string

const (
	sealAuto  sealMode = "auto"  // the kernel's walls, where the kernel has them
	sealAll   sealMode = "true"  // every wall
	sealNever sealMode = "false" // none
)

var sealModes = []string{string(sealAuto), string(sealAll), string(sealNever)}

func sealFlag(flags *pflag.FlagSet, value *string) {
	flags.StringVar(value, "require-seal", string(sealAuto),
		"refuse to read the repository unless walls stand around the analyser: `auto|true|false`; auto asks for those of the kernel where it has them, true for all")
	flags.Lookup("require-seal").NoOptDefVal = string(sealAll)
}

// The walls that each mode asks for.
var (
	kernelWalls = []string{"landlock", "seccomp"}
	allWalls    = []string{"imports", "symbols", "landlock", "seccomp"}
)

// check returns an error that names the walls which are asked for and do not
// stand. kernel says whether the kernel has its two.
func (m sealMode) check(walls []*reachv1.SealWall, kernel bool) error {
	var wanted []string
	switch {
	case m == sealAll:
		wanted = allWalls
	case m == sealAuto && kernel:
		wanted = kernelWalls
	}
	var absent []string
	for _, name := range wanted {
		i := slices.IndexFunc(walls, func(w *reachv1.SealWall) bool { return w.GetName() == name })
		switch {
		case i < 0:
			absent = append(absent, name+" (the analyser does not know it)")
		case !walls[i].GetStands():
			absent = append(absent, fmt.Sprintf("%s (%s)", name, walls[i].GetDetail()))
		}
	}
	if len(absent) == 0 {
		return nil
	}
	return fmt.Errorf("the analyser is not sealed as required and was asked nothing: %s; --require-seal=false goes on without, and the report says which walls stood",
		strings.Join(absent, ", "))
}

// sealed checks an analyser that has answered Hello.
func (m sealMode) sealed(hello *reachv1.HelloResponse) error {
	return m.check(hello.GetWalls(), m == sealAuto && launch.KernelSeals())
}
