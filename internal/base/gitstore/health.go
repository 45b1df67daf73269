package gitstore

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Health is how a repository is stored, in numbers that tell whether it wants tidying.
// Sizes are bytes.
type Health struct {
	Size       int64 // all files
	LooseRefs  int
	PackedRefs int64 // size of the file of packed references

	Loose, StaleLoose, Garbage int   // files of one object each; those older than the grace; what is no object
	LooseBytes, StaleBytes     int64 // StaleBytes includes cruft packs
	Packs, Reverse             int   // packs, and indexes that read them backwards
	Cruft, Kept                int   // packs of what nothing names, packs that stay as they are
	PackBytes, KeptBytes       int64

	Graph      Graph
	Bitmap     *Bitmap
	MultiPack  *MultiPack
	MultiBits  *Bitmap    // of the index over several packs
	Borrows    *time.Time // since when the repository reads objects of a pool; nil for never
	FullRepack *time.Time // when everything was repacked last; nil for never
}

// Graph is the commit graph.
type Graph struct {
	Chain                       int // number of files; 0 for none
	Bloom, Generation, Overflow bool
}

// Bitmap says what a bitmap holds besides the reachable objects.
type Bitmap struct {
	HashCache, LookupTable bool
	Version                int
}

// MultiPack is the index over several packs.
type MultiPack struct{ Packs, Version int }

// StaleAfter is how old a loose object is that nothing may need any more: what
// housekeeping makes it unless a setting says otherwise.
const StaleAfter = 14 * 24 * time.Hour

// fullRepack is the file whose time says when Maintain repacked everything.
const fullRepack = "tenon-full-repack"

// Health looks at the files of a repository, without any process.
func (r *Repo) Health(ctx context.Context, now time.Time) (Health, error) {
	count := census{now: now, packs: map[string]int64{}, marks: map[string]string{}}
	root := filepath.Clean(r.path)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it went away meanwhile
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		count.file(filepath.ToSlash(rel), info)
		return nil
	})
	if err != nil {
		return Health{}, fmt.Errorf("look at repository: %w", err)
	}
	objects := filepath.Join(root, "objects")
	h := count.sum(filepath.Join(objects, "pack"))
	h.Graph = graphOf(filepath.Join(objects, "info"))
	h.MultiPack = multiPackOf(filepath.Join(objects, "pack", "multi-pack-index"))
	return h, nil
}

// census counts the files of a repository.
type census struct {
	Health
	now   time.Time
	packs map[string]int64  // sizes of packs by name without its ending
	marks map[string]string // what else is beside a pack: endings, by the same name
}

// file counts one.
func (c *census) file(rel string, info fs.FileInfo) {
	c.Size += info.Size()
	folder, name, _ := strings.Cut(rel, "/")
	at := info.ModTime()
	switch {
	case rel == "packed-refs":
		c.PackedRefs = info.Size()
	case rel == fullRepack:
		c.FullRepack = &at
	case rel == "objects/info/alternates":
		c.Borrows = &at
	case folder == "refs" && !strings.HasSuffix(name, ".lock"):
		c.LooseRefs++
	case folder == "objects" && strings.HasPrefix(name, "pack/"):
		ending := filepath.Ext(name)
		stem := strings.TrimSuffix(strings.TrimPrefix(name, "pack/"), ending)
		if ending == ".pack" {
			c.packs[stem] = info.Size()
		}
		c.marks[stem] += ending
	case folder == "objects" && len(name) > 3 && name[2] == '/' && IsHex(name[:2]):
		if !IsHex(name[3:]) {
			c.Garbage++
			return
		}
		c.Loose++
		c.LooseBytes += info.Size()
		if c.now.Sub(at) > StaleAfter {
			c.StaleLoose++
			c.StaleBytes += info.Size()
		}
	}
}

// sum adds up what is in the folder of packs.
func (c *census) sum(folder string) Health {
	h := c.Health
	for stem, marks := range c.marks {
		size, isPack := c.packs[stem]
		has := func(ending string) bool { return strings.Contains(marks, ending) }
		if strings.HasPrefix(stem, "multi-pack-index-") && has(".bitmap") {
			h.MultiBits = bitmapOf(filepath.Join(folder, stem+".bitmap"))
		}
		if !isPack {
			continue
		}
		h.Packs++
		h.PackBytes += size
		if has(".rev") {
			h.Reverse++
		}
		if has(".mtimes") {
			h.Cruft++
			h.StaleBytes += size
		}
		if has(".keep") {
			h.Kept++
			h.KeptBytes += size
		}
		if has(".bitmap") {
			h.Bitmap = bitmapOf(filepath.Join(folder, stem+".bitmap"))
		}
	}
	return h
}

// beginning reads how a file begins, nil where it cannot be read or is shorter.
func beginning(name string, n int) []byte {
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	b := make([]byte, n)
	if _, err := io.ReadFull(f, b); err != nil {
		return nil
	}
	return b
}

// The flags of a bitmap, as gitformat-bitmap lays them down.
const (
	flagHashCache   = 0x4
	flagLookupTable = 0x10
)

func bitmapOf(name string) *Bitmap {
	head := beginning(name, 8)
	if !bytes.HasPrefix(head, []byte("BITM")) {
		return nil
	}
	flags := binary.BigEndian.Uint16(head[6:])
	return &Bitmap{
		HashCache: flags&flagHashCache != 0, LookupTable: flags&flagLookupTable != 0, Version: int(binary.BigEndian.Uint16(head[4:])),
	}
}

func multiPackOf(name string) *MultiPack {
	head := beginning(name, 12)
	if !bytes.HasPrefix(head, []byte("MIDX")) {
		return nil
	}
	return &MultiPack{Packs: int(binary.BigEndian.Uint32(head[8:])), Version: int(head[4])}
}

// graphOf reads which parts the commit graph in a folder has: of a chain those of its
// newest file.
func graphOf(folder string) Graph {
	name, chain := filepath.Join(folder, "commit-graph"), 1
	if list, err := os.ReadFile(filepath.Join(folder, "commit-graphs", "commit-graph-chain")); err == nil {
		lines := strings.Fields(string(list))
		if len(lines) == 0 || !IsHex(lines[len(lines)-1]) {
			return Graph{}
		}
		name, chain = filepath.Join(folder, "commit-graphs", "graph-"+lines[len(lines)-1]+".graph"), len(lines)
	}
	head := beginning(name, 8)
	if !bytes.HasPrefix(head, []byte("CGPH")) {
		return Graph{}
	}
	const entry = 12 // four letters and an offset
	table := beginning(name, 8+entry*int(head[6]))
	g := Graph{Chain: chain}
	for at := 8; at+entry <= len(table); at += entry {
		switch string(table[at : at+4]) {
		case "BDAT":
			g.Bloom = true
		case "GDA2":
			g.Generation = true
		case "GDO2":
			g.Overflow = true
		}
	}
	return g
}
