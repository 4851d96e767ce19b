package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// JSON writes the whole report.
func (r *Report) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(r)
}

// Text writes what a person reads in a minute; verbose adds every line of
// evidence.
func (r *Report) Text(w io.Writer, verbose bool) error {
	var b bytes.Buffer
	r.header(&b, verbose)
	for i, wall := range r.Walls {
		fmt.Fprintf(&b, "\nWall %d, %s: %s\n  %s.\n", i+1, wall.Name, wall.Verdict, wall.Summary)
		for _, v := range wall.Violations {
			fmt.Fprintf(&b, "  ! %s\n", v)
		}
		lines(&b, wall.Evidence, verbose)
	}
	r.canary(&b, verbose)
	b.WriteString("\nDifferences from what was committed: ")
	if len(r.Differences) == 0 {
		b.WriteString("none\n")
	} else {
		b.WriteString("\n")
	}
	for _, d := range r.Differences {
		fmt.Fprintf(&b, "  ! %s\n", d)
	}
	fmt.Fprintf(&b, "\nVerdict: %s\n", r.Verdict)
	_, err := w.Write(b.Bytes())
	return err
}

func (r *Report) header(b *bytes.Buffer, verbose bool) {
	fmt.Fprintf(b, "%s\n  sha256  %s\n", r.Binary.Path, r.Binary.SHA256)
	switch r.Binary.Expected {
	case "":
		b.WriteString("          this reach pins no digest\n")
	case r.Binary.SHA256:
		b.WriteString("          this is the one that this reach starts, and no other\n")
	}
	var settings []string
	for _, key := range []string{"GOOS", "GOARCH", "CGO_ENABLED", "-tags", "-trimpath"} {
		if v, ok := r.Binary.Settings[key]; ok {
			settings = append(settings, key+"="+v)
		}
	}
	edited := 0
	for _, m := range r.Modules {
		if m.Edited != "" {
			edited++
		}
	}
	fmt.Fprintf(b, "  built   %s, %s, %s\n  of      %d modules, %d of them an edited copy (hack/seal); versions and checksums: -v\n",
		r.Binary.Main, r.Binary.Go, strings.Join(settings, " "), len(r.Modules), edited)
	if !verbose {
		return
	}
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for _, m := range r.Modules {
		sum := m.Sum
		if m.Edited != "" {
			sum = "edited copy " + m.Edited
		}
		fmt.Fprintf(t, "    %s\t%s\t%s\t%s\n", m.Path, m.Version, sum, m.Why)
	}
	t.Flush()
}

// lines writes evidence. Without verbose, those of one package or reason are
// one line.
func lines(b *bytes.Buffer, all []Line, verbose bool) {
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	defer t.Flush()
	if verbose {
		for _, l := range all {
			fmt.Fprintf(t, "  %s\t%s\t%s\t%s\n", l.Kind, l.What, l.By, l.Why)
		}
		return
	}
	counts := map[string]int{}
	var packages []string
	for _, l := range all {
		switch l.Kind {
		case "package":
			if counts[l.What]++; counts[l.What] == 1 {
				packages = append(packages, l.What)
			}
		case "function":
			if why := reason(l, all); counts[why] == 0 {
				counts[why]++
				fmt.Fprintf(b, "  left  %s\n        %s\n", same(why, all), why)
			}
		case "open":
			fmt.Fprintf(t, "  open\t%s\t%s %s\n", l.By, l.What, l.Why)
		case "entry":
			fmt.Fprintf(t, "  entry\t%s\tcalled by %s\n", l.What[strings.LastIndex(l.What, "/")+1:], l.By)
		}
	}
	if len(packages) > 0 {
		slices.Sort(packages)
		fmt.Fprintf(t, "  Packages that could act and are linked, with who brings them and why that is harmless (-v):\n  %s\n", strings.Join(packages, ", "))
	}
}

// reason follows "as X", which says that the reason of X holds.
func reason(l Line, all []Line) string {
	other, as := strings.CutPrefix(l.Why, "as ")
	if !as {
		return l.Why
	}
	for _, o := range all {
		if o.Kind == "function" && (o.What == other || strings.HasSuffix(o.What, "."+other) || strings.HasSuffix(o.What, ")."+other)) && o.Why != l.Why {
			return o.Why
		}
	}
	return l.Why
}

// same names the functions that stay for one reason.
func same(why string, all []Line) string {
	var names []string
	for _, l := range all {
		if l.Kind == "function" && reason(l, all) == why {
			names = append(names, l.What[strings.LastIndex(l.What, "/")+1:])
		}
	}
	return strings.Join(names, ", ")
}

func (r *Report) canary(b *bytes.Buffer, verbose bool) {
	c := r.Canary
	if c == nil {
		b.WriteString("\nCanary: not there. `make canary` builds reach-analyser-canary beside the analyser; it tries what the seal refuses.\n")
		return
	}
	fmt.Fprintf(b, "\nCanary: %d attempts to break out: %d refused in the seal and possible without it, %d succeeded in the seal, %d unclear, %d need root\n",
		len(c.Attempts), c.Refused, c.Escaped, c.Unclear, c.Skipped)
	for _, w := range c.Walls {
		if strings.HasPrefix(w, "landlock") || strings.HasPrefix(w, "seccomp") {
			fmt.Fprintf(b, "  %s\n", w)
		}
	}
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	defer t.Flush()
	for _, a := range c.Attempts {
		bad := a.Unsealed != succeeded || a.Sealed == succeeded
		if verbose || bad && a.Sealed != skipped {
			fmt.Fprintf(t, "  %s\tsealed: %s\tunsealed: %s\n", a.Name, a.Sealed, a.Unsealed)
		}
	}
	if !verbose {
		var names []string
		for _, a := range c.Attempts {
			if a.Unsealed == succeeded && a.Sealed != succeeded {
				names = append(names, a.Name)
			}
		}
		fmt.Fprintf(t, "  Refused: %s\n", strings.Join(names, ", "))
	}
}
