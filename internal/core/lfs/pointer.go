package lfs

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// MaxPointer is the size below which a pointer stays, in bytes.
const MaxPointer = 1024

// The sizes in bytes that pointers have in practice; what is of other size is not looked at when
// it is pushed or imported.
const (
	LeastPointer = 100
	MostPointer  = 200
)

// Pointer names a large object: it is in the repository in its place.
type Pointer struct {
	OID  string // SHA-256 of the content, 64 digits of lower-case hex
	Size int64
}

// Valid reports whether the pointer can name an object at all.
func (p Pointer) Valid() bool {
	return len(p.OID) == 64 && strings.Trim(p.OID, "0123456789abcdef") == "" && p.Size >= 0
}

// Text is the pointer as it is in a repository.
func (p Pointer) Text() string {
	return fmt.Sprintf("version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %d\n", p.OID, p.Size)
}

// ParsePointer reads the content of a file that may be a pointer.
func ParsePointer(content []byte) (Pointer, bool) {
	if len(content) >= MaxPointer || !bytes.HasPrefix(content, []byte("version https://")) {
		return Pointer{}, false
	}
	var p Pointer
	sized := false
	for i, line := range strings.Split(strings.TrimSuffix(string(content), "\n"), "\n") {
		key, value, ok := strings.Cut(line, " ")
		switch {
		case !ok:
			return Pointer{}, false
		case i == 0:
			if value != "https://git-lfs.github.com/spec/v1" && value != "https://hawser.github.com/spec/v1" {
				return Pointer{}, false
			}
		case key == "oid":
			p.OID = strings.TrimPrefix(value, "sha256:")
		case key == "size":
			n, err := strconv.ParseUint(value, 10, 63)
			if err != nil {
				return Pointer{}, false
			}
			p.Size, sized = int64(n), true
		}
	}
	return p, sized && p.Valid()
}
