package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/limit"
	"tenon/internal/core/weburl"
	"tenon/internal/transport/httpkit"
)

// Prefix is where the API lives below the server's root.
const Prefix = weburl.APIPath

// Config is what the kit needs from outside. Authenticate, FindUser and Log must be set.
type Config struct {
	// ExternalURL is the address clients know the server by, without a final slash.
	ExternalURL string

	// Authenticate turns credentials into actors.
	Authenticate Authenticator

	// Session, where set, finds the actor of a request whose cookie has a session that may do
	// what the request does. It is asked where no token was presented.
	Session func(r *http.Request) (authz.Actor, bool, error)

	// FindUser finds the user to act for under sudo, by a number or by a name
	// without regard to case. It answers NotFound where there is none.
	FindUser func(ctx context.Context, idOrName string) (authz.Actor, error)

	// Limits says who calls too often.
	Limits *limit.Service

	// Recheck, where set, is asked after a failure of ours whether what the capture :id of
	// the route names went away while the request was under way; it answers NotFound then.
	Recheck func(ctx context.Context, as authz.Actor, route, id string) error

	// Writable, where set, is asked before a request that changes anything, and refuses it with its
	// error.
	Writable func() error

	// Observe, where set, is called with each request when it is answered.
	Observe func(httpkit.Observation)

	// Log gets one line per request, and one per failure of ours.
	Log *slog.Logger

	// Title and Version head the OpenAPI document.
	Title, Version string
}

// Kit serves routes. It is an http.Handler for everything below /api.
type Kit struct {
	config   Config
	gate     httpkit.Gate
	tree     node
	routes   []*Route
	document func() []byte // made when it is first asked for: that takes longer than all else that New does
	memory   *memory
	pool     sync.Pool
}

// New makes the handler for these routes, and adds GET /openapi.json. It panics
// with a list of everything that is wrong with their declarations.
func New(c Config, routes []*Route) *Kit {
	c.ExternalURL = strings.TrimRight(c.ExternalURL, "/")
	k := &Kit{config: c, gate: httpkit.Gate{Log: c.Log, Observe: c.Observe}, routes: slices.Clone(routes), memory: newMemory()}
	k.pool.New = func() any { return &exchange{kit: k} }
	k.routes = append(k.routes, Get("/openapi.json", func(context.Context, authz.Actor, struct{}) (Raw, error) {
		return Raw{Type: "application/json", Bytes: k.document(), Tagged: true}, nil
	}).Doc("Describe this API as an OpenAPI 3.1 document").Public().AnyScope().Gives("application/json", map[string]json.RawMessage{}))
	var problems []string
	for _, r := range k.routes {
		problems = append(problems, r.problems()...)
		for _, path := range append([]string{r.path}, r.aliases...) {
			if problem := k.tree.insert(path, r.captures(path), r); problem != "" {
				problems = append(problems, r.method+" "+path+" "+problem)
			}
		}
	}
	if problems != nil {
		panic("api: " + strings.Join(problems, "; "))
	}
	k.document = sync.OnceValue(func() []byte { return document(c, k.routes) })
	return k
}

// Routes returns what every route declares, in the order of declaration.
func (k *Kit) Routes() []Info {
	out := make([]Info, len(k.routes))
	for i, r := range k.routes {
		out[i] = r.Info()
	}
	return out
}

// Document returns the OpenAPI document.
func (k *Kit) Document() []byte { return bytes.Clone(k.document()) }

// exchange is one request on its way through the kit.
type exchange struct {
	httpkit.Exchange

	kit       *Kit
	w         http.ResponseWriter
	r         *http.Request
	route     *Route
	params    object
	captured  []capture
	received  int64     // bytes of the body, where the client did not announce how many
	weighed   bool      // the body was counted as a large one
	counted   bool      // the call was counted in the class of the route
	kept      int64     // bytes of the body that went into memory
	until     time.Time // when a large body has to be here; zero for all others
	free      func()    // gives back the room of a large body; nil for all others
	fields    int64     // bytes of the fields of a multipart body
	temporary []string  // files to remove
}

// ServeHTTP answers one request.
func (k *Kit) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := k.pool.Get().(*exchange)
	x.w, x.r = w, r
	k.gate.Begin(&x.Exchange, r)
	defer x.finish()
	x.headers()
	if !x.preflight() {
		if err := x.serve(); err != nil {
			x.fail(err)
		}
	}
}

// serve runs the steps of a request in the order in which the API refuses.
func (x *exchange) serve() error {
	path := x.r.URL.EscapedPath()
	if clean(x.r.URL.Path) != nil {
		return errMalformed
	}
	if path == "/api/v3" || strings.HasPrefix(path, "/api/v3/") {
		return &Refusal{Status: http.StatusGone, Text: "API V3 is no longer supported. Use API V4 instead."}
	}
	below, ok := strings.CutPrefix(path, Prefix)
	if !ok || below != "" && below[0] != '/' {
		return errNoRoute
	}
	m, short := x.kit.tree.find(x.r.Method, below)
	if m.leaf == nil {
		if err := x.throttle(); err != nil {
			return err
		}
		if m.absent&bit(x.r.Method) != 0 {
			return errNoRoute
		}
		return x.unmatched(m.allowed)
	}
	x.route, x.captured = m.leaf.route, m.leaf.captures
	if err := parseQuery(&x.params, x.r.URL.RawQuery); err != nil {
		return err
	}
	if v, ok := x.params.get("format"); ok {
		if s, isText := v.(string); v != nil && (!isText || s != "" && s != "json") {
			s = strings.ToLower(s)
			return &Refusal{Status: http.StatusNotAcceptable, Text: "The requested format '" + s + "' is not supported."}
		}
	}
	if err := x.signIn(); err != nil {
		return err
	}
	if since, ok := ParseTime(x.r.Header.Get(unmodifiedSince)); ok && x.route.timed {
		x.As.UnmodifiedSince = since
	}
	if err := x.writable(); err != nil {
		return err
	}
	err := x.run(m)
	if short.leaf == nil || x.Status != 0 || !missing(err) {
		return err
	}
	return x.runShort(short)
}

// writable refuses what changes anything while nothing may be changed.
func (x *exchange) writable() error {
	if x.kit.config.Writable == nil || x.route.always || x.r.Method == http.MethodGet || x.r.Method == http.MethodHead {
		return nil
	}
	return x.kit.config.Writable()
}

// missing reports whether an endpoint found nothing by the name that it was given.
func missing(err error) bool {
	refusal, ok := errors.AsType[*Refusal](err)
	return ok && refusal.Status == http.StatusNotFound || errs.Is(err, errs.NotFound)
}

// run calls the endpoint with what the path captured.
func (x *exchange) run(m match) error {
	for i, c := range m.leaf.captures {
		if c.kind != suffix || m.values[i] != "" {
			x.params.set(c.name, m.values[i])
		}
	}
	return x.route.run(x)
}

// unmodifiedSince is the header of a condition; one that is no time is ignored.
const unmodifiedSince = "If-Unmodified-Since"

// errNoRoute is a path that leads nowhere.
var errNoRoute = &Refusal{Status: http.StatusNotFound, Text: "404 Not Found"}

// unmatched answers for a path without a route for the method.
func (x *exchange) unmatched(allowed methods) error {
	if allowed == 0 {
		return errNoRoute
	}
	x.w.Header().Set("Allow", allowed.allow())
	if x.r.Method == http.MethodOptions {
		x.begin(http.StatusNoContent)
		return nil
	}
	return &Refusal{Status: http.StatusMethodNotAllowed, Text: "405 Not Allowed"}
}

// finish recovers from a panic, tells log and metrics, and gives the exchange back.
func (x *exchange) finish() {
	if p := recover(); p != nil {
		if x.kit.gate.Recovered(&x.Exchange, x.r, p) {
			x.end()
			panic(p)
		}
		if x.Status == 0 { // or it is too late to say anything else
			x.fail(errPanicked)
		}
	}
	x.end()
}

func (x *exchange) end() {
	if x.route != nil {
		x.Route = x.route.path
	}
	x.kit.gate.End(&x.Exchange, x.r, x.loggable)
	x.release()
}

func (x *exchange) release() {
	for _, path := range x.temporary {
		if err := os.Remove(path); err != nil {
			x.kit.config.Log.Warn("remove uploaded file", "error", err)
		}
	}
	params := x.params
	params.reset()
	if x.free != nil {
		x.free()
	}
	k := x.kit
	*x = exchange{kit: k, params: params}
	k.pool.Put(x)
}

// runtime returns the seconds since the request came, as the header X-Runtime has them.
func (x *exchange) runtime() string {
	return strconv.FormatFloat(time.Since(x.Started).Seconds(), 'f', 6, 64)
}
