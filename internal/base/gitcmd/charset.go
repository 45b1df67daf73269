package gitcmd

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"unicode/utf8"

	"tenon/internal/base/charset"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/lru"
)

const (
	charsetBytes   = 64 << 10 // of a large file that say its encoding
	charsetsInDiff = 2 << 20  // bytes of the files of one diff that say theirs; later files are read as the one before
)

// Charset finds the encoding of a file by what it holds. Repeats read nothing.
func (r *Repo) Charset(ctx context.Context, id gitstore.ObjectID) (charset.Charset, error) {
	key := resultKey{r.Path(), "charset", id.String()}
	if c, ok := lru.Get[charset.Charset](r.git.results, key); ok {
		return c, nil
	}
	blob, err := r.OpenBlob(ctx, id)
	if err != nil {
		return "", err
	}
	defer blob.Close() // which ends the process where only a part was read
	size := blob.Size
	if size > streamFrom {
		size = charsetBytes
	}
	content := make([]byte, size)
	if _, err := io.ReadFull(blob, content); err != nil {
		return "", fmt.Errorf("read file: %w", err)
	}
	c := charset.Of(content, "")
	r.remember(r.git.results, key, c, 50)
	return c, nil
}

// charsetOf is Charset for a file whose content is read already.
func (r *Repo) charsetOf(id gitstore.ObjectID, content []byte) charset.Charset {
	key := resultKey{r.Path(), "charset", id.String()}
	if c, ok := lru.Get[charset.Charset](r.git.results, key); ok {
		return c
	}
	c := charset.Of(content, "")
	r.remember(r.git.results, key, c, 50)
	return c
}

// charsets finds the encodings of the files of a diff whose patches are not UTF-8.
func (r *Repo) charsets(ctx context.Context, d *Diff) error {
	left := charsetsInDiff
	var old, added charset.Charset // of the file before
	for i := range d.Files {
		f := &d.Files[i]
		if utf8.Valid(f.Patch) {
			continue
		}
		if left > 0 {
			var err error
			if old, err = r.charsetIn(ctx, f, f.OldID, '-'); err != nil {
				return err
			}
			if added, err = r.charsetIn(ctx, f, f.NewID, '+'); err != nil {
				return err
			}
			left -= 2 * min(len(f.Patch)+charsetBytes, 2*charsetBytes)
		}
		f.oldCharset, f.newCharset = old, added
	}
	return nil
}

// charsetIn finds the encoding of one side of a file: of what it holds, or of its lines in the patch where
// that is not at hand, or is UTF-8 as far as it is read.
func (r *Repo) charsetIn(ctx context.Context, f *FileDiff, id gitstore.ObjectID, side byte) (charset.Charset, error) {
	if !id.IsZero() {
		if c, err := r.Charset(ctx, id); err != nil || c != "" {
			return c, err
		}
	}
	var lines []byte
	for line := range bytes.Lines(f.Patch) {
		if line[0] == side || line[0] == ' ' {
			lines = append(lines, line[1:]...)
		}
	}
	return charset.Of(lines, ""), nil
}

// Text returns the patch in UTF-8: lines of the old file in its encoding, all others in that of the new one.
func (f *FileDiff) Text() string {
	if utf8.Valid(f.Patch) {
		return string(f.Patch)
	}
	var out bytes.Buffer
	for line := range bytes.Lines(f.Patch) {
		c := f.newCharset
		if line[0] == '-' || f.Deleted() {
			c = f.oldCharset
		}
		out.WriteString(c.Text(line))
	}
	return out.String()
}
