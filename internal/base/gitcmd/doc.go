// Package gitcmd is the only place that starts git.
//
// It reads and writes bare repositories through typed arguments: an object is
// named by an ObjectID, a reference by a RefName that was checked, a path stands
// behind a literal "--", so no text of a user is ever read as a flag or as
// revision syntax. Reads go through processes that are kept open and through
// bounded caches keyed by object id. What needs no process, such as loose objects
// and references, is done by package gitstore, whose Repo is part of this one's. No
// user or system configuration of git is read.
package gitcmd
