// Package backup reads and writes the file of a backup: a tar archive, compressed with
// zstd, that tells in the end what it holds.
//
// The first entry is the [Head]. Then come parts, each of one or more entries whose names
// begin with that of the part. The last entry is the [Manifest] with the size and the SHA-256
// of each part. After the archive stands a [Tail] in a frame that zstd skips: a file without
// it is not complete. Tools for tar and zstd read such a file, too.
//
// What is read is not trusted: a backup has regular files with plain relative names and
// nothing else, and [Reader] hands out what a verified manifest announces and no byte more.
package backup

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"path"
	"strings"
	"time"
	"unicode/utf8"
)

// Format is the version of the file format.
const Format = 1

// Names of the first and the last entry.
const (
	headName     = "tenon-backup.json"
	manifestName = "manifest.json"
)

// Bounds of what is read into memory, in bytes, and of names.
const (
	maxHead     = 1 << 20
	maxManifest = 256 << 20
	maxName     = 1 << 10
)

// ErrNoBackup reports a file that is no backup at all.
var ErrNoBackup = errors.New("this is no backup of Tenon")

// Step is a migration that the schema of a backup has.
type Step struct {
	Name     string `json:"name"`
	Checksum string `json:"checksum"`
}

// Head says what a backup is of. It is known when the backup begins.
type Head struct {
	Format    int       `json:"format"`
	ID        string    `json:"id"` // of this backup, random
	CreatedAt time.Time `json:"created_at"`
	Version   string    `json:"version"`               // of the program
	Revision  string    `json:"revision"`              // likewise
	Engine    string    `json:"engine"`                // that the database was on; the backup itself depends on none
	Instance  string    `json:"instance_id,omitempty"` // "" where the instance has none
	Schema    []Step    `json:"schema"`                // in order
	SecretKey bool      `json:"secret_key"`            // whether the key is among the parts
}

// Part is what belongs together: a table, a repository.
type Part struct {
	Name    string `json:"name"`
	Entries int64  `json:"entries"`
	Bytes   int64  `json:"bytes"`
	SHA256  string `json:"sha256"` // of the names, sizes and contents of its entries
}

// Manifest says what a backup holds.
type Manifest struct {
	ID      string   `json:"id"` // as in the head
	Parts   []Part   `json:"parts"`
	Notes   []string `json:"notes"`   // what is not as it should be, in sentences
	Deleted []int64  `json:"deleted"` // projects whose repositories went while the backup was made
	Bytes   int64    `json:"bytes"`   // of all entries of all parts
	Entries int64    `json:"entries"` // of all parts
}

// Tail says that a backup is complete, and sums it up.
type Tail struct {
	ID      string `json:"id"`
	Parts   int    `json:"parts"`
	Entries int64  `json:"entries"`
	Bytes   int64  `json:"bytes"` // before compression
	Notes   int    `json:"notes"`
}

// tail sums a manifest up.
func (m *Manifest) tail() Tail {
	return Tail{ID: m.ID, Parts: len(m.Parts), Entries: m.Entries, Bytes: m.Bytes, Notes: len(m.Notes)}
}

// digest is the running sum of a part.
type digest struct {
	sum  hash.Hash
	part Part
}

func newDigest(name string) *digest { return &digest{sum: sha256.New(), part: Part{Name: name}} }

// entry begins an entry; its content is written to sum after it.
func (d *digest) entry(name string, size int64) {
	fmt.Fprintf(d.sum, "%s\x00%d\x00", name, size)
	d.part.Entries++
	d.part.Bytes += size
}

func (d *digest) end() Part {
	d.part.SHA256 = hex.EncodeToString(d.sum.Sum(nil))
	return d.part
}

// partOf returns the part of an entry, which are the first two elements of its name, and the
// rest of the name. It is not ok where the name is not plain.
func partOf(name string) (part, rest string, ok bool) {
	if len(name) > maxName || !utf8.ValidString(name) || strings.ContainsAny(name, "\\\x00\n\r") || path.Clean(name) != name ||
		path.IsAbs(name) || name == ".." || strings.HasPrefix(name, "../") {
		return "", "", false
	}
	first, rest, ok1 := strings.Cut(name, "/")
	second, rest, ok2 := strings.Cut(rest, "/")
	return first + "/" + second, rest, ok1 && ok2
}
