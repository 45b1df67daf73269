package gitstore

import (
	"context"
	"fmt"
	"path"
	"sort"
	"strings"
)

// TreeChange puts an object at a path, or takes away what is there when ID is zero.
type TreeChange struct {
	Path string
	Mode Mode // ignored when ID is zero; ModeTree puts a whole folder
	ID   ObjectID
}

// Trees reads trees wherever git keeps them, packs and pools included.
type Trees interface {
	Tree(ctx context.Context, id ObjectID) (*Tree, error)
}

// BuildTree makes the tree that results from changes to a base tree, and returns its id. Removals come first, so that a file may take the
// place of a removed folder and the other way round; folders left empty go away.
// ErrBadName is a path git would not check out, ErrNotFound a removal of nothing,
// ErrPathConflict a path through a file or a file in the place of a folder.
func (r *Repo) BuildTree(ctx context.Context, from Trees, base ObjectID, changes []TreeChange) (ObjectID, error) {
	b := builder{repo: r, from: from}
	top := &folder{id: base, changed: base == EmptyTree()} // which may never have been stored
	var removals, additions []TreeChange
	for _, c := range changes {
		if !ValidPath(c.Path) {
			return ObjectID{}, fmt.Errorf("path %q: %w", clip(c.Path), ErrBadName)
		}
		if c.ID.IsZero() {
			removals = append(removals, c)
		} else {
			additions = append(additions, c)
		}
	}
	for _, c := range append(removals, additions...) {
		if err := b.apply(ctx, top, c, strings.Split(c.Path, "/")); err != nil {
			return ObjectID{}, fmt.Errorf("path %q: %w", clip(c.Path), err)
		}
	}
	id, _, err := b.writeFolder(ctx, top)
	return id, err
}

// builder makes one tree.
type builder struct {
	repo *Repo
	from Trees
}

// folder is a tree being changed. It is loaded when first needed.
type folder struct {
	id      ObjectID // as stored; zero for a new one
	loaded  bool
	changed bool
	entries map[string]TreeEntry
	folders map[string]*folder // opened ones, not in entries
}

func (b builder) load(ctx context.Context, f *folder) error {
	if f.loaded {
		return nil
	}
	f.entries, f.folders, f.loaded = make(map[string]TreeEntry), make(map[string]*folder), true
	if f.id.IsZero() {
		return nil
	}
	t, err := b.from.Tree(ctx, f.id)
	if err != nil {
		return err
	}
	for _, e := range t.Entries {
		f.entries[e.Name] = e
	}
	return nil
}

func (b builder) apply(ctx context.Context, f *folder, c TreeChange, parts []string) error {
	if err := b.load(ctx, f); err != nil {
		return err
	}
	name := parts[0]
	f.changed = true
	if len(parts) > 1 {
		sub, err := f.open(name, c)
		if err != nil {
			return err
		}
		return b.apply(ctx, sub, c, parts[1:])
	}
	old, exists := f.entries[name]
	sub, opened := f.folders[name]
	if opened {
		if err := b.load(ctx, sub); err != nil {
			return err
		}
		opened = sub.populated()
	}
	switch {
	case c.ID.IsZero():
		if !exists && !opened {
			return ErrNotFound
		}
		delete(f.entries, name)
		delete(f.folders, name)
	case c.Mode != ModeTree && (opened || exists && old.Mode == ModeTree):
		return ErrPathConflict
	default:
		delete(f.folders, name)
		f.entries[name] = TreeEntry{Mode: c.Mode, Name: name, ID: c.ID}
	}
	return nil
}

// open returns the folder of a name for changing, making one where an addition needs it.
func (f *folder) open(name string, c TreeChange) (*folder, error) {
	if sub, ok := f.folders[name]; ok {
		return sub, nil
	}
	e, ok := f.entries[name]
	switch {
	case ok && e.Mode.Kind() != KindTree && c.ID.IsZero():
		return nil, ErrNotFound
	case ok && e.Mode.Kind() != KindTree:
		return nil, ErrPathConflict
	case !ok && c.ID.IsZero():
		return nil, ErrNotFound
	}
	sub := &folder{id: e.ID}
	delete(f.entries, name)
	f.folders[name] = sub
	return sub, nil
}

// populated reports whether anything is left in a loaded folder.
func (f *folder) populated() bool {
	if len(f.entries) > 0 {
		return true
	}
	for _, sub := range f.folders {
		if !sub.loaded || sub.populated() {
			return true
		}
	}
	return false
}

// writeFolder stores a changed folder and those below it; ok is false where nothing is left.
func (b builder) writeFolder(ctx context.Context, f *folder) (id ObjectID, ok bool, err error) {
	if err := b.load(ctx, f); err != nil {
		return ObjectID{}, false, err
	}
	if !f.changed {
		return f.id, !f.id.IsZero(), nil
	}
	entries := make([]TreeEntry, 0, len(f.entries)+len(f.folders))
	for _, e := range f.entries {
		entries = append(entries, e)
	}
	names := make([]string, 0, len(f.folders))
	for name := range f.folders {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		id, ok, err := b.writeFolder(ctx, f.folders[name])
		if err != nil {
			return ObjectID{}, false, err
		}
		if ok {
			entries = append(entries, TreeEntry{Mode: ModeTree, Name: name, ID: id})
		}
	}
	id, err = b.repo.writeObject(ctx, KindTree, encodeTree(entries))
	return id, len(entries) > 0, err
}

// maxDepth bounds nested folders; a tree cannot contain itself, but a deep one can be made.
const maxDepth = 1000

// CleanPath returns a path of a file in git's form, without "." and empty parts.
func CleanPath(p string) string { return strings.TrimPrefix(path.Clean("/"+p), "/") }

// ValidPath reports whether a file may be written at this path: no empty, "." or ".."
// parts, none that a checkout could take for the .git folder on any file system, and
// no NUL.
func ValidPath(file string) bool {
	if file == "" || len(file) > 4096 || strings.IndexByte(file, 0) >= 0 {
		return false
	}
	depth := 0
	for part := range strings.SplitSeq(file, "/") {
		if depth++; depth > maxDepth || part == "" || part == "." || part == ".." || len(part) > 255 || isDotGit(part) {
			return false
		}
	}
	return true
}

// isDotGit reports whether some file system takes the name for ".git": in other case,
// with trailing dots, spaces or a stream name (NTFS), with its short form, behind a
// backslash, or with code points that HFS+ ignores.
func isDotGit(name string) bool {
	for part := range strings.SplitSeq(name, "\\") {
		part = strings.Map(func(c rune) rune {
			if c >= 0x200c && c <= 0x200f || c >= 0x202a && c <= 0x202e || c >= 0x206a && c <= 0x206f || c == 0xfeff {
				return -1
			}
			return c
		}, part)
		part, _, _ = strings.Cut(strings.ToLower(part), ":")
		part = strings.TrimRight(part, " .")
		if part == ".git" || part == "git~1" {
			return true
		}
	}
	return false
}
