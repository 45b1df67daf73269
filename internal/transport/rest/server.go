// Package rest is the REST interface, version 4: one file per resource. A route, its
// parameters and its handler stand together; rules and SQL are in core.
package rest

import (
	"context"
	"strings"
	"time"

	"tenon/internal/core"
	"tenon/internal/core/authz"
	"tenon/internal/core/weburl"
	"tenon/internal/transport/rest/api"
)

// Level is the version that clients read.
const Level = weburl.Level

// Server translates requests into calls of the core.
type Server struct {
	*core.Services
	Now func() time.Time

	Revision string // of the build, for /metadata
}

// Recheck looks again for the project or group that a route is about.
func (s *Server) Recheck(ctx context.Context, as authz.Actor, route, id string) error {
	var err error
	switch {
	case strings.HasPrefix(route, "/projects/:id"):
		_, err = s.Projects.Find(ctx, as, id)
	case strings.HasPrefix(route, "/groups/:id"):
		_, err = s.Namespaces.Find(ctx, as, id)
	}
	return err
}

// resource is what a file of this package adds to the interface.
type resource struct {
	tag    string
	routes func(s *Server) []*api.Route
}

// resources are those of this package, in the order of the names of their files, and those of
// packages that are built on it.
var resources []resource

// Resource adds endpoints to those of every Server, grouped in documents under tag. The file of a
// resource calls it in a declaration of its own, so that no list names the resource.
func Resource(tag string, routes func(s *Server) []*api.Route) (added struct{}) {
	resources = append(resources, resource{tag, routes})
	return added
}

// Routes lists every endpoint.
func (s *Server) Routes() []*api.Route {
	var out []*api.Route
	for _, r := range resources {
		out = append(out, api.Tagged(r.tag, r.routes(s))...)
	}
	return out
}
