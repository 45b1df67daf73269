package web

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"tenon/internal/base/errs"
	"tenon/internal/base/pattern"
	"tenon/internal/core/authz"
	"tenon/internal/core/limit"
	"tenon/internal/core/metricimage"
	"tenon/internal/core/project"
	"tenon/internal/core/upload"
	"tenon/internal/transport/httpkit"
)

// The addresses of files: of an upload in a place that is named by number or by path.
var (
	byNumber = pattern.New(`^/-/(project|group)/([0-9]{1,18})/uploads/([0-9a-f]{32})/([^/]+)$`)
	byPath   = pattern.New(`^/(groups/)?([^/].*?)(/-)?/uploads/([0-9a-f]{32})/([^/]+)$`)
)

// MatchFile reports whether a path is that of a file that a user uploaded.
func MatchFile(path string) bool {
	_, ok := parseFile(path)
	return ok || avatarPath().MatchString(path) || metricPath().MatchString(path) || imagePath().MatchString(path)
}

// fileAddress is what the path of a file names.
type fileAddress struct {
	group bool
	ref   string // number or full path of the place
	upload.Address
}

func parseFile(path string) (fileAddress, bool) {
	if m := byNumber().FindStringSubmatch(path); m != nil {
		return fileAddress{m[1] == "group", m[2], upload.Address{Secret: m[3], Name: m[4]}}, true
	}
	// Below /-/ are pages, which may show files of repositories: attachments of wikis above all.
	if m := byPath().FindStringSubmatch(path); m != nil && !strings.Contains("/"+m[2]+"/", "/-/") {
		return fileAddress{m[1] != "", m[2], upload.Address{Secret: m[4], Name: m[5]}}, true
	}
	return fileAddress{}, false
}

// names reports whether the address leads to a project.
func (a fileAddress) names(p *project.Project) bool {
	return !a.group && (a.ref == strconv.FormatInt(int64(p.ID), 10) || strings.EqualFold(a.ref, p.FullPath))
}

// ServeFile answers with a file that a user uploaded.
func (h *Handler) ServeFile(w http.ResponseWriter, r *http.Request) {
	h.Gate.Serve(w, r, h.serveFile, func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
	})
}

func (h *Handler) serveFile(w http.ResponseWriter, r *http.Request) {
	httpkit.Of(r.Context()).Route = "file"
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "Method Not Allowed", http.StatusMethodNotAllowed)
		return
	}
	as, ok, err := h.actor(w, r, limit.Web, false)
	if !ok {
		return
	}
	if err != nil {
		h.fileFailed(w, r, err)
		return
	}
	if m := avatarPath().FindStringSubmatch(r.URL.Path); m != nil {
		h.serveAvatar(w, r, as, m)
		return
	}
	if m := imagePath().FindStringSubmatch(r.URL.Path); m != nil {
		h.serveImage(w, r, m)
		return
	}
	c, err := h.open(r.Context(), as, r.URL.Path)
	switch {
	case errs.Is(err, errs.NotFound), errs.Is(err, errs.Unauthorized), errs.Is(err, errs.Forbidden):
		if to := h.movedFile(r, as); to != "" {
			http.Redirect(w, r, to, http.StatusMovedPermanently)
			return
		}
		http.NotFound(w, r) // hidden and absent look alike
		return
	case err != nil:
		h.fileFailed(w, r, err)
		return
	}
	defer c.Close()
	for name, value := range c.Headers() {
		w.Header().Set(name, value)
	}
	w.Header().Set("Etag", `"`+c.Secret+`"`)
	serveContent(w, r, c)
}

// movedFile returns the address of a file of a project or group that had another path before, "" for all others.
func (h *Handler) movedFile(r *http.Request, as authz.Actor) string {
	a, ok := parseFile(r.URL.Path)
	if !ok {
		return ""
	}
	_, err := h.placeOf(r.Context(), as, a)
	if err == nil {
		return ""
	}
	now, err := h.pathNow(r.Context(), as, a.ref, a.group, err)
	if err != nil {
		return ""
	}
	to, _ := movedTo(r.URL, a.ref, now)
	return to
}

// fileFailed answers where a file cannot be sent though it may be there.
func (h *Handler) fileFailed(w http.ResponseWriter, r *http.Request, err error) {
	h.Log.Error("file failed", "request_id", httpkit.Of(r.Context()).ID, "path", httpkit.Path(r), "error", err)
	status := failure(w, err)
	http.Error(w, http.StatusText(status), status)
}

// serveContent honours Range, but not for many parts: they are work for nothing.
func serveContent(w http.ResponseWriter, r *http.Request, c io.ReadSeeker) {
	if strings.Contains(r.Header.Get("Range"), ",") {
		r = r.Clone(r.Context())
		r.Header.Del("Range")
	}
	http.ServeContent(w, r, "", time.Time{}, c)
}

// open opens the file with an address.
func (h *Handler) open(ctx context.Context, as authz.Actor, address string) (*upload.Content, error) {
	if m := metricPath().FindStringSubmatch(address); m != nil {
		id, err := strconv.ParseInt(m[1], 10, 64)
		if err != nil {
			return nil, errs.Missing("")
		}
		return h.MetricImages.Open(ctx, as, metricimage.ID(id), m[2])
	}
	a, ok := parseFile(address)
	if !ok {
		return nil, errs.Missing("")
	}
	return h.openFile(ctx, as, a)
}

// openFile opens a file for a caller who sees its place, or knows its link where that is enough.
func (h *Handler) openFile(ctx context.Context, as authz.Actor, a fileAddress) (*upload.Content, error) {
	at, err := h.placeOf(ctx, as, a)
	if err == nil {
		return h.Uploads.Open(ctx, as, at, a.Address)
	}
	if a.group || errs.KindOf(err) == errs.Internal {
		return nil, err
	}
	return h.Uploads.OpenByLink(ctx, a.Address, a.names)
}

func (h *Handler) placeOf(ctx context.Context, as authz.Actor, a fileAddress) (authz.Place, error) {
	if a.group {
		g, err := h.Namespaces.Find(ctx, as, a.ref)
		if err != nil {
			return authz.Place{}, err
		}
		return g.Place(), nil
	}
	p, err := h.Projects.Find(ctx, as, a.ref)
	if err != nil {
		return authz.Place{}, err
	}
	return p.Place(), nil
}
