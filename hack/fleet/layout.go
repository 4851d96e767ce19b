package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"text/template"

	"golang.org/x/tools/txtar"
)

//go:embed fleet.txtar
var source []byte

var templates = func() *template.Template {
	t := template.New("")
	for _, f := range txtar.Parse(source).Files {
		template.Must(t.New(f.Name).Parse(string(f.Data)))
	}
	return t
}()

// fleet is what is to be made.
//
// A hub stands for up to spokesPerHub spokes. All spokes of a tier share one
// overlay over the apps' bases, so that the objects of a fleet grow with its
// clusters while its files need not. What is left of the number of files goes
// round the spokes, as overlays and objects of their own.
type fleet struct {
	files, clusters, history, crds int
	seed                           uint64
	random                         *rand.Rand
	w                              *writer
}

const (
	spokesPerHub = 200
	apps         = 24
	tiers        = 6
	appsPerTier  = 2
	// filesPerOverlay are those of an app of a spoke's own before objects.
	filesPerOverlay = 3
	// most objects beside an overlay.
	ownObjects = 7
)

var regions = []string{"emea", "amer", "apac"}

type spoke struct {
	Name, Region, Tier string
	Replicas           int
	Own, Release       bool
}

// app is a base app, or an overlay of a spoke's own over the base app Base.
type app struct {
	Name, Base   string
	Number, Port int
	Features     []string
}

// commits writes the history.
func (f *fleet) commits(w *writer) {
	f.w, f.random = w, rand.New(rand.NewPCG(f.seed, 0))
	w.commit(0, "fleet: as it begins")
	f.shared()
	f.crdFiles()
	f.hubs()
	for n := 1; n < f.history; n++ {
		w.commit(n, fmt.Sprintf("fleet: change %d", n))
		f.change(n)
	}
}

func (f *fleet) put(path, section string, data any) {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, section, data); err != nil {
		panic(err) // the templates are part of the program
	}
	f.w.file(path, b.Bytes())
	f.w.files++
}

// shared writes what clusters share.
func (f *fleet) shared() {
	for i := range apps {
		a := f.app(i)
		dir := "apps/base/" + a.Name + "/"
		f.put(dir+"kustomization.yaml", "app", a.Name)
		for _, part := range []string{"deployment", "service", "route", "settings"} {
			f.put(dir+part+".yaml", "app-"+part, a)
		}
	}
	f.put("apps/components/hardened/kustomization.yaml", "component", nil)
	for i := range tiers {
		name := fmt.Sprintf("tier-%d", i)
		var of []string
		for j := range appsPerTier {
			of = append(of, appName((i*appsPerTier+j)%apps))
		}
		f.put("tiers/"+name+"/kustomization.yaml", "tier", struct {
			Apps    []string
			Version int
		}{of, i + 2})
		f.put("tiers/"+name+"/namespace.yaml", "tier-namespace", name)
		f.put("tiers/"+name+"/patch.yaml", "tier-patch", name)
	}
	f.put("infrastructure/base/kustomization.yaml", "resources", []string{"all.yaml"})
	f.put("infrastructure/base/all.yaml", "infrastructure-base", nil)
	for _, r := range regions {
		f.put("infrastructure/"+r+"/kustomization.yaml", "infrastructure", r)
	}
}

func appName(i int) string { return fmt.Sprintf("app-%02d", i) }

func (f *fleet) app(i int) app {
	a := app{Name: appName(i), Base: appName(i % apps), Number: 1 + f.random.IntN(40), Port: 8000 + f.random.IntN(1000)}
	for range 3 {
		a.Features = append(a.Features, fmt.Sprintf("feature-%d", f.random.IntN(100)))
	}
	return a
}

// hubs writes every hub with its spokes, and what belongs to one spoke alone.
func (f *fleet) hubs() {
	hubs := (f.clusters + spokesPerHub) / (spokesPerHub + 1)
	spokes := f.clusters - hubs
	// With few files, many spokes are declared in one; with many, each in its
	// own, and the rest is the spokes' own.
	left := f.files - f.w.files - hubs*5
	perFile := 1
	if spokes > 0 && left < spokes {
		perFile = min(spokesPerHub, (spokes+max(left, 1)-1)/max(left, 1))
	}
	owned := left - (spokes+perFile-1)/perFile
	var mine []spoke
	next := 0
	for h := range hubs {
		name, region := fmt.Sprintf("hub-%s-%02d", regions[h%len(regions)], h), regions[h%len(regions)]
		dir := "clusters/" + name + "/"
		f.put(dir+"flux-system/gotk-sync.yaml", "sync", spoke{Name: name})
		f.put(dir+"flux-system/kustomization.yaml", "sync-kustomization", nil)
		f.put(dir+"hub.yaml", "hub", spoke{Name: name, Region: region})
		resources := []string{"flux-system", "hub.yaml"}
		if f.crds > 0 {
			f.put(dir+"crds.yaml", "hub-crds", nil)
			resources = append(resources, "crds.yaml")
		}
		var batch []spoke
		var files []string
		flush := func() {
			if len(batch) > 0 {
				file := batch[0].Name + ".yaml"
				f.put(dir+"spokes/"+file, "spoke", batch)
				files, batch = append(files, file), nil
			}
		}
		for ; next < spokes && next < (h+1)*spokes/hubs; next++ {
			s := spoke{
				Name:   fmt.Sprintf("%s-site-%05d", region, next),
				Region: region, Tier: fmt.Sprintf("tier-%d", f.random.IntN(tiers)), Replicas: 1 + f.random.IntN(9),
				Own: owned >= spokes*(filesPerOverlay+1) || next*(filesPerOverlay+1) < owned, Release: next%4 == 0,
			}
			if batch = append(batch, s); len(batch) == perFile {
				flush()
			}
			mine = append(mine, s)
		}
		flush()
		if len(files) > 0 {
			f.put(dir+"spokes/kustomization.yaml", "resources", files)
			resources = append(resources, "spokes")
		}
		f.put(dir+"kustomization.yaml", "resources", resources)
	}
	f.own(mine)
}

// own gives the files that are left to the spokes that have some of their own.
func (f *fleet) own(spokes []spoke) {
	spokes = slices.DeleteFunc(spokes, func(s spoke) bool { return !s.Own })
	for i, s := range spokes {
		share := (f.files - f.w.files) / (len(spokes) - i)
		var dirs []string
		for end := f.w.files + max(share, filesPerOverlay+1) - 1; f.w.files < end; {
			a := f.app(len(dirs))
			a.Name = fmt.Sprintf("own-%04d", len(dirs))
			dir := "spokes/" + s.Name + "/" + a.Name + "/"
			f.put(dir+"kustomization.yaml", "own-app", a)
			f.put(dir+"namespace.yaml", "own-namespace", a)
			f.put(dir+"patch.yaml", "own-patch", a)
			dirs = append(dirs, a.Name)
			var objects []string
			for j := 0; j < ownObjects && f.w.files+1 < end; j++ {
				a.Number = j
				objects = append(objects, fmt.Sprintf("object-%d.yaml", j))
				path := fmt.Sprintf("spokes/%s/%s-objects/%s", s.Name, a.Name, objects[j])
				f.w.paths = append(f.w.paths, path)
				f.put(path, "own-object", a)
			}
			if len(objects) > 0 {
				f.put(strings.TrimSuffix(dir, "/")+"-objects/kustomization.yaml", "resources", objects)
				dirs = append(dirs, a.Name+"-objects")
			}
		}
		f.put("spokes/"+s.Name+"/kustomization.yaml", "resources", dirs)
	}
}

// change writes ten files again.
func (f *fleet) change(n int) {
	const changes = 10
	for i := range changes {
		if len(f.w.paths) == 0 {
			if n == 1 {
				f.w.files++
			}
			f.w.file("README.md", fmt.Appendf(nil, "change %d\n", n))
			return
		}
		path := f.w.paths[(n*changes+i)*7919%len(f.w.paths)]
		var b bytes.Buffer
		a := app{Name: strings.Split(path, "/")[2], Number: n, Port: i}
		a.Name = strings.TrimSuffix(a.Name, "-objects")
		if err := templates.ExecuteTemplate(&b, "own-object", a); err != nil {
			panic(err)
		}
		f.w.file(path, b.Bytes())
	}
}
