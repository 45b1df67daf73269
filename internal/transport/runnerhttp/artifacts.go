package runnerhttp

import (
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strconv"

	"tenon/internal/core/ci"
)

// maxField bounds a part of a form that is no file.
const maxField = 4 << 10

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
	parts := multipart.NewReader(r.Body, params["boundary"])
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			complaint(w, http.StatusBadRequest, "file is missing")
			return nil
		}
		if err != nil {
			complaint(w, http.StatusBadRequest, "file is invalid")
			return nil
		}
		if part.FormName() != "file" {
			text, err := io.ReadAll(io.LimitReader(part, maxField))
			if err != nil {
				complaint(w, http.StatusBadRequest, part.FormName()+" is invalid")
				return nil
			}
			values.Set(part.FormName(), string(text))
			continue
		}
		err = h.CI.Store(r.Context(), held, ci.ArtifactInput{
			Type: values.Get("artifact_type"), Format: values.Get("artifact_format"), ExpireIn: values.Get("expire_in"), Access: values.Get("accessibility"),
			Filename: part.FileName(), Content: part,
		})
		if err != nil {
			return err
		}
		answer(w, http.StatusCreated, http.StatusCreated)
		return nil
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
