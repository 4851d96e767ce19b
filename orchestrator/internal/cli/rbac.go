package cli

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/gitops-reach/reach/orchestrator/internal/facts"
	"github.com/gitops-reach/reach/orchestrator/internal/rbac"
	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

func rbacCommand(s streams) *cobra.Command {
	var o rbac.Options
	read, files := readModes[0], []string{}
	cmd := &cobra.Command{
		Use:   "rbac",
		Short: "Print the role that reading a cluster needs, and nothing more",
		Long: `Print a ClusterRole with a ServiceAccount and its binding, ready for kubectl
apply: exactly what census --context asks of a cluster, and how to make a
kubeconfig of it.

The role names what Kubernetes and Flux serve. Custom resources differ from
cluster to cluster: take a census with this role first, keep what it read, and
have the role completed by it.`,
		Example: `  reach rbac | kubectl apply -f -
  reach rbac --read inventories

  # With the kinds that the cluster serves beyond
  reach census . --context hub=reader --kubeconfig reader.kubeconfig --save-facts hub.facts
  reach rbac --facts hub.facts`,
		Args: arguments(0, "none"),
		RunE: func(*cobra.Command, []string) error {
			if !slices.Contains(readModes, read) {
				return usagef("--read %q is none of objects, inventories", read)
			}
			o.InventoriesOnly = read == "inventories"
			for _, file := range files {
				err := facts.ReadFile(file, func(f *reachv1.Fact) error {
					if r := f.GetReading(); r.GetName() == "" && r.GetVersion() != "" && r.GetOutcome() != reachv1.Outcome_OUTCOME_NOT_ASKED {
						o.More = append(o.More, rbac.Resource{Group: r.GetGroup(), Resource: r.GetResource()})
					}
					return nil
				})
				if err != nil {
					return err
				}
			}
			return rbac.Write(s.out, o)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.Name, "name", "reach-reader", "`NAME` of the role, its binding and the ServiceAccount")
	flags.StringVar(&o.Namespace, "namespace", "reach-reader", "`NAMESPACE` of the ServiceAccount")
	flags.StringVar(&read, "read", read, "what the census is to read: `objects|inventories`")
	flags.StringArrayVar(&files, "facts", nil, "`FILE` of --save-facts: list too what that run listed, or would have; repeatable")
	return cmd
}
