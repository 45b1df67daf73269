package runnerhttp

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"

	"tenon/internal/core/ci"
)

// What a form may have beside its file.
const (
	maxField  = 4 << 10 // bytes of a field
	maxFields = 50
)

// authorize says that an artifact may be sent: what a server in front would ask before it takes the file.
func (h *Handler) authorize(w http.ResponseWriter, r *http.Request, id ci.StatusID) error {
	if _, err := h.CI.Hold(r.Context(), id, tokenOf(r)); err != nil {
		return err
	}
	answer(w, http.StatusOK, map[string]any{})
	return nil
}

// upload takes an artifact from a multipart body. Its values may stand in the query, or in the body before the file.
func (h *Handler) upload(w http.ResponseWriter, r *http.Request, id ci.StatusID) error {
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" || params["boundary"] == "" {
		complaint(w, http.StatusBadRequest, "file is invalid")
		return nil
	}
	held, err := h.CI.Hold(r.Context(), id, tokenOf(r))
	if err != nil {
		return err
	}
	values := r.URL.Query()
	file, refused := fileOf(multipart.NewReader(r.Body, params["boundary"]), values)
	if refused != nil {
		complaint(w, refused.status, refused.text)
		return nil
	}
	err = h.CI.Store(r.Context(), held, ci.ArtifactInput{
		Type: values.Get("artifact_type"), Format: values.Get("artifact_format"), ExpireIn: values.Get("expire_in"), Access: values.Get("accessibility"),
		Filename: file.FileName(), Content: file,
	})
	if err != nil {
		return err
	}
	answer(w, http.StatusCreated, http.StatusCreated)
	return nil
}

type refusal struct {
	status int
	text   string
}

// fileOf reads the fields of a form into values, as far as the file, which it returns. It reads no
// more of a form whose fields exceed what they may have.
func fileOf(parts *multipart.Reader, values url.Values) (*multipart.Part, *refusal) {
	for fields := 0; ; fields++ {
		part, err := parts.NextPart()
		switch {
		case errors.Is(err, io.EOF):
			return nil, &refusal{http.StatusBadRequest, "file is missing"}
		case err != nil:
			return nil, &refusal{http.StatusBadRequest, "file is invalid"}
		case part.FormName() == "file":
			return part, nil
		}
		text, err := io.ReadAll(io.LimitReader(part, maxField+1))
		switch {
		case err != nil:
			return nil, &refusal{http.StatusBadRequest, part.FormName() + " is invalid"}
		case len(text) > maxField || fields >= maxFields:
			return nil, &refusal{http.StatusRequestEntityTooLarge, fmt.Sprintf("a form has at most %d fields of %d bytes beside the file", maxFields, maxField)}
		}
		values.Set(part.FormName(), string(text))
	}
}

// download gives the archive of a job to another job that depends on it, or to the job itself.
func (h *Handler) download(w http.ResponseWriter, r *http.Request, id ci.StatusID) error {
	held, err := h.CI.HoldAny(r.Context(), tokenOf(r))
	if err != nil {
		return err
	}
	a, o, err := h.CI.OpenForJob(r.Context(), held, id)
	if err != nil {
		return err
	}
	defer func() { _ = o.Close() }()
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": a.Filename}))
	w.Header().Set("Content-Length", strconv.FormatInt(a.Size, 10))
	if r.Method == http.MethodHead {
		return nil
	}
	_, _ = io.Copy(w, o)
	return nil
}
