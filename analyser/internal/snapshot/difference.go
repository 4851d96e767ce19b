package snapshot

// Difference is what asking two snapshots would answer differently. It is safe for
// concurrent use.
type Difference struct {
	files, dirs, lists map[string]bool
}

// Compare returns the difference of two snapshots. It costs a walk of both.
func Compare(a, b *Snapshot) *Difference {
	d := &Difference{files: map[string]bool{}, dirs: map[string]bool{}, lists: map[string]bool{}}
	x, y := a.entries, b.entries
	for len(x) > 0 || len(y) > 0 {
		switch {
		case len(y) == 0 || len(x) > 0 && x[0].Path < y[0].Path:
			d.file(x[0].Path)
			x = x[1:]
		case len(x) == 0 || y[0].Path < x[0].Path:
			d.file(y[0].Path)
			y = y[1:]
		default:
			if x[0] != y[0] {
				d.file(x[0].Path)
			}
			x, y = x[1:], y[1:]
		}
	}
	for p := range d.files {
		d.above(p, a, b)
	}
	for _, empty := range []map[string]bool{a.empty, b.empty} {
		for p := range empty {
			d.dir(p, a, b)
		}
	}
	return d
}

func (d *Difference) file(p string) {
	d.files[p] = true
	dir, _ := split(p)
	d.lists[dir] = true
}

func (d *Difference) above(p string, a, b *Snapshot) {
	d.dir(p, a, b) // a file may take the place of a directory
	for p != "" {
		p, _ = split(p)
		d.dir(p, a, b)
	}
}

func (d *Difference) dir(p string, a, b *Snapshot) {
	if a.IsDir(p) == b.IsDir(p) {
		return
	}
	d.dirs[p] = true
	d.lists[p] = true
	parent, _ := split(p)
	d.lists[parent] = true
}

// Lookup reports whether Lookup of a path answers differently.
func (d *Difference) Lookup(p string) bool { return d.files[p] }

// IsDir reports whether IsDir of a path answers differently.
func (d *Difference) IsDir(p string) bool { return d.dirs[p] }

// ReadDir reports whether ReadDir of a directory may answer differently.
func (d *Difference) ReadDir(dir string) bool { return d.lists[dir] }
