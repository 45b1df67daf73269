package backup

import (
	"archive/tar"
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/klauspost/compress/zstd"
)

// File is a backup that is open for reading. Close it.
type File struct {
	Head
	Size int64 // of the file
	Tail *Tail // nil where the file is not complete

	file *os.File
}

// Open reads what a backup is of and whether it is complete. A file that is no backup is
// ErrNoBackup.
func Open(name string) (*File, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	f := &File{file: file}
	if err := f.inspect(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), file.Close())
	}
	return f, nil
}

// Close ends the use of the file.
func (f *File) Close() error { return f.file.Close() }

func (f *File) inspect() error {
	info, err := f.file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("no regular file: %w", ErrNoBackup)
	}
	f.Size = info.Size()
	r, err := f.reader()
	if err != nil {
		return err
	}
	r.close()
	f.Head = r.head
	f.Tail = f.tail()
	if f.Tail != nil && f.Tail.ID != f.ID { // of another file
		f.Tail = nil
	}
	return nil
}

// tail reads the end of the file, nil where it is not the end of a backup.
func (f *File) tail() *Tail {
	end := make([]byte, tailEnd)
	if _, err := f.file.ReadAt(end, max(0, f.Size-int64(tailEnd))); err != nil || string(end[4:]) != tailMark {
		return nil
	}
	size := int64(binary.LittleEndian.Uint32(end))
	if size > maxTail || size+int64(tailEnd) > f.Size {
		return nil
	}
	text := make([]byte, size)
	if _, err := f.file.ReadAt(text, f.Size-int64(tailEnd)-size); err != nil {
		return nil
	}
	var t Tail
	if json.Unmarshal(text, &t) != nil {
		return nil
	}
	return &t
}

// reader walks through the entries of an archive.
type reader struct {
	zstd *zstd.Decoder
	tar  *tar.Reader
	head Head
}

func (r *reader) close() { r.zstd.Close() }

func (f *File) reader() (*reader, error) {
	if _, err := f.file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	z, err := zstd.NewReader(bufio.NewReaderSize(f.file, 256<<10), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(8<<20))
	if err != nil {
		return nil, err
	}
	r := &reader{zstd: z, tar: tar.NewReader(z)}
	h, err := r.next()
	if err == nil && h.Name != headName {
		err = ErrNoBackup
	}
	if err == nil {
		err = r.document(h, maxHead, &r.head)
	}
	if err == nil && r.head.Format > Format {
		err = fmt.Errorf("its format %d is newer than this program, which reads format %d", r.head.Format, Format)
	}
	if err != nil {
		z.Close()
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, tar.ErrHeader) || errors.Is(err, zstd.ErrMagicMismatch) {
			err = fmt.Errorf("%w (%w)", ErrNoBackup, err)
		}
		return nil, err
	}
	return r, nil
}

// next returns the header of an entry that may be in a backup.
func (r *reader) next() (*tar.Header, error) {
	h, err := r.tar.Next()
	if err != nil {
		return nil, err
	}
	if h.Typeflag != tar.TypeReg || h.Size < 0 || h.Linkname != "" {
		return nil, fmt.Errorf("%q is no plain file", clip(h.Name))
	}
	return h, nil
}

func (r *reader) document(h *tar.Header, limit int64, into any) error {
	if h.Size > limit {
		return fmt.Errorf("%s has %d bytes, and %d are the most", h.Name, h.Size, limit)
	}
	text, err := io.ReadAll(r.tar)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s: %w", h.Name, err)
	}
	return nil
}

func clip(s string) string { return s[:min(len(s), 100)] }

// Verify reads the whole file and compares it with its manifest, without writing anything.
// tell is called from time to time with how many bytes of all have been read. A file that is not
// complete is an error.
func (f *File) Verify(ctx context.Context, tell func(done, all int64)) (*Manifest, error) {
	if f.Tail == nil {
		return nil, errors.New("the backup is not complete: its end is missing")
	}
	r, err := f.reader()
	if err != nil {
		return nil, err
	}
	defer r.close()
	m, err := r.verify(ctx, *f.Tail, tell)
	if err != nil {
		return nil, fmt.Errorf("the backup is damaged: %w", err)
	}
	return m, nil
}

func (r *reader) verify(ctx context.Context, tail Tail, tell func(done, all int64)) (*Manifest, error) {
	var found []Part
	var open *digest
	var bytes, entries int64
	names := map[string]bool{} // of parts
	buffer := make([]byte, 256<<10)
	for {
		h, err := r.next()
		if err != nil {
			return nil, unexpected(err)
		}
		if h.Name == manifestName {
			if open != nil {
				found = append(found, open.end())
			}
			return r.compare(h, found, tail)
		}
		part, _, ok := partOf(h.Name)
		if !ok {
			return nil, fmt.Errorf("bad name %q", clip(h.Name))
		}
		if open == nil || open.part.Name != part {
			if open != nil {
				found = append(found, open.end())
			}
			if names[part] {
				return nil, fmt.Errorf("%s comes twice", clip(part))
			}
			open, names[part] = newDigest(part), true
		}
		open.entry(h.Name, h.Size)
		bytes, entries = bytes+h.Size, entries+1
		if bytes > tail.Bytes || bytes < 0 || entries > tail.Entries || len(found) >= tail.Parts {
			return nil, errors.New("it holds more than it says")
		}
		if _, err := io.CopyBuffer(onlyWriter{open.sum}, onlyReader{cancellable{ctx, r.tar}}, buffer); err != nil {
			return nil, err
		}
		tell(bytes, tail.Bytes)
	}
}

// compare reads the manifest and what follows it.
func (r *reader) compare(h *tar.Header, found []Part, tail Tail) (*Manifest, error) {
	m := new(Manifest)
	if err := r.document(h, maxManifest, m); err != nil {
		return nil, err
	}
	if _, err := r.tar.Next(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the manifest")
	}
	for i := range min(len(found), len(m.Parts)) {
		if found[i] != m.Parts[i] {
			return nil, fmt.Errorf("%s is not what the manifest says", clip(found[i].Name))
		}
	}
	if len(found) != len(m.Parts) || m.ID != r.head.ID || m.tail() != tail {
		return nil, errors.New("the manifest is that of another backup")
	}
	return m, nil
}

// unexpected is the error of what ends too early.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

type onlyReader struct{ io.Reader }

// cancellable ends reading with its context.
type cancellable struct {
	ctx  context.Context // lives as long as one call
	from io.Reader
}

// Read passes on.
func (c cancellable) Read(p []byte) (int, error) {
	if err := context.Cause(c.ctx); err != nil {
		return 0, err
	}
	return c.from.Read(p)
}

// Reader hands out the entries of a verified backup, one after the other. Each part is
// compared with the manifest again when its last entry has been read: what came out of it
// counts only if no error follows.
type Reader struct {
	r      *reader
	parts  []Part // that are still to come
	open   *digest
	ahead  *Entry // was looked at
	ended  bool
	remain int64 // of the entry
}

// Entry is one file of a backup.
type Entry struct {
	Part string // such as repositories/7
	Name string // below the part
	Size int64
}

// Reader reads the backup a second time.
func (f *File) Reader(m *Manifest) (*Reader, error) {
	r, err := f.reader()
	if err != nil {
		return nil, err
	}
	return &Reader{r: r, parts: slices.Clone(m.Parts)}, nil
}

// Close ends the use of the reader.
func (r *Reader) Close() { r.r.close() }

// Peek returns the entry that Next gives next, io.EOF after the last. What is left of the
// present one is skipped.
func (r *Reader) Peek() (*Entry, error) {
	if r.ahead == nil && !r.ended {
		if err := r.advance(); err != nil {
			return nil, fmt.Errorf("read backup: %w", err)
		}
	}
	if r.ended {
		return nil, io.EOF
	}
	return r.ahead, nil
}

// Next goes to the next entry, whose content is read by Read, io.EOF after the last.
func (r *Reader) Next() (*Entry, error) {
	e, err := r.Peek()
	r.ahead = nil
	return e, err
}

func (r *Reader) advance() error {
	if _, err := io.Copy(io.Discard, r); err != nil {
		return err
	}
	h, err := r.r.next()
	if err != nil {
		return unexpected(err)
	}
	if h.Name == manifestName {
		r.ended = true
		if err := r.endPart(); err != nil {
			return err
		}
		if len(r.parts) > 0 {
			return errChanged
		}
		return nil
	}
	part, name, ok := partOf(h.Name)
	if !ok {
		return errChanged
	}
	if r.open == nil || r.open.part.Name != part {
		if err := r.endPart(); err != nil {
			return err
		}
		if len(r.parts) == 0 || r.parts[0].Name != part {
			return errChanged
		}
		r.open = newDigest(part)
	}
	r.open.entry(h.Name, h.Size)
	if want := r.parts[0]; r.open.part.Entries > want.Entries || r.open.part.Bytes > want.Bytes {
		return errChanged
	}
	r.remain = h.Size
	r.ahead = &Entry{Part: part, Name: name, Size: h.Size}
	return nil
}

var errChanged = errors.New("the file has changed since it was verified")

func (r *Reader) endPart() error {
	if r.open == nil {
		return nil
	}
	if r.open.end() != r.parts[0] {
		return errChanged
	}
	r.open, r.parts = nil, r.parts[1:]
	return nil
}

// Read reads the content of the present entry.
func (r *Reader) Read(p []byte) (int, error) {
	if r.remain == 0 {
		return 0, io.EOF
	}
	n, err := r.r.tar.Read(p[:min(int64(len(p)), r.remain)])
	_, _ = r.open.sum.Write(p[:n])
	r.remain -= int64(n)
	if errors.Is(err, io.EOF) && r.remain == 0 {
		err = nil
	}
	return n, err
}
