// Package commit opens a clone, resolves a revision and gives the tree of one
// commit as a snapshot.Snapshot. It is the only package that knows git.
//
// It reads the object store directly and runs no git. Every file is opened for
// reading and nothing is ever written: no index, no ref, no object, no lock.
// After Locate, only files below Location.Directories are opened, so that a
// process may give up the right to open anything else in between.
//
// What it guarantees:
//   - Content is verified: an object whose bytes do not hash to its id is never
//     returned. When an object is stored several times, a damaged copy gives
//     way to an intact one.
//   - Absence is never mistaken: an object that the clone does not hold is
//     ErrAbsent, never fs.ErrNotExist and never a shorter listing.
//   - Hostile repositories cost bounded time and memory, see Limits. A blob that
//     cannot be read fails alone; a tree that cannot be read fails the listing,
//     because nothing can be said about what it holds.
//   - Opening does not read the history: ids are looked up in the pack indexes
//     in place.
//
// What it does not do: SHA-256 repositories and reftable are refused. Replace
// refs and grafts are ignored, as by everything that fetches the repository
// without them. Reflogs are not read. Configuration is that of the repository
// alone, without included files. The multi-pack-index is not needed: git keeps
// the index of every pack beside it.
//
// Formats are those of gitformat-pack(5),
// gitrepository-layout(5), git-config(1) and gitrevisions(7).
package commit
