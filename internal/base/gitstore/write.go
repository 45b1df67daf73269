package gitstore

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/zlib"
	"context"
	"crypto/sha1"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"tenon/internal/base/charset"
	"tenon/internal/base/intx"
)

// WriteBlob stores a blob durably and returns its id. No process is started.
func (r *Repo) WriteBlob(ctx context.Context, content []byte) (ObjectID, error) {
	return r.writeObject(ctx, KindBlob, content)
}

// CommitInput describes a commit to be made.
type CommitInput struct {
	Tree       ObjectID
	Parents    []ObjectID
	Author     Signature
	AuthorLine string    // the author as another commit stores it, which is written in place of Author; "" for none
	Committer  Signature // zero: the author
	Message    string    // stored as it is, whatever its encoding
	Encoding   string    // of message and author, as the header of the commit names it; "" writes no header
}

// CommitTree stores a commit durably and returns its id. It neither moves a reference
// nor checks that tree and parents exist. No process is started.
func (r *Repo) CommitTree(ctx context.Context, in CommitInput) (ObjectID, error) {
	if in.Committer == (Signature{}) {
		in.Committer = in.Author
	}
	if in.Tree.IsZero() {
		return ObjectID{}, fmt.Errorf("write commit: no tree: %w", ErrBadName)
	}
	var buf bytes.Buffer
	fmt.Fprintf(&buf, "tree %s\n", in.Tree)
	for _, p := range in.Parents {
		fmt.Fprintf(&buf, "parent %s\n", p)
	}
	if strings.IndexByte(in.Message, 0) >= 0 || strings.ContainsAny(in.AuthorLine+in.Encoding, "\n\x00") {
		return ObjectID{}, fmt.Errorf("write commit: NUL in message, or an end of line in a header: %w", ErrBadName)
	}
	committer, ok := charset.Name(in.Encoding).Bytes(in.Committer.encode())
	if !ok && in.Encoding != "" {
		in, committer = in.unicode(), in.Committer.encode()
	}
	author := cmp.Or(in.AuthorLine, in.Author.encode())
	fmt.Fprintf(&buf, "author %s\ncommitter %s\n", author, committer)
	if in.Encoding != "" {
		fmt.Fprintf(&buf, "encoding %s\n", in.Encoding)
	}
	buf.WriteString("\n" + in.Message)
	return r.writeObject(ctx, KindCommit, buf.Bytes())
}

// unicode returns the commit in UTF-8, for a committer whose name its encoding does not have.
func (i CommitInput) unicode() CommitInput {
	c := charset.Of([]byte(i.AuthorLine+"\n"+i.Message), i.Encoding)
	i.AuthorLine, i.Message, i.Encoding = c.Text([]byte(i.AuthorLine)), c.Text([]byte(i.Message)), ""
	return i
}

// TagInput describes an annotated tag to be made.
type TagInput struct {
	Name    string // short name, as in refs/tags/<name>
	Target  ObjectID
	Tagger  Signature
	Message string
}

// WriteTag stores an annotated tag of an object of this kind durably and returns its id;
// UpdateRefs then makes the reference. No process is started.
func (r *Repo) WriteTag(ctx context.Context, in TagInput, target Kind) (ObjectID, error) {
	if _, err := TagRef(in.Name); err != nil {
		return ObjectID{}, err
	}
	if strings.IndexByte(in.Message, 0) >= 0 {
		return ObjectID{}, fmt.Errorf("write tag: NUL in message: %w", ErrBadName)
	}
	message := strings.ToValidUTF8(in.Message, "\uFFFD")
	if message != "" && !strings.HasSuffix(message, "\n") {
		message += "\n"
	}
	content := fmt.Sprintf("object %s\ntype %s\ntag %s\ntagger %s\n\n%s", in.Target, target, in.Name, in.Tagger.encode(), message)
	return r.writeObject(ctx, KindTag, []byte(content))
}

// encode writes a signature as git does, without the bytes that would break its format.
func (s Signature) encode() string {
	name, email := cleanIdentity(s.Name), cleanIdentity(s.Email)
	if name == "" {
		name = "unknown"
	}
	seconds := max(s.When.Unix(), 0)
	_, offset := s.When.Zone()
	sign := '+'
	if offset < 0 {
		sign, offset = '-', -offset
	}
	return fmt.Sprintf("%s <%s> %d %c%02d%02d", name, email, seconds, sign, offset/3600, offset/60%60)
}

// cleanIdentity drops what may not stand in a name or address, and what git strips from its ends.
func cleanIdentity(s string) string {
	s = strings.Map(func(c rune) rune {
		if c == '<' || c == '>' || c == '\n' || c == '\r' || c == 0 {
			return -1
		}
		return c
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return strings.TrimFunc(s, func(c rune) bool { return c <= ' ' || strings.ContainsRune(".,:;\"\\'", c) })
}

func (r *Repo) writeObject(ctx context.Context, kind Kind, content []byte) (ObjectID, error) {
	id := hashObject(kind, content)
	if r.isLoose(id) || r.staging != nil && r.staging.keep(id, kind, content) {
		return id, nil
	}
	return r.storeObject(ctx, kind, int64(len(content)), bytes.NewReader(content))
}

// isLoose reports whether the object stands as a file already, written durably before.
func (r *Repo) isLoose(id ObjectID) bool {
	for _, dir := range []string{r.objectDir(), filepath.Join(r.path, "objects")} {
		if _, err := os.Lstat(loosePath(dir, id)); err == nil {
			return true
		}
	}
	return false
}

// storeObject writes a loose object: to a temporary file, then by its name. Inside a
// quarantine durability waits for Commit.
func (r *Repo) storeObject(ctx context.Context, kind Kind, size int64, in io.Reader) (ObjectID, error) {
	intx.MustNot(ctx, "an object is written")
	if err := ctx.Err(); err != nil {
		return ObjectID{}, fmt.Errorf("write %s: %w", kind, err)
	}
	if err := r.Spill(ctx); err != nil {
		return ObjectID{}, err
	}
	dir := r.objectDir()
	f, err := os.CreateTemp(dir, "tmp_obj_*")
	if err != nil {
		return ObjectID{}, fmt.Errorf("write %s: %w", kind, err)
	}
	defer func() { _ = os.Remove(f.Name()) }() // gone already when all went well
	id, err := r.store.encodeLoose(ctx, f, kind, size, in)
	if err == nil {
		err = f.Chmod(0o440)
	}
	if err == nil && r.objects == "" {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return ObjectID{}, fmt.Errorf("write %s: %w", kind, err)
	}
	if err := placeObject(f.Name(), dir, id, r.objects == ""); err != nil {
		return ObjectID{}, fmt.Errorf("write %s: %w", kind, err)
	}
	return id, nil
}

// placeObject gives a written file its name among the loose objects.
func placeObject(tmp, dir string, id ObjectID, durable bool) error {
	place := placeIn(dir)
	if err := place.put(tmp, loosePath(dir, id)); err != nil || !durable {
		return err
	}
	return place.sync()
}

// encodeLoose writes header and content, compressed, and returns the id.
func (s *Store) encodeLoose(ctx context.Context, out io.Writer, kind Kind, size int64, in io.Reader) (ObjectID, error) {
	sum := sha1.New()
	buffered := bufio.NewWriter(out)
	z, ok := s.deflaters.Get().(*zlib.Writer)
	if ok {
		z.Reset(buffered)
	} else {
		var err error
		if z, err = zlib.NewWriterLevel(buffered, zlib.BestSpeed); err != nil {
			return ObjectID{}, err
		}
	}
	defer s.deflaters.Put(z)
	both := io.MultiWriter(sum, z)
	if _, err := both.Write(objectHeader(kind, size)); err != nil {
		return ObjectID{}, err
	}
	n, err := io.Copy(both, io.LimitReader(contextReader{ctx, in}, size+1))
	if err != nil {
		return ObjectID{}, err
	}
	if n != size {
		return ObjectID{}, fmt.Errorf("content is not of the promised %d bytes: %w", size, io.ErrUnexpectedEOF)
	}
	if err := errors.Join(z.Close(), buffered.Flush()); err != nil {
		return ObjectID{}, err
	}
	var id ObjectID
	sum.Sum(id[:0])
	return id, nil
}

// contextReader stops reading when its context ends.
type contextReader struct {
	ctx context.Context
	in  io.Reader
}

func (c contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.in.Read(p)
}
