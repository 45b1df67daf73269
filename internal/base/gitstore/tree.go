package gitstore

import (
	"bytes"
	"context"
	"fmt"
	"sort"
	"strings"
)

// Mode is the mode of a tree entry as git stores it.
type Mode uint32

// The modes that git writes.
const (
	ModeFile       Mode = 0o100644
	ModeExecutable Mode = 0o100755
	ModeSymlink    Mode = 0o120000
	ModeSubmodule  Mode = 0o160000
	ModeTree       Mode = 0o040000
)

// String returns six octal digits.
func (m Mode) String() string { return fmt.Sprintf("%06o", uint32(m)) }

// Kind returns the kind of object the mode promises: a submodule names a commit.
func (m Mode) Kind() Kind {
	switch m & 0o170000 {
	case ModeTree:
		return KindTree
	case ModeSubmodule:
		return KindCommit
	default:
		return KindBlob
	}
}

// TreeEntry is one entry of a folder. The name may hold any bytes but NUL and slash.
type TreeEntry struct {
	Mode Mode
	Name string
	ID   ObjectID
}

// Kind returns the kind of object that the entry names.
func (e TreeEntry) Kind() Kind { return e.Mode.Kind() }

// Tree is a parsed folder in git's order. It is shared between callers: do not change it.
type Tree struct {
	ID      ObjectID
	Entries []TreeEntry
}

// Find returns the entry of a name.
func (t *Tree) Find(name string) (TreeEntry, bool) {
	for _, e := range t.Entries {
		if e.Name == name {
			return e, true
		}
	}
	return TreeEntry{}, false
}

// ParseTree reads the content of a tree object.
func ParseTree(id ObjectID, content []byte) (*Tree, error) {
	t := &Tree{ID: id, Entries: make([]TreeEntry, 0, len(content)/36)}
	text := string(content) // the names share this one copy
	for at := 0; at < len(content); {
		space := strings.IndexByte(text[at:], ' ')
		if space < 1 || space > 6 {
			return nil, fmt.Errorf("parse tree %s: no mode: %w", id, ErrMalformed)
		}
		var mode Mode
		for _, c := range text[at : at+space] {
			if c < '0' || c > '7' {
				return nil, fmt.Errorf("parse tree %s: bad mode: %w", id, ErrMalformed)
			}
			mode = mode<<3 | Mode(c-'0')
		}
		at += space + 1
		end := strings.IndexByte(text[at:], 0)
		if end < 1 || at+end+1+20 > len(text) {
			return nil, fmt.Errorf("parse tree %s: cut off: %w", id, ErrMalformed)
		}
		e := TreeEntry{Mode: mode, Name: text[at : at+end]}
		copy(e.ID[:], content[at+end+1:])
		t.Entries = append(t.Entries, e)
		at += end + 21
	}
	return t, nil
}

// encodeTree sorts the entries as git does and returns the content of the tree object.
func encodeTree(entries []TreeEntry) []byte {
	sort.Slice(entries, func(i, j int) bool { return entries[i].sortKey() < entries[j].sortKey() })
	var buf bytes.Buffer
	for _, e := range entries {
		fmt.Fprintf(&buf, "%o %s\x00", uint32(e.Mode), e.Name)
		buf.Write(e.ID[:])
	}
	return buf.Bytes()
}

// WriteTree stores a folder of these entries, which it sorts. The objects that they name must be there.
func (r *Repo) WriteTree(ctx context.Context, entries []TreeEntry) (ObjectID, error) {
	return r.writeObject(ctx, KindTree, encodeTree(entries))
}

// sortKey makes a folder sort as if its name ended in a slash.
func (e TreeEntry) sortKey() string {
	if e.Mode == ModeTree {
		return e.Name + "/"
	}
	return e.Name
}
