package backup

import (
	"archive/tar"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/klauspost/compress/zstd"
)

// Writer writes the archive of a backup, without compression. It holds nothing back: what
// it returns from has been written. Use a [Compressor] for the file.
type Writer struct {
	tar      *tar.Writer
	at       time.Time
	manifest Manifest
	open     *digest // the part that is being written, nil for none
	buffer   []byte
}

// NewWriter begins an archive.
func NewWriter(to io.Writer, head Head) (*Writer, error) {
	head.Format = Format
	w := &Writer{
		tar: tar.NewWriter(to), at: head.CreatedAt.Truncate(time.Second), buffer: make([]byte, 256<<10),
		manifest: Manifest{ID: head.ID, Parts: []Part{}, Notes: []string{}, Deleted: []int64{}},
	}
	if err := w.document(headName, head); err != nil {
		return nil, fmt.Errorf("begin backup: %w", err)
	}
	return w, nil
}

func (w *Writer) document(name string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if err := w.header(name, int64(len(text))); err != nil {
		return err
	}
	_, err = w.tar.Write(text)
	return err
}

func (w *Writer) header(name string, size int64) error {
	return w.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o600, ModTime: w.at})
}

// Put adds an entry of exactly size bytes. The first two elements of its name are the part
// that it belongs to. Entries of one part follow each other.
func (w *Writer) Put(name string, size int64, content io.Reader) error {
	part, _, ok := partOf(name)
	if !ok {
		return fmt.Errorf("write backup: bad name %q", name)
	}
	if w.open == nil || w.open.part.Name != part {
		w.end()
		w.open = newDigest(part)
	}
	if err := w.header(name, size); err != nil {
		return fmt.Errorf("write backup: %w", err)
	}
	w.open.entry(name, size)
	n, err := io.CopyBuffer(onlyWriter{io.MultiWriter(w.tar, w.open.sum)}, io.LimitReader(content, size), w.buffer)
	if err == nil && n < size {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return fmt.Errorf("write %s to backup: %w", name, err)
	}
	return nil
}

// onlyWriter keeps io.CopyBuffer to its buffer.
type onlyWriter struct{ io.Writer }

func (w *Writer) end() {
	if w.open == nil {
		return
	}
	part := w.open.end()
	w.manifest.Parts = append(w.manifest.Parts, part)
	w.manifest.Bytes += part.Bytes
	w.manifest.Entries += part.Entries
	w.open = nil
}

// Bytes says how much content was written so far.
func (w *Writer) Bytes() int64 {
	n := w.manifest.Bytes
	if w.open != nil {
		n += w.open.part.Bytes
	}
	return n
}

// Note adds a sentence for the operator to the manifest.
func (w *Writer) Note(text string) { w.manifest.Notes = append(w.manifest.Notes, text) }

// Deleted records that the repository of a project went while the backup was made.
func (w *Writer) Deleted(project int64) { w.manifest.Deleted = append(w.manifest.Deleted, project) }

// Close writes the manifest and ends the archive.
func (w *Writer) Close() (*Manifest, error) {
	w.end()
	if err := errors.Join(w.document(manifestName, w.manifest), w.tar.Close()); err != nil {
		return nil, fmt.Errorf("end backup: %w", err)
	}
	return &w.manifest, nil
}

// Frames that zstd skips: https://www.rfc-editor.org/rfc/rfc8878#section-3.1.2
const (
	skippable = 0x184D2A5E
	tailMark  = "TENONEND"
	tailEnd   = 4 + len(tailMark) // size of the text, then the mark
	maxTail   = 64 << 10
)

// Compressor turns the bytes of an archive into those of a backup file.
type Compressor struct {
	zstd *zstd.Encoder
	to   io.Writer
}

// NewCompressor writes to to. Its memory is bounded to a few megabytes.
func NewCompressor(to io.Writer) (*Compressor, error) {
	z, err := zstd.NewWriter(to, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(1<<20), zstd.WithEncoderConcurrency(1),
		zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, fmt.Errorf("compress backup: %w", err)
	}
	return &Compressor{zstd: z, to: to}, nil
}

// Write compresses.
func (c *Compressor) Write(p []byte) (int, error) { return c.zstd.Write(p) }

// Abort gives up; what was written is no complete backup.
func (c *Compressor) Abort() {
	c.zstd.Reset(nil)
	_ = c.zstd.Close()
}

// Close ends the file of the manifest's backup.
func (c *Compressor) Close(m *Manifest) error {
	if err := c.zstd.Close(); err != nil {
		return fmt.Errorf("end backup: %w", err)
	}
	text, err := json.Marshal(m.tail())
	if err != nil {
		return fmt.Errorf("end backup: %w", err)
	}
	frame := binary.LittleEndian.AppendUint32(nil, skippable)
	frame = binary.LittleEndian.AppendUint32(frame, uint32(len(text)+tailEnd))
	frame = append(frame, text...)
	frame = binary.LittleEndian.AppendUint32(frame, uint32(len(text)))
	frame = append(frame, tailMark...)
	if _, err := c.to.Write(frame); err != nil {
		return fmt.Errorf("end backup: %w", err)
	}
	return nil
}
