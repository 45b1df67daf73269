package gitstore

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// loosePath returns the file of a loose object.
func loosePath(dir string, id ObjectID) string {
	hex := id.String()
	return filepath.Join(dir, hex[:2], hex[2:])
}

// Object is an open object that is no part of a pack. Close it.
type Object struct {
	Info
	in   *bufio.Reader
	file *os.File
}

// openLoose opens a loose object without any process; ErrNotFound where there is none.
func openLoose(dir string, id ObjectID) (*Object, error) {
	f, err := os.Open(loosePath(dir, id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("read object %s: %w", id, err)
	}
	o := &Object{Info: Info{ID: id}, file: f}
	if err := o.readHeader(); err != nil {
		o.Close()
		return nil, fmt.Errorf("read object %s: %w", id, err)
	}
	return o, nil
}

// Close ends the reading.
func (o *Object) Close() {
	if o.file != nil {
		_ = o.file.Close()
	}
}

func (o *Object) readHeader() error {
	z, err := zlib.NewReader(bufio.NewReader(o.file))
	if err != nil {
		return err
	}
	o.in = bufio.NewReaderSize(z, 512)
	head, err := o.in.ReadSlice(0)
	if err != nil {
		return err
	}
	kind, digits, ok := strings.Cut(string(head[:len(head)-1]), " ")
	o.Kind = Kind(kind)
	o.Size, err = strconv.ParseInt(digits, 10, 64)
	if !ok || err != nil || o.Size < 0 {
		return ErrMalformed
	}
	return nil
}

// Content reads the object whole, once, and checks it against the id.
func (o *Object) Content() ([]byte, error) {
	var buf bytes.Buffer
	if _, err := io.Copy(&buf, io.LimitReader(o.in, o.Size+1)); err != nil {
		return nil, fmt.Errorf("read object %s: %w", o.ID, err)
	}
	if hashObject(o.Kind, buf.Bytes()) != o.ID {
		return nil, fmt.Errorf("read object %s: content does not match: %w", o.ID, ErrMalformed)
	}
	return buf.Bytes(), nil
}

// OpenNew opens an object that only this view sees and that is in no pack; ErrNotFound
// where there is none. No process is started.
func (r *Repo) OpenNew(id ObjectID) (*Object, error) {
	if r.objects == "" {
		return nil, ErrNotFound
	}
	if r.staging != nil {
		if o, ok := r.staging.find(id); ok {
			return o, nil
		}
	}
	return openLoose(r.objects, id)
}

// HasNewPacks reports whether a view sees more than loose objects beside those of the
// repository: packs, or a link to a pool.
func (r *Repo) HasNewPacks() bool {
	if r.objects == "" {
		return false
	}
	if _, err := os.Lstat(filepath.Join(r.objects, "info", "alternates")); err == nil {
		return true
	}
	names, err := os.ReadDir(filepath.Join(r.objects, "pack"))
	if err != nil {
		return false
	}
	for _, n := range names {
		if strings.HasSuffix(n.Name(), ".idx") {
			return true
		}
	}
	return false
}

// NewLooseBlobs hands the content of the blobs that only this view sees and that are in no
// pack to fn, as far as they have from least to most bytes.
func (r *Repo) NewLooseBlobs(least, most int64, fn func(content []byte) error) error {
	if r.objects == "" {
		return nil
	}
	if r.staging != nil {
		held, made := r.staging.blobs(least, most)
		for _, content := range held {
			if err := fn(content); err != nil {
				return err
			}
		}
		if !made {
			return nil
		}
	}
	folders, err := os.ReadDir(r.objects)
	if err != nil {
		return err
	}
	for _, folder := range folders {
		if len(folder.Name()) != 2 || !IsHex(folder.Name()) {
			continue
		}
		files, err := os.ReadDir(r.objects + "/" + folder.Name())
		if err != nil {
			return err
		}
		for _, file := range files {
			id, err := ParseObjectID(folder.Name() + file.Name())
			if err != nil {
				continue // it is being written
			}
			if err := looseBlob(r.objects, id, least, most, fn); err != nil {
				return err
			}
		}
	}
	return nil
}

func looseBlob(dir string, id ObjectID, least, most int64, fn func(content []byte) error) error {
	o, err := openLoose(dir, id)
	if err != nil {
		return err
	}
	defer o.Close()
	if o.Kind != KindBlob || o.Size < least || o.Size > most {
		return nil
	}
	content, err := o.Content()
	if err != nil {
		return err
	}
	return fn(content)
}
