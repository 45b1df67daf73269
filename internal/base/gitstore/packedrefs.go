package gitstore

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"tenon/internal/base/lru"
)

// packedRefs is the parsed file, sorted by name. Peeled is zero where the file has no peeled line.
type packedRefs struct {
	refs  []Ref
	whole bool // every annotated tag has its peeled line
	stamp fileStamp
	known atomic.Pointer[packedDigest] // the digest that was asked for last
}

// fileStamp tells one state of a file from another: git replaces the file whole.
type fileStamp struct {
	inode   uint64
	size    int64
	modTime int64
	chgTime int64
}

func stampOf(info fs.FileInfo) fileStamp {
	s := fileStamp{size: info.Size(), modTime: info.ModTime().UnixNano()}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		s.inode, s.chgTime = sys.Ino, sys.Ctim.Nano()
	}
	return s
}

type packedKey struct{ path string }

// racy is the time within which a file could change again without a new stamp.
const racy = 50 * time.Millisecond

// packed returns the packed references as they are now, from the cache where the file has not changed.
func (r *Repo) packed() (*packedRefs, error) {
	name := filepath.Join(r.path, "packed-refs")
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return &packedRefs{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read packed references: %w", err)
	}
	key := packedKey{r.path}
	if p, ok := lru.Get[*packedRefs](r.store.packs, key); ok && p.stamp == stampOf(info) {
		return p, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read packed references: %w", err)
	}
	defer func() { _ = f.Close() }()
	if info, err = f.Stat(); err != nil {
		return nil, fmt.Errorf("read packed references: %w", err)
	}
	content, err := io.ReadAll(f)
	if err != nil {
		return nil, fmt.Errorf("read packed references: %w", err)
	}
	p, err := parsePackedRefs(string(content))
	if err != nil {
		return nil, err
	}
	p.stamp = stampOf(info)
	if time.Since(info.ModTime()) > racy {
		r.store.packs.Put(key, p, len(content)+64*len(p.refs))
	}
	return p, nil
}

func parsePackedRefs(content string) (*packedRefs, error) {
	p := &packedRefs{}
	sorted := true
	for content != "" {
		line, rest, _ := strings.Cut(content, "\n")
		content = rest
		switch {
		case line == "":
		case line[0] == '#':
			p.whole = p.whole || strings.Contains(line+" ", " fully-peeled ")
		case line[0] == '^':
			id, err := ParseObjectID(line[1:])
			if err != nil || len(p.refs) == 0 {
				return nil, fmt.Errorf("packed references: bad line %q: %w", clip(line), ErrMalformed)
			}
			p.refs[len(p.refs)-1].Peeled = id
		default:
			if len(line) < 42 || line[40] != ' ' {
				return nil, fmt.Errorf("packed references: bad line %q: %w", clip(line), ErrMalformed)
			}
			id, err := ParseObjectID(line[:40])
			if err != nil {
				return nil, fmt.Errorf("packed references: bad line %q: %w", clip(line), ErrMalformed)
			}
			n := len(p.refs)
			sorted = sorted && (n == 0 || string(p.refs[n-1].Name) < line[41:])
			p.refs = append(p.refs, Ref{Name: RefName(line[41:]), ID: id})
		}
	}
	if !sorted {
		sort.Slice(p.refs, func(i, j int) bool { return p.refs[i].Name < p.refs[j].Name })
	}
	return p, nil
}

// from returns the position of the first reference that is not below name.
func (p *packedRefs) from(name RefName) int {
	return sort.Search(len(p.refs), func(i int) bool { return p.refs[i].Name >= name })
}

func (p *packedRefs) find(name RefName) (Ref, bool) {
	if i := p.from(name); i < len(p.refs) && p.refs[i].Name == name {
		return p.refs[i], true
	}
	return Ref{}, false
}
