// Package gitstore reads and writes git's storage formats without running git.
//
// It knows object ids, reference names, and the contents of commits, trees and tags. In a
// repository it reads and writes loose objects, files of references, packed-refs with their
// locks, alternates and the folders of new objects (quarantines), in a way that git processes
// may work on the same repository at the same time. Objects in packs are not its business:
// where it needs one it asks the interfaces Objects and Trees, which package gitcmd implements.
package gitstore
