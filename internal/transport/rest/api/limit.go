package api

import (
	"io"
	"slices"
	"strings"

	"tenon/internal/core/limit"
)

// rate says which calls of a route count against which limit of the caller.
type rate struct {
	class limit.Class
	large int64 // only calls with a larger body do; 0 counts all
}

// Rate counts the calls of the endpoint in a class that belongs to the caller alone.
func (r *Route) Rate(class limit.Class) *Route { r.rate = rate{class: class}; return r }

// RateLarge is Rate for the calls with more than so many bytes in the body. A body that
// announces its length is refused before it is read.
func (r *Route) RateLarge(bytes int64, class limit.Class) *Route {
	r.rate = rate{class: class, large: bytes}
	return r
}

// DeprecatedWith has calls count as deprecated ones unless they switch a parameter off.
func (r *Route) DeprecatedWith(param string) *Route {
	r.outdatedWith = param
	return r
}

func switchedOff(value string) bool { return value == "0" || strings.EqualFold(value, "false") }

// limit counts the call once in the class of the route.
func (x *exchange) limit() error {
	r := x.route.rate
	switch {
	case r.class == "":
		return nil
	case r.large != 0:
		return x.weigh(max(x.r.ContentLength, x.received))
	}
	if x.counted {
		return nil
	}
	x.counted = true
	return x.kit.config.Limits.Check(r.class, x.As)
}

// weigh counts the call once where its body is a large one, of a caller who is known.
func (x *exchange) weigh(bytes int64) error {
	r := x.route.rate
	if r.large == 0 || bytes <= r.large || x.weighed || !x.As.SignedIn() {
		return nil
	}
	x.weighed = true
	return x.kit.config.Limits.Check(r.class, x.As)
}

// filesPrefix is what the endpoints of files of repositories have in common.
const filesPrefix = "/projects/:id/repository/files/"

// packagePrefixes are what the endpoints of packages have in common.
var packagePrefixes = []string{"/projects/:id/packages", "/groups/:id/packages", "/groups/:id/-/packages/", "/packages/"}

// throttle counts the request whatever it asks for.
func (x *exchange) throttle() error {
	traffic := limit.API
	switch {
	case x.route == nil:
	case strings.HasPrefix(x.route.path, filesPrefix):
		traffic = limit.FilesAPI
	case slices.ContainsFunc(packagePrefixes, func(prefix string) bool { return strings.HasPrefix(x.route.path, prefix) }):
		traffic = limit.PackagesAPI
	case x.route.outdatedWith != "" && !switchedOff(x.r.URL.Query().Get(x.route.outdatedWith)):
		traffic = limit.DeprecatedAPI
	}
	if exceeded := x.kit.config.Limits.Throttle(traffic, x.As); exceeded != nil {
		return exceeded
	}
	return nil
}

// received counts what comes of a body.
type received struct {
	io.ReadCloser
	n *int64
}

func (r *received) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	*r.n += int64(n)
	return n, err
}
