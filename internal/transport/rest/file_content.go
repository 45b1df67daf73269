package rest

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"

	"tenon/internal/base/jsonstream"
)

// contentInMemory is how many bytes of a file that is sent inside JSON are held in memory. A larger one waits on disk.
const contentInMemory = 1 << 20

// fileContent is the content of a file inside JSON, in base64. The zero value has none. Close it when it was sent.
type fileContent struct {
	text []byte
	disk *os.File
	size int64
	sum  [sha256.Size]byte
}

// readContent reads all of a file.
func readContent(from io.Reader) (fileContent, error) {
	var c fileContent
	sum := sha256.New()
	from = io.TeeReader(from, sum)
	text, err := io.ReadAll(io.LimitReader(from, contentInMemory+1))
	if err != nil {
		return c, fmt.Errorf("read file: %w", err)
	}
	if c.size = int64(len(text)); c.size <= contentInMemory {
		c.text = text
		sum.Sum(c.sum[:0])
		return c, nil
	}
	if c.disk, err = os.CreateTemp("", "tenon-content-*"); err != nil {
		return c, fmt.Errorf("keep file: %w", err)
	}
	err = os.Remove(c.disk.Name()) // it is gone when it is closed, however the program ends
	if err == nil {
		c.size, err = io.Copy(c.disk, io.MultiReader(bytes.NewReader(text), from))
	}
	if err != nil {
		return c, errors.Join(fmt.Errorf("keep file: %w", err), c.disk.Close())
	}
	sum.Sum(c.sum[:0])
	return c, nil
}

// StreamJSON writes the content.
func (c fileContent) StreamJSON(w *jsonstream.Writer) {
	if c.disk != nil {
		w.Base64(io.NewSectionReader(c.disk, 0, c.size))
		return
	}
	w.Base64(bytes.NewReader(c.text))
}

// Shape says that it is encoded as a string.
func (fileContent) Shape() reflect.Type { return reflect.TypeFor[string]() }

// close gives back what the content takes.
func (c fileContent) close() {
	if c.disk != nil {
		_ = c.disk.Close() // it has no name any more
	}
}
