package gitcmd

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

// loosePath gives the file of a loose object.
func loosePath(dir string, id ObjectID) string {
	hex := id.String()
	return filepath.Join(dir, hex[:2], hex[2:])
}

// looseObject is an open loose object.
type looseObject struct {
	Info
	in   *bufio.Reader
	file *os.File
}

// openLoose opens a loose object without any process; ErrNotFound where there is none.
func openLoose(dir string, id ObjectID) (*looseObject, error) {
	f, err := os.Open(loosePath(dir, id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("read object %s: %w", id, err)
	}
	o := &looseObject{Info: Info{ID: id}, file: f}
	if err := o.readHeader(); err != nil {
		o.close()
		return nil, fmt.Errorf("read object %s: %w", id, err)
	}
	return o, nil
}

func (o *looseObject) close() { _ = o.file.Close() }

func (o *looseObject) readHeader() error {
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
		return errMalformed
	}
	return nil
}

// content reads the rest and checks it against the id.
func (o *looseObject) content() ([]byte, error) {
	var buf bytes.Buffer
	if _, err := io.Copy(&buf, io.LimitReader(o.in, o.Size+1)); err != nil {
		return nil, fmt.Errorf("read object %s: %w", o.ID, err)
	}
	if hashObject(o.Kind, buf.Bytes()) != o.ID {
		return nil, fmt.Errorf("read object %s: content does not match: %w", o.ID, errMalformed)
	}
	return buf.Bytes(), nil
}

// hasPacks reports whether the other objects folder of a view holds more than loose
// objects: packs, or a link to a pool.
func (r *Repo) hasPacks() bool {
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
