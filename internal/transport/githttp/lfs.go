package githttp

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"tenon/internal/base/errs"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/lfs"
	"tenon/internal/core/limit"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/transport/httpkit"
)

// mediaLFS is the media type of the LFS interface.
const mediaLFS = "application/vnd.git-lfs+json"

// Bounds of what one request may ask.
const (
	maxLFSBody    = 4 << 20
	maxLFSObjects = 1000
)

// lfsTarget is what the path of an LFS request names.
type lfsTarget struct {
	project string   // full path without .git
	parts   []string // what comes after: objects/batch, locks/17/unlock, or the name and size of an object
	content bool     // the path is that of an object's content
}

// parseLFS reads the path of an LFS request, strictly.
func parseLFS(path string) (lfsTarget, bool) {
	for _, mark := range []string{".git/info/lfs/", ".git/gitlab-lfs/objects/"} {
		name, rest, ok := strings.Cut(strings.TrimPrefix(path, "/"), mark)
		if !ok {
			continue
		}
		if !strings.Contains(name, "/") || strings.Contains(name, "/-/") || strings.HasPrefix(name, "api/v4/") {
			return lfsTarget{}, false
		}
		return lfsTarget{project: name, parts: strings.Split(rest, "/"), content: strings.HasPrefix(mark, ".git/gitlab-lfs")}, true
	}
	return lfsTarget{}, false
}

// lfsExchange is one LFS request whose caller and project are known.
type lfsExchange struct {
	*Handler
	w     http.ResponseWriter
	r     *http.Request
	as    authz.Actor
	p     *project.Project
	write bool       // the credential permits writing
	grant *lfs.Grant // what a token of ours permits; nil where the caller signed on otherwise
}

// lfsRoute is one operation of the LFS interface.
type lfsRoute struct {
	method    string
	operation lfs.Operation // least that a token of ours must permit
	serve     func(x *lfsExchange)
	changes   bool // is refused in maintenance mode
	body      bool // names its object in the body, so that serve holds a token of ours against it
}

// lfsRoutes are keyed by the path, with * for a part that varies.
var lfsRoutes = map[string][]lfsRoute{
	"objects/batch":  {{method: http.MethodPost, serve: (*lfsExchange).batch}},
	"objects/verify": {{method: http.MethodPost, operation: lfs.Upload, serve: (*lfsExchange).verify, body: true}},
	"locks":          {{method: http.MethodGet, operation: lfs.Download, serve: (*lfsExchange).listLocks}, {method: http.MethodPost, operation: lfs.Upload, serve: (*lfsExchange).createLock, changes: true}},
	"locks/verify":   {{method: http.MethodPost, operation: lfs.Upload, serve: (*lfsExchange).verifyLocks}},
	"locks/*/unlock": {{method: http.MethodPost, operation: lfs.Upload, serve: (*lfsExchange).unlock, changes: true}},
}

func (t lfsTarget) routes() []lfsRoute {
	if t.content {
		switch len(t.parts) {
		case 1:
			return []lfsRoute{{method: http.MethodGet, operation: lfs.Download, serve: (*lfsExchange).download}}
		case 2:
			return []lfsRoute{{method: http.MethodPut, operation: lfs.Upload, serve: (*lfsExchange).upload, changes: true}}
		}
		return nil
	}
	if len(t.parts) == 3 {
		return lfsRoutes[t.parts[0]+"/*/"+t.parts[2]]
	}
	return lfsRoutes[strings.Join(t.parts, "/")]
}

// subject is what the path is about, without names: objects, locks and the like.
func (t lfsTarget) subject() string {
	if t.content || len(t.parts) == 0 {
		return "content"
	}
	switch t.parts[0] {
	case "objects", "locks":
		return t.parts[0]
	}
	return "other"
}

// serveLFS answers one request of an LFS client.
func (h *Handler) serveLFS(w http.ResponseWriter, r *http.Request, t lfsTarget) {
	w.Header().Set("Cache-Control", "no-store")
	seen := httpkit.Of(r.Context())
	seen.Route, seen.Service, seen.Project = "git-lfs/"+t.subject(), "git-lfs", t.project
	routes := t.routes()
	if routes == nil {
		lfsRefuse(w, http.StatusNotFound, "Not found.")
		return
	}
	var route *lfsRoute
	for i := range routes {
		if routes[i].method == r.Method {
			route = &routes[i]
		}
	}
	if route == nil {
		w.Header().Set("Allow", routes[0].method)
		lfsRefuse(w, http.StatusMethodNotAllowed, "Method Not Allowed")
		return
	}
	x := &lfsExchange{Handler: h, w: w, r: r}
	defer func() { seen.As = x.as }()
	if !x.signOn() || !x.find(t.project) || !x.granted(*route) {
		return
	}
	if route.changes && !x.writable() {
		return
	}
	route.serve(x)
}

// writable refuses what changes anything in maintenance mode.
func (x *lfsExchange) writable() bool {
	err := x.Settings.Writable()
	if err != nil {
		lfsRefuse(x.w, http.StatusServiceUnavailable, err.Error())
	}
	return err == nil
}

// signOn reads who asks: with a token that we gave out ourselves, or as for git.
func (x *lfsExchange) signOn() bool {
	scheme, token, _ := strings.Cut(x.r.Header.Get("Authorization"), " ")
	if strings.EqualFold(scheme, "bearer") {
		g, err := x.LFS.Redeem(x.r.Context(), token)
		if err != nil {
			x.fault(err)
			return false
		}
		x.as, x.grant, x.write = g.Actor, &g, g.Operation == lfs.Upload
		x.as.Address = httpkit.Address(x.r)
		return !x.throttled()
	}
	x.as.Address = httpkit.Address(x.r)
	user, password, ok := x.r.BasicAuth()
	if !ok {
		return !x.throttled()
	}
	as, access, err := x.SignOn.Git(x.r, user, password)
	if err == nil && !access.Read {
		err = errs.New(errs.Unauthorized, "")
	}
	if err == nil {
		x.as = as
	}
	if x.throttled() {
		return false
	}
	if err != nil {
		x.fault(err)
		return false
	}
	x.write = access.Write
	return true
}

// throttled answers a caller who asks too often.
func (x *lfsExchange) throttled() bool {
	httpkit.Of(x.r.Context()).As = x.as
	return x.SignOn.Throttled(x.w, limit.GitLFS, x.as)
}

// find finds the project, also where a path leads to that it had earlier. No caller who is
// not signed on learns whether there is one: it is asked for credentials.
func (x *lfsExchange) find(path string) bool {
	p, err := x.Projects.Find(x.r.Context(), x.as, path)
	if moved, was := errors.AsType[*project.Moved](err); was {
		p, err = x.Projects.FindByID(x.r.Context(), x.as, moved.ID)
	}
	if errs.Is(err, errs.NotFound) && !x.as.Known() && x.grant == nil {
		err = errs.New(errs.Unauthorized, "")
	}
	if err != nil {
		x.fault(err)
		return false
	}
	x.p = p
	return x.open()
}

// open asks whether the project is served over HTTP; what a token of ours names is.
func (x *lfsExchange) open() bool {
	if x.grant != nil {
		return true
	}
	closed, err := x.Namespaces.Closed(x.r.Context(), x.as, x.p.NamespaceID, namespace.HTTP)
	if err != nil {
		x.fault(err)
		return false
	}
	if closed {
		lfsRefuse(x.w, http.StatusForbidden, "Git access over HTTP is not allowed")
	}
	return !closed
}

// granted holds a token of ours against what is asked: it is good for its project, its
// operation and, where it names one, its object.
func (x *lfsExchange) granted(route lfsRoute) bool {
	if x.grant == nil {
		return true
	}
	switch {
	case x.grant.ProjectID != x.p.ID,
		route.operation == lfs.Upload && x.grant.Operation != lfs.Upload,
		x.grant.OID != "" && !route.body && x.grant.OID != x.object().OID:
		lfsRefuse(x.w, http.StatusForbidden, "Access forbidden. Check your access level.")
		return false
	}
	return true
}

// object returns the object that the path of a transfer names; of other requests none.
func (x *lfsExchange) object() lfs.Pointer {
	t, _ := parseLFS(x.r.URL.Path)
	if !t.content {
		return lfs.Pointer{Size: -1}
	}
	o := lfs.Pointer{OID: t.parts[0]}
	if len(t.parts) == 2 {
		size, err := strconv.ParseInt(t.parts[1], 10, 64)
		if err != nil {
			size = -1
		}
		o.Size = size
	}
	return o
}

// may holds the credential against an operation: a token that only reads does not write,
// whatever its user may.
func (x *lfsExchange) may(op lfs.Operation) bool {
	if op == lfs.Download || x.write {
		return true
	}
	if !x.as.Known() && x.grant == nil {
		x.fault(errs.New(errs.Unauthorized, ""))
	} else {
		lfsRefuse(x.w, http.StatusForbidden, "Access forbidden. Check your access level.")
	}
	return false
}

// read decodes the JSON of the body.
func (x *lfsExchange) read(into any) bool {
	kind, _, err := mime.ParseMediaType(x.r.Header.Get("Content-Type"))
	if err != nil || kind != mediaLFS && kind != "application/json" {
		lfsRefuse(x.w, http.StatusUnsupportedMediaType, "Unsupported Media Type")
		return false
	}
	body, err := requestBody(x.r, maxLFSBody)
	if err == nil {
		err = json.NewDecoder(body).Decode(into)
	}
	switch {
	case errors.Is(err, errBodyTooLarge):
		lfsRefuse(x.w, http.StatusRequestEntityTooLarge, "Request Entity Too Large")
	case err != nil:
		lfsRefuse(x.w, http.StatusUnprocessableEntity, "The body of the request cannot be read")
	}
	return err == nil
}

// fault answers with what an error says.
func (x *lfsExchange) fault(err error) {
	switch kind := errs.KindOf(err); {
	case kind == errs.Unauthorized:
		x.w.Header().Set("Www-Authenticate", `Basic realm="GitLab"`)
		x.w.Header().Set("Lfs-Authenticate", `Basic realm="GitLab"`)
		lfsRefuse(x.w, http.StatusUnauthorized, "Credentials needed")
	case kind == errs.NotFound:
		lfsRefuse(x.w, http.StatusNotFound, "Not found.")
	case kind == errs.Forbidden:
		lfsRefuse(x.w, http.StatusForbidden, err.Error())
	case errors.Is(err, lfs.ErrOff):
		lfsRefuse(x.w, http.StatusNotImplemented, err.Error())
	case kind == errs.Unavailable:
		x.w.Header().Set("Retry-After", "1")
		lfsRefuse(x.w, http.StatusServiceUnavailable, err.Error())
	case kind == errs.TooLarge: // as git-lfs knows it: it does not try again
		lfsRefuse(x.w, http.StatusInsufficientStorage, err.Error())
	case kind == errs.Unprocessable:
		lfsRefuse(x.w, http.StatusUnprocessableEntity, err.Error())
	case x.r.Context().Err() != nil: // the client went away
	default:
		x.Log.Error("LFS request failed", "request_id", httpkit.Of(x.r.Context()).ID, "path", x.r.URL.Path, "error", err)
		if errors.Is(err, errs.ErrAway) {
			x.w.Header().Set("Retry-After", strconv.Itoa(int(errs.RetryAfter.Seconds())))
			lfsRefuse(x.w, http.StatusServiceUnavailable, textAway)
			return
		}
		lfsRefuse(x.w, http.StatusInternalServerError, "Internal Server Error")
	}
}

func lfsRefuse(w http.ResponseWriter, status int, text string) {
	lfsAnswer(w, status, map[string]string{"message": text})
}

func lfsAnswer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", mediaLFS)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // a client that is gone reads nothing
}

// download sends the content of an object, or the part that is asked for.
func (x *lfsExchange) download() {
	o, err := x.LFS.Open(x.r.Context(), x.as, x.p, x.object().OID)
	if err != nil {
		x.fault(err)
		return
	}
	defer o.Close()
	h := x.w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", "attachment")
	h.Set("X-Content-Type-Options", "nosniff")
	r := x.r
	if strings.Contains(r.Header.Get("Range"), ",") { // many parts are work for nothing
		r = r.Clone(r.Context())
		r.Header.Del("Range")
	}
	http.ServeContent(x.w, r, "", o.Modified, o)
}

// upload takes the content of an object.
func (x *lfsExchange) upload() {
	if !x.may(lfs.Upload) {
		return
	}
	object := x.object()
	if length := x.r.ContentLength; object.Valid() && length >= 0 && length != object.Size {
		lfsRefuse(x.w, http.StatusUnprocessableEntity, "The content is not what was announced")
		return
	}
	if err := x.LFS.Store(x.r.Context(), x.as, x.p, object, x.r.Body); err != nil {
		x.fault(err)
		return
	}
	x.w.WriteHeader(http.StatusOK)
}

// lfsOwner is who has a lock.
type lfsOwner struct {
	Name string `json:"name"`
}

func lfsNames(users map[authz.UserID]*account.Summary, id authz.UserID) *lfsOwner {
	if u := users[id]; u != nil {
		return &lfsOwner{Name: u.Name}
	}
	return nil
}

// href is the address of something of the project.
func (x *lfsExchange) href(format string, args ...any) string {
	return x.URLs.Service(x.p.FullPath, fmt.Sprintf(format, args...))
}
