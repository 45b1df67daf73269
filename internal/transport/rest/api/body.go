package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"os"
	"reflect"
	"strings"
	"sync"
	"syscall"

	"tenon/internal/base/errs"
)

// DefaultMaxBody is how many bytes the body of a request may have where the route
// says nothing else. Anonymous callers get no more than this anywhere.
const DefaultMaxBody = 2 << 20

const (
	fileInMemory = 256 << 10 // a larger file of a multipart body waits on disk
	maxFieldSize = 1 << 20   // of a multipart field that is no file, where the parameter does not say
)

// RawBody is a field of a parameter struct whose endpoint reads the body itself, of
// any content type: uploads and streams.
type RawBody struct {
	io.Reader
	Length int64  // -1 where the client did not say
	Type   string // the Content-Type as sent
}

func rawBodyOf(r *http.Request) RawBody {
	if r == nil {
		return RawBody{Reader: http.NoBody}
	}
	return RawBody{Reader: r.Body, Length: r.ContentLength, Type: r.Header.Get("Content-Type")}
}

// File is a part of a multipart body. It exists until the request is answered.
type File struct {
	Name string // as the client calls it, without folders
	Type string // the Content-Type of the part, not to be trusted
	Size int64

	data []byte
	path string // on disk, for large ones
}

// Open returns the content.
func (f *File) Open() (io.ReadSeekCloser, error) {
	if f.path == "" {
		return memoryFile{bytes.NewReader(f.data)}, nil
	}
	file, err := os.Open(f.path)
	if err != nil {
		return nil, fmt.Errorf("open uploaded file: %w", err)
	}
	return file, nil
}

type memoryFile struct{ *bytes.Reader }

func (memoryFile) Close() error { return nil }

func setFile(to reflect.Value, raw any, _ *decoding, _ string) outcome {
	switch raw := raw.(type) {
	case nil:
		return null
	case string:
		if raw == "" {
			return null
		}
	case *File:
		to.Set(reflect.ValueOf(*raw))
		return taken
	}
	return refused
}

// readBody adds the parameters of the body. Bodies of reads count only as forms.
func (x *exchange) readBody(limit int64) error {
	r := x.r
	if r.Body == nil || r.Body == http.NoBody || r.ContentLength == 0 {
		return nil
	}
	if r.ContentLength > limit {
		return errs.New(errs.TooLarge, "")
	}
	r.Body = http.MaxBytesReader(x.w, r.Body, limit)
	if r.ContentLength < 0 {
		r.Body = &received{r.Body, &x.received}
	}
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil && kind == "" {
		kind, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(r.Header.Get("Content-Type"))), ";")
	}
	reading := r.Method == http.MethodGet || r.Method == http.MethodHead
	body := &object{}
	switch {
	case kind == "application/x-www-form-urlencoded" || kind == "" && !reading:
		err = x.wholeBody(limit, func(b []byte) error { return parseQuery(body, string(b)) })
	case kind == "multipart/form-data":
		err = x.multipart(body, params["boundary"], limit)
	case reading:
		return nil
	case kind == "application/json":
		err = x.wholeBody(limit, func(b []byte) error { return parseJSON(body, b) })
	default:
		return x.unsupported(kind)
	}
	if err != nil {
		return bodyError(err)
	}
	x.params.merge(body)
	return nil
}

// bodyError turns what reading a body can meet into the error that the client reads.
func bodyError(err error) error {
	var tooLarge *http.MaxBytesError
	var refusal *errs.Error
	switch {
	case errors.As(err, &tooLarge):
		return errs.New(errs.TooLarge, "")
	case errors.As(err, &refusal), errors.Is(err, errSlow), errors.Is(err, context.Canceled):
		return err
	}
	return errMalformed
}

// buffers hold bodies while they are parsed.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func putBuffer(b *bytes.Buffer) {
	if b.Cap() > 1<<20 { // a rare large body shall not stay in memory
		return
	}
	b.Reset()
	buffers.Put(b)
}

func (x *exchange) wholeBody(limit int64, parse func([]byte) error) error {
	buf := buffers.Get().(*bytes.Buffer)
	defer putBuffer(buf)
	if n := x.r.ContentLength; n > 0 { // what is announced is not yet sent
		buf.Grow(int(min(n, 64<<10)) + bytes.MinRead)
	}
	if _, err := buf.ReadFrom(kept{x.r.Body, x, limit, max(x.r.ContentLength, 0)}); err != nil {
		return err
	}
	return parse(buf.Bytes())
}

// unsupported refuses a body of a type that no caller reads, unless it is empty.
func (x *exchange) unsupported(kind string) error {
	if x.r.ContentLength < 0 {
		if n, err := io.ReadFull(x.r.Body, make([]byte, 1)); n == 0 && errors.Is(err, io.EOF) {
			return nil
		}
	}
	return &Refusal{
		Status: http.StatusUnsupportedMediaType,
		Text:   "The provided content-type '" + strings.ToValidUTF8(kind, "") + "' is not supported.",
	}
}

func (x *exchange) multipart(into *object, boundary string, limit int64) error {
	if boundary == "" {
		return errMalformed
	}
	parts := multipart.NewReader(x.r.Body, boundary)
	for count := 0; ; count++ {
		part, err := parts.NextRawPart()
		if err == io.EOF { // a wrapped one is a body that breaks off
			return nil
		}
		if err != nil {
			return err
		}
		if count >= maxPairs {
			return errMalformed
		}
		if err := x.part(into, part, limit); err != nil {
			return err
		}
	}
}

func (x *exchange) part(into *object, part *multipart.Part, limit int64) error {
	name := part.FormName()
	if name == "" {
		return nil
	}
	if err := clean(name); err != nil {
		return err
	}
	_, params, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
	if err != nil {
		return err
	}
	if _, isFile := params["filename"]; isFile {
		f, err := x.file(part)
		if err != nil {
			return err
		}
		return nest(into, name, f)
	}
	most := min(x.route.plan.fieldSize(name, limit), x.route.plan.fieldRoom(limit)-x.fields)
	value, err := io.ReadAll(io.LimitReader(kept{part, x, limit, 0}, most+1))
	switch {
	case err != nil:
		return err
	case int64(len(value)) > most:
		return errs.New(errs.TooLarge, "")
	case clean(string(value)) != nil:
		return errMalformed
	}
	x.fields += int64(len(value))
	return nest(into, name, string(value))
}

// file takes over the content of a part: small ones stay in memory, larger ones
// wait in a temporary file that goes with the request.
func (x *exchange) file(part *multipart.Part) (any, error) {
	f := &File{Name: part.FileName(), Type: part.Header.Get("Content-Type")}
	if err := clean(f.Name); err != nil {
		return nil, err
	}
	var head bytes.Buffer
	n, err := io.Copy(&head, io.LimitReader(part, fileInMemory))
	if err != nil {
		return nil, err
	}
	f.Size, f.data = n, head.Bytes()
	if n < fileInMemory {
		if n == 0 && f.Name == "" { // a file field of a form that was left empty
			return "", nil
		}
		return f, nil
	}
	disk, err := os.CreateTemp("", "tenon-upload-*")
	if err != nil {
		return nil, internal(fmt.Errorf("store uploaded file: %w", err))
	}
	f.path, f.data = disk.Name(), nil
	x.temporary = append(x.temporary, f.path)
	f.Size, err = io.Copy(disk, io.MultiReader(&head, part))
	if errors.Is(err, syscall.ENOSPC) {
		err = internal(fmt.Errorf("store uploaded file: %w", err))
	}
	if closeErr := disk.Close(); err == nil && closeErr != nil {
		err = internal(fmt.Errorf("store uploaded file: %w", closeErr))
	}
	return f, err
}

// internal marks a failure of ours while a body is read, so that the client is not blamed.
func internal(err error) error { return &errs.Error{Kind: errs.Internal, Err: err} }
