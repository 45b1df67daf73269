package web

import (
	"io"
	"net/http"
	"strconv"

	"tenon/internal/base/errs"
	"tenon/internal/base/pattern"
	"tenon/internal/core/authz"
	"tenon/internal/core/avatar"
	"tenon/internal/transport/httpkit"
)

// avatarPath is the address of the picture of a user, a group, a project or a topic.
var avatarPath = pattern.New(`^/uploads/-/system/(user|group|project|topic)/avatar/([0-9]{1,18})/([^/]+)$`)

// metricPath is the address of a metric image of an incident.
var metricPath = pattern.New(`^/uploads/-/system/issuable_metric_image/file/([0-9]{1,18})/([^/]+)$`)

// serveAvatar answers with a picture. Another one may come under the same name, so that
// caches ask again after a few minutes.
func (h *Handler) serveAvatar(w http.ResponseWriter, r *http.Request, as authz.Actor, m []string) {
	id, err := strconv.ParseInt(m[2], 10, 64)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	kind := avatar.Kind(m[1])
	o, err := h.Avatars.Open(r.Context(), as, kind, id, m[3])
	switch {
	case errs.Is(err, errs.NotFound), errs.Is(err, errs.Unauthorized), errs.Is(err, errs.Forbidden):
		http.NotFound(w, r)
		return
	case err != nil:
		h.Log.Error("avatar failed", "request_id", httpkit.Of(r.Context()).ID, "path", r.URL.Path, "error", err)
		status := failure(w, err)
		http.Error(w, http.StatusText(status), status)
		return
	}
	cache := "private"
	if kind == avatar.User || kind == avatar.Topic {
		cache = "public"
	}
	servePicture(w, r, o.ContentType, o.Version, cache, o.Object)
}

// servePicture answers with a picture that was stored, and closes it. Caches, which are private or public, ask again after a few minutes.
func servePicture(w http.ResponseWriter, r *http.Request, kind, version, cache string, from io.ReadSeekCloser) {
	defer from.Close()
	header := w.Header()
	header.Set("Content-Type", kind)
	header.Set("Content-Disposition", "inline")
	header.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Etag", `"`+version+`"`)
	header.Set("Cache-Control", cache+", max-age=300")
	serveContent(w, r, from)
}
