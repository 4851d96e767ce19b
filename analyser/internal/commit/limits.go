package commit

// Limits bound what a repository can cost. A field that is not
// positive means its default.
type Limits struct {
	// MaxBlob is the largest blob that is read, in bytes: 64 MiB.
	MaxBlob int64
	// MaxFiles is the number of entries of a commit, directories included:
	// 1,000,000.
	MaxFiles int
	// MaxTreeDepth is how deep directories nest: 1,000.
	MaxTreeDepth int
	// MaxPath is the length of a path in bytes: 16 KiB. Systems that check
	// out files stop at 4 KiB.
	MaxPath int
	// MaxDeltaDepth is the length of a chain of deltas: 5,000. Git never
	// writes more than 4,095.
	MaxDeltaDepth int
	// MaxInflated is the largest object of any kind, delta bases included,
	// in bytes: 256 MiB.
	MaxInflated int64
	// MaxWork is how many bytes may be produced to read one object, delta
	// bases included: 2 GiB.
	MaxWork int64
	// DeltaCache is the memory kept for delta bases, in bytes: 32 MiB. A
	// negative value keeps none.
	DeltaCache int64
}

func (l Limits) withDefaults() Limits {
	set := func(v *int64, d int64) {
		if *v <= 0 {
			*v = d
		}
	}
	setInt := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	set(&l.MaxBlob, 64<<20)
	setInt(&l.MaxFiles, 1_000_000)
	setInt(&l.MaxTreeDepth, 1_000)
	setInt(&l.MaxPath, 16<<10)
	setInt(&l.MaxDeltaDepth, 5_000)
	set(&l.MaxInflated, 256<<20)
	set(&l.MaxWork, 2<<30)
	if l.DeltaCache == 0 {
		l.DeltaCache = 32 << 20
	}
	l.MaxInflated = max(l.MaxInflated, l.MaxBlob)
	return l
}
