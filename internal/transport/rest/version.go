package rest

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("metadata", (*Server).versionRoutes)

func (s *Server) versionRoutes() []*api.Route {
	return api.Scoped([]authz.Scope{authz.ScopeReadUser},
		api.Get("/version", s.version).Doc("Get the version of the instance").Needs(authz.ReadVersion),
		api.Get("/metadata", s.metadata).Doc("Get the metadata of the instance").Needs(authz.ReadVersion),
	)
}

type versionEntity struct {
	Version  string `json:"version"`
	Revision string `json:"revision"`
}

func (s *Server) version(ctx context.Context, as authz.Actor, _ struct{}) (versionEntity, error) {
	if err := s.Instance.RequireVersion(ctx, as); err != nil {
		return versionEntity{}, err
	}
	return versionEntity{Version: Level, Revision: s.Revision}, nil
}

type metadataEntity struct {
	versionEntity
	KAS        kasEntity `json:"kas"`
	Enterprise bool      `json:"enterprise"` // true: nothing is locked away
}

// kasEntity is the agent server, which there is none of.
type kasEntity struct {
	Enabled     bool    `json:"enabled"`
	ExternalURL *string `json:"externalUrl"`
	Version     *string `json:"version"`
}

func (s *Server) metadata(ctx context.Context, as authz.Actor, _ struct{}) (metadataEntity, error) {
	version, err := s.version(ctx, as, struct{}{})
	return metadataEntity{versionEntity: version, Enterprise: true}, err
}
