// Command oracle says what the clusters show of the objects that a census
// names, without any code of reach: it asks kubectl, and decides by the rules
// of the documentation alone. The end-to-end tests compare it with the census.
//
//	oracle -kubectl PROGRAM -kubeconfig FILE -commit HEX -objects objects.jsonl [-unnamed LIST] HUB...
//
// Of the objects it takes what they are and which controller declares them, not
// the verdict. It prints one JSON object: for each controller object,
// "HUB Kustomization NAMESPACE/NAME", how many are listed by its inventory (in),
// are not although it is ready and applied this commit (out), and of how many
// nothing can be said (abstain, by what stands in the way), and the entries of
// the inventory that no object of the census is (extra).
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "oracle: %v\n", err)
		os.Exit(1)
	}
}

// A count is what is said of one controller object.
type count struct {
	In      int            `json:"in"`
	Out     int            `json:"out"`
	Abstain map[string]int `json:"abstain,omitempty"`
	Extra   []string       `json:"extra,omitempty"`
}

func run(args []string) error {
	flags := flag.NewFlagSet("oracle", flag.ContinueOnError)
	kubectl := flags.String("kubectl", "kubectl", "the `program`")
	kubeconfig := flags.String("kubeconfig", "", "a `file` with a context for each hub")
	commit := flags.String("commit", "", "the commit of the census, in `hex`")
	objects := flags.String("objects", "", "objects.jsonl of the census")
	unnamed := flags.String("unnamed", "", "objects as `KIND NAMESPACE/NAME`, with commas between, whose name nobody but the controller can know")
	if err := flags.Parse(args); err != nil {
		return err
	}
	holders := map[string]*holder{}
	for _, hub := range flags.Args() {
		found, err := read(*kubectl, *kubeconfig, hub, *commit)
		if err != nil {
			return err
		}
		for _, h := range found {
			holders[hub+" "+h.name] = h
		}
	}
	declared, err := rows(*objects)
	if err != nil {
		return err
	}
	counts := map[string]*count{}
	for _, row := range declared {
		key := row.ControllerCluster + " " + row.Kind() + " " + row.Controller
		if counts[key] == nil {
			counts[key] = &count{Abstain: map[string]int{}}
		}
		if holders[key] != nil && slices.Contains(strings.Split(*unnamed, ","), row.ObjectKind+" "+row.Namespace+"/"+row.Name) {
			counts[key].Abstain["identity_unknown"]++
			continue
		}
		counts[key].add(holders[key], row)
	}
	for key, h := range holders {
		if counts[key] == nil {
			counts[key] = &count{}
		}
		for id, met := range h.entries {
			if !met {
				counts[key].Extra = append(counts[key].Extra, id)
			}
		}
	}
	return json.NewEncoder(os.Stdout).Encode(counts)
}

// add counts one object that a controller object declares.
func (c *count) add(h *holder, row row) {
	if h == nil {
		c.Abstain["controller_missing"]++
		return
	}
	// The inventory names a cluster-scoped object without a namespace.
	id := row.Namespace + "_" + strings.ReplaceAll(row.Name, ":", "__") + "_" + row.Group + "_" + row.ObjectKind
	if _, listed := h.entries[id]; listed {
		h.entries[id] = true
		c.In++
		return
	}
	if h.abstain != "" {
		c.Abstain[h.abstain]++
		return
	}
	c.Out++
}

// A row is one line of objects.jsonl, without its verdict.
type row struct {
	ControllerCluster string `json:"controller_cluster"`
	Cluster           string `json:"cluster"`
	Controller        string `json:"controller"`
	ControllerKind    string `json:"controller_kind"`
	Group             string `json:"group"`
	ObjectKind        string `json:"kind"`
	Namespace         string `json:"namespace"`
	Name              string `json:"name"`
}

// Kind is the kind of the controller object.
func (r row) Kind() string {
	if r.ControllerKind == "" {
		return "Kustomization"
	}
	return r.ControllerKind
}

func rows(path string) ([]row, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []row
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var r row
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if r.ControllerCluster == "" {
			r.ControllerCluster = r.Cluster
		}
		all = append(all, r)
	}
	return all, lines.Err()
}

// A holder is a controller object with its inventory.
type holder struct {
	name    string
	abstain string          // why it may come to list more
	entries map[string]bool // id -> whether the census has it
}

// read asks kubectl for the Kustomizations of a hub.
func read(kubectl, kubeconfig, hub, commit string) ([]*holder, error) {
	out, err := exec.Command(kubectl, "--kubeconfig="+kubeconfig, "--context="+hub,
		"get", "kustomizations.kustomize.toolkit.fluxcd.io", "--all-namespaces", "--output=json").Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return nil, fmt.Errorf("kubectl on %s: %w: %s", hub, err, exit.Stderr)
		}
		return nil, err
	}
	var list struct {
		Items []struct {
			Metadata struct {
				Namespace, Name   string
				Generation        int64
				DeletionTimestamp string
			}
			Spec   struct{ Suspend bool }
			Status struct {
				ObservedGeneration  int64
				LastAppliedRevision string
				Conditions          []struct {
					Type, Status       string
					ObservedGeneration int64
				}
				Inventory *struct{ Entries []struct{ ID string } }
			}
		}
	}
	if err := json.Unmarshal(out, &list); err != nil {
		return nil, err
	}
	var holders []*holder
	for _, k := range list.Items {
		h := &holder{name: "Kustomization " + k.Metadata.Namespace + "/" + k.Metadata.Name, entries: map[string]bool{}}
		ready, failed := false, false
		for _, c := range k.Status.Conditions {
			if c.Type == "Ready" {
				ready = c.Status == "True"
				failed = c.Status == "False" && c.ObservedGeneration == k.Metadata.Generation
			}
		}
		if k.Status.Inventory != nil {
			for _, e := range k.Status.Inventory.Entries {
				h.entries[e.ID] = false
			}
		}
		switch {
		case k.Metadata.DeletionTimestamp != "":
			h.abstain = "being_deleted"
		case k.Spec.Suspend:
			h.abstain = "suspended"
		case failed:
			h.abstain = "not_ready"
		case k.Status.ObservedGeneration != k.Metadata.Generation:
			h.abstain = "generation_behind"
		case !ready:
			h.abstain = "not_ready"
		case k.Status.Inventory == nil:
			h.abstain = "no_inventory"
		case !strings.HasSuffix(k.Status.LastAppliedRevision, "@sha1:"+commit):
			h.abstain = "revision_differs"
		}
		holders = append(holders, h)
	}
	return holders, nil
}
