package api

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"tenon/internal/core/authz"
	"tenon/internal/core/limit"
)

// Handler is an endpoint: it gets its parameters decoded and valid, and returns
// what is to be rendered or the error that the client reads.
type Handler[P, R any] func(ctx context.Context, as authz.Actor, p P) (R, error)

// Route is one endpoint. Its methods say more about it and return it again, so
// that an endpoint is one expression.
type Route struct {
	method       string
	path         string
	aliases      []string
	doc          string
	needs        []authz.Ability
	scopes       []authz.Scope
	scoped       bool // some rule for scopes was declared
	anyScope     bool
	public       bool
	status       int
	deprecated   bool
	rate         rate
	outdatedWith string // the parameter without which a call counts as deprecated; "" where none does
	maxBody      int64
	maxBodyNow   func() int64 // goes before maxBody; may be nil
	inMessage    bool         // parameters that are refused are under message
	namesJSON    bool         // says "Invalid json" of a body that is none
	timed        bool         // honours If-Unmodified-Since
	absent       methods      // see Without
	basic        bool         // takes HTTP Basic
	always       bool         // is answered in maintenance mode too

	tag   string       // groups the endpoint in the OpenAPI document
	gives string       // media type of a result that is Raw; "" for any
	like  reflect.Type // encoded as that result is; nil where it is no JSON

	plan   *plan
	fill   filler // of results; nil where there is nothing to fill
	result reflect.Type
	run    func(x *exchange) error
}

// Get declares an endpoint that reads. It answers HEAD as well.
func Get[P, R any](path string, h Handler[P, R]) *Route {
	return newRoute(http.MethodGet, path, http.StatusOK, h)
}

// Head declares an endpoint that only says whether something is there: 204 or an error.
// Without one, HEAD answers as GET does. Declare it before the GET of the same path.
func Head[P any](path string, h Handler[P, None]) *Route {
	return newRoute(http.MethodHead, path, http.StatusNoContent, h)
}

// Post declares an endpoint that creates or acts; it answers 201.
func Post[P, R any](path string, h Handler[P, R]) *Route {
	return newRoute(http.MethodPost, path, http.StatusCreated, h)
}

// Put declares an endpoint that changes; it answers 200.
func Put[P, R any](path string, h Handler[P, R]) *Route {
	return newRoute(http.MethodPut, path, http.StatusOK, h)
}

// Patch declares an endpoint that changes; it answers 200.
func Patch[P, R any](path string, h Handler[P, R]) *Route {
	return newRoute(http.MethodPatch, path, http.StatusOK, h)
}

// Delete declares an endpoint that removes; it answers 204 where R is None, 200 otherwise.
func Delete[P, R any](path string, h Handler[P, R]) *Route {
	return newRoute(http.MethodDelete, path, http.StatusOK, h)
}

// newRoute is compiled for each endpoint, so that what does not need its types is elsewhere.
func newRoute[P, R any](method, path string, status int, h Handler[P, R]) *Route {
	r := routeOf(method, path, status, reflect.TypeFor[P](), reflect.TypeFor[R]())
	r.run = func(x *exchange) error {
		var p P
		if err := r.read(x, &p); err != nil {
			return err
		}
		out, err := h(x.r.Context(), x.As, p)
		if err != nil {
			return err
		}
		return r.write(x, &p, &out)
	}
	return r
}

func routeOf(method, path string, status int, params, result reflect.Type) *Route {
	if result == reflect.TypeFor[None]() {
		status = http.StatusNoContent
	}
	r := &Route{method: method, path: path, status: status, result: result, fill: fillerOf(result)}
	return r.Takes(declared(params))
}

// Takes has a struct type declare the parameters of an endpoint whose own ones are Made, in place of what Declare returns: for
// endpoints that are alike but for their parameters.
func (r *Route) Takes(params reflect.Type) *Route {
	r.plan = planOf(params).below(r.path)
	r.maxBody = DefaultMaxBody + r.plan.textBytes()
	r.boundReads()
	return r
}

// read decodes the request into a pointer to parameters.
func (r *Route) read(x *exchange, params any) error {
	d := decoding{request: x.r, clears: r.method == http.MethodPut || r.method == http.MethodPatch}
	dst := reflect.ValueOf(params).Elem()
	made, isMade := params.(Made)
	if isMade {
		dst = reflect.New(r.plan.typ).Elem()
	}
	r.plan.decode(&d, &x.params, dst, "")
	if isMade {
		made.Take(dst)
	}
	if err := d.err(); err != nil {
		return err
	}
	return x.limit()
}

// write answers with what a pointer points to.
func (r *Route) write(x *exchange, params, result any) error {
	out := reflect.ValueOf(result).Elem()
	if r.fill != nil {
		r.fill(out)
	}
	if custom, ok := out.Interface().(renderer); ok {
		return custom.render(x, params)
	}
	return x.json(r.status, out.Interface())
}

// Doc says in a few words what the endpoint is for.
func (r *Route) Doc(text string) *Route { r.doc = text; return r }

// Needs names the abilities that the core method behind the endpoint requires. It
// documents; core decides, and a test compares the two.
func (r *Route) Needs(abilities ...authz.Ability) *Route {
	r.needs = append(r.needs, abilities...)
	return r
}

// Scope declares which tokens may call the endpoint: those with api, those with
// read_api where it reads, and those with one of the extra scopes. A scope whose
// name starts with read_ permits reading only.
func (r *Route) Scope(extra ...authz.Scope) *Route {
	r.scopes, r.scoped = extra, true
	return r
}

// AnyScope lets every valid token call the endpoint.
func (r *Route) AnyScope() *Route { r.anyScope, r.scoped = true, true; return r }

// Public lets callers without credentials in. Everywhere else they get 401 before
// their parameters are looked at.
func (r *Route) Public() *Route { r.public = true; return r }

// Status sets the status of success where it differs from the verb's own.
func (r *Route) Status(code int) *Route { r.status = code; return r }

// Alias returns the endpoint further paths that are no longer recommended. They
// capture the same parameters.
func (r *Route) Alias(paths ...string) *Route {
	r.aliases = append(r.aliases, paths...)
	return r
}

// Deprecated marks the endpoint as one that clients should leave.
func (r *Route) Deprecated() *Route { r.deprecated = true; return r }

// Without declares that a method has routes of its own for some values of the last parameter: with all others its path is unknown, 404
// and not 405.
func (r *Route) Without(method string) *Route { r.absent = bit(method); return r }

// Timed declares that what the endpoint changes or deletes has the time of its last change:
// If-Unmodified-Since becomes a condition that core checks with [authz.Actor.Unmodified].
func (r *Route) Timed() *Route { r.timed = true; return r }

// Always declares an endpoint that is answered in maintenance mode, although it is no GET: it
// changes nothing, or ends that mode.
func (r *Route) Always() *Route { r.always = true; return r }

// Basic declares an endpoint that takes tokens by HTTP Basic, too.
func (r *Route) Basic() *Route { r.basic = true; return r }

// Gives says what an endpoint answers whose result is Raw: the media type, and a value that is
// encoded alike where it is JSON (nil elsewhere).
func (r *Route) Gives(mediaType string, like any) *Route {
	r.gives, r.like = mediaType, reflect.TypeOf(like)
	return r
}

// MaxBody allows bodies up to this many bytes to signed-in callers, DefaultMaxBody otherwise.
func (r *Route) MaxBody(bytes int64) *Route { r.maxBody = bytes; return r }

// NamesJSON has a body that is no JSON refused with words of its own, as a few endpoints do.
func (r *Route) NamesJSON() *Route { r.namesJSON = true; return r }

// MaxBodyNow is MaxBody for a bound that changes while the server runs.
func (r *Route) MaxBodyNow(bytes func() int64) *Route { r.maxBodyNow = bytes; return r }

// Scoped returns a scope rule, as Route.Scope does, to those of the routes that have
// none of their own.
func Scoped(extra []authz.Scope, routes ...*Route) []*Route {
	for _, r := range routes {
		if !r.scoped {
			r.Scope(extra...)
		}
	}
	return routes
}

// Tagged groups routes in the OpenAPI document under the name of their subject.
func Tagged(tag string, routes []*Route) []*Route {
	for _, r := range routes {
		r.tag = tag
	}
	return routes
}

// Info is what a route declares, for tests and documents that walk all of them.
type Info struct {
	Method     string
	Path       string // below /api/v4, with :names
	Aliases    []string
	Doc        string
	Needs      []authz.Ability
	Scopes     []authz.Scope // beyond api and read_api
	AnyScope   bool
	Public     bool
	Status     int
	Deprecated bool
	Timed      bool        // honours If-Unmodified-Since
	RateClass  limit.Class // the calls are counted in it
	Params     []Param
	Result     reflect.Type
}

// Param is one declared parameter.
type Param struct {
	Name     string
	Type     reflect.Type
	Required bool
	InPath   bool
	Header   bool
	Values   []string
	Chars    int    // that a long text has at most; 0 for all others
	Default  string // what the parameter is taken for where it is not sent; "" for nothing
	Doc      string

	// The bounds of a parameter of an endpoint that reads; 0 is none.
	MaxValues int // of a list, or entries of a hash
	MaxLength int // characters of a text, or of each in a list
	MaxWords  int
	Inside    []Param // of a struct; their names are in full, such as not[labels]
}

// Info returns what the route declares.
func (r *Route) Info() Info {
	info := Info{
		Method: r.method, Path: r.path, Aliases: r.aliases, Doc: r.doc, Needs: r.needs, Scopes: r.scopes,
		AnyScope: r.anyScope, Public: r.public, Status: r.status, Deprecated: r.deprecated, Timed: r.timed, RateClass: r.rate.class,
		Result: r.result,
	}
	inPath := map[string]bool{}
	for _, c := range r.captures(r.path) {
		inPath[c.name] = true
	}
	info.Params = r.plan.params("")
	for i := range info.Params {
		info.Params[i].InPath = inPath[info.Params[i].Name] && !info.Params[i].Header
	}
	return info
}

// params lists what the struct declares.
func (p *plan) params(prefix string) []Param {
	var out []Param
	for i := range p.fields {
		f := &p.fields[i]
		if f.rule != nil || f.typ == rawBodyType {
			continue
		}
		param := Param{
			Name: fullName(prefix, f.name), Type: f.typ, Required: f.required, Values: f.values, Chars: f.chars, Doc: f.doc,
			MaxValues: f.bound.values, MaxLength: f.bound.length, MaxWords: f.bound.words,
		}
		param.Default, _ = f.fallback.(string)
		if f.header != "" {
			param.Name, param.Header = f.header, true
		}
		if f.nested != nil {
			param.Inside = f.nested.params(param.Name)
		}
		out = append(out, param)
	}
	return out
}

// captures reads the names out of a path, and what the parameter struct says about each.
func (r *Route) captures(path string) []capture {
	var out []capture
	parts := segments(path)
	for i, part := range parts {
		c := capture{last: i == len(parts)-1}
		switch {
		case strings.HasPrefix(part, ":"):
			c.name = part[1:]
		case strings.HasPrefix(part, "*"):
			c.name, c.kind = part[1:], remainder
		case strings.HasSuffix(part, "}"):
			_, name, _ := strings.Cut(part, "{.")
			c.name, c.kind = strings.TrimSuffix(name, "}"), suffix
		default:
			continue
		}
		if f := r.plan.find(c.name); f != nil {
			c.free = f.free
			if c.kind == suffix {
				c.only = f.values
			}
		}
		out = append(out, c)
	}
	return out
}

// problems lists what is wrong with the declaration as a whole.
func (r *Route) problems() []string {
	var out []string
	bad := func(format string, args ...any) {
		out = append(out, fmt.Sprintf("%s %s ", r.method, r.path)+fmt.Sprintf(format, args...))
	}
	if !r.scoped {
		bad("declares no scope")
	}
	if r.doc == "" {
		bad("has no Doc")
	}
	for _, path := range append([]string{r.path}, r.aliases...) {
		if !strings.HasPrefix(path, "/") || strings.Contains(path, "//") || len(path) > 1 && strings.HasSuffix(path, "/") {
			bad("has the path %q, which is no clean absolute one", path)
		}
		seen := map[string]bool{}
		for _, c := range r.captures(path) {
			switch {
			case r.plan.find(c.name) == nil:
				bad("captures %q, which its parameters do not declare", c.name)
			case seen[c.name]:
				bad("captures %q twice", c.name)
			case c.kind == remainder && !c.last:
				bad("goes on after *%s", c.name)
			}
			seen[c.name] = true
		}
	}
	for i := range r.plan.fields {
		if f := &r.plan.fields[i]; f.free && !strings.Contains(r.path, f.name) {
			bad("calls %q free, which is not in its path", f.name)
		}
	}
	return out
}

// InMessage has what is wrong with parameters stand under message, not under error.
func (r *Route) InMessage() *Route { r.inMessage = true; return r }

// refusalKey is what a refusal of parameters stands under; nil is no route.
func (r *Route) refusalKey() string {
	if r != nil && r.inMessage {
		return "message"
	}
	return "error"
}
