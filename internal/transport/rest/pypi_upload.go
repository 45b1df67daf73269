package rest

import (
	"cmp"
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"path"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/packages"
	"tenon/internal/core/packages/pypi"
	"tenon/internal/transport/rest/api"
)

type uploadPyPIParams struct {
	projectPath
	Name            string      `param:"name" doc:"Name of the package; required, here or in the form"`
	Version         string      `param:"version" doc:"Version of the package; required, here or in the form"`
	RequiresPython  string      `param:"requires_python" doc:"Versions of Python that the file is for"`
	MD5             string      `param:"md5_digest" doc:"MD5 of the file, in hex"`
	SHA256          string      `param:"sha256_digest" doc:"SHA-256 of the file, in hex"`
	MetadataVersion string      `param:"metadata_version" doc:"Version of the metadata"`
	AuthorEmail     string      `param:"author_email" doc:"Addresses of the authors"`
	Summary         string      `param:"summary" doc:"Short description of the package"`
	Keywords        string      `param:"keywords" doc:"Keywords of the package"`
	Description     string      `param:"description" doc:"Description of the package"`
	DescriptionType string      `param:"description_content_type" doc:"Media type of the description"`
	Body            api.RawBody `doc:"A form (multipart/form-data) with the file in content, and the parameters"`
}

// metadata is what the form says, and what the query says beside it.
func (p *uploadPyPIParams) metadata(form map[string]string) *pypi.Metadata {
	return &pypi.Metadata{
		Name: cmp.Or(form["name"], p.Name), Version: cmp.Or(form["version"], p.Version), RequiresPython: cmp.Or(form["requires_python"], p.RequiresPython),
		MD5: cmp.Or(form["md5_digest"], p.MD5), SHA256: cmp.Or(form["sha256_digest"], p.SHA256),
		Summary: cmp.Or(form["summary"], p.Summary), Keywords: cmp.Or(form["keywords"], p.Keywords), AuthorEmail: cmp.Or(form["author_email"], p.AuthorEmail),
		MetadataVersion: cmp.Or(form["metadata_version"], p.MetadataVersion), Description: cmp.Or(form["description"], p.Description),
		DescriptionContentType: cmp.Or(form["description_content_type"], p.DescriptionType),
	}
}

func (h pypiHandlers) upload(ctx context.Context, as authz.Actor, in uploadPyPIParams) (messageEntity, error) {
	p, err := h.of.packages.Project(ctx, as, in.ID)
	if err != nil {
		return messageEntity{}, err
	}
	return messageEntity{"201 Created"}, h.pypi.Publish(ctx, as, p, &pypiForm{params: &in, fields: map[string]string{}})
}

const (
	maxPyPIFields = 4 << 20 // bytes of all fields of a form
	maxPyPIParts  = 1000
)

// pypiForm reads a form part by part, so that the file in it is written once, wherever it is among the fields.
type pypiForm struct {
	params *uploadPyPIParams
	parts  *multipart.Reader
	fields map[string]string
	count  int
	bytes  int64
}

// errBroken is the refusal of a form that breaks off.
var errBroken = errs.Bad("The form is incomplete")

// broken is the error of reading a form.
func broken(err error) error {
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) || errors.Is(err, context.Canceled) {
		return err
	}
	return errBroken
}

// whole is the content of a part, whose end is not that of a form that breaks off.
type whole struct{ io.Reader }

// Read reads what comes.
func (w whole) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = broken(err)
	}
	return n, err
}

// Open returns the file, and keeps the fields before it.
func (f *pypiForm) Open() (file string, content io.Reader, err error) {
	none := errs.Coded(errs.Invalid, packages.CodeInvalid, "content is missing")
	kind, params, err := mime.ParseMediaType(f.params.Body.Type)
	if err != nil || kind != "multipart/form-data" || params["boundary"] == "" {
		return "", nil, none
	}
	f.parts = multipart.NewReader(f.params.Body, params["boundary"])
	for {
		part, err := f.next()
		switch {
		case errors.Is(err, io.EOF):
			return "", nil, none
		case err != nil:
			return "", nil, err
		case part.FormName() == "content" && part.FileName() != "":
			return path.Base(part.FileName()), whole{part}, nil
		}
		if err := f.field(part); err != nil {
			return "", nil, err
		}
	}
}

// Describe keeps the fields behind the file, and returns what all of them say.
func (f *pypiForm) Describe() (*pypi.Metadata, error) {
	for {
		part, err := f.next()
		if errors.Is(err, io.EOF) {
			return f.params.metadata(f.fields), nil
		}
		if err != nil {
			return nil, err
		}
		if err := f.field(part); err != nil {
			return nil, err
		}
	}
}

func (f *pypiForm) next() (*multipart.Part, error) {
	part, err := f.parts.NextRawPart()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, broken(err)
	}
	if f.count++; f.count > maxPyPIParts {
		return nil, errs.Bad("The form has too many parts")
	}
	return part, err
}

// field keeps a field; files beside the content, such as signatures, are left out.
func (f *pypiForm) field(part *multipart.Part) error {
	if part.FileName() != "" {
		_, err := io.Copy(io.Discard, whole{part})
		return err
	}
	value, err := io.ReadAll(io.LimitReader(whole{part}, maxPyPIFields-f.bytes+1))
	if err != nil {
		return err
	}
	if f.bytes += int64(len(value)); f.bytes > maxPyPIFields {
		return errs.New(errs.TooLarge, "")
	}
	f.fields[part.FormName()] = string(value)
	return nil
}
