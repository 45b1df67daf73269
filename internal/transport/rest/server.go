// Package rest is the REST interface, version 4: one file per resource. A route, its
// parameters and its handler stand together; rules and SQL are in core.
package rest

import (
	"context"
	"slices"
	"strings"
	"time"

	"tenon/internal/core"
	"tenon/internal/core/authz"
	"tenon/internal/transport/rest/api"
)

// Level is the version that clients are told: the release of the contract that the interface
// has, with the suffix by which clients know the edition in which nothing is locked.
const Level = "16.0.0-ee"

// Server translates requests into calls of the core.
type Server struct {
	*core.Services
	Now func() time.Time

	Revision string // of the build, for /metadata
}

// Gone looks again for the project or group that a route is about.
func (s *Server) Gone(ctx context.Context, as authz.Actor, route, id string) error {
	var err error
	switch {
	case strings.HasPrefix(route, "/projects/:id"):
		_, err = s.Projects.Find(ctx, as, id)
	case strings.HasPrefix(route, "/groups/:id"):
		_, err = s.Namespaces.Find(ctx, as, id)
	}
	return err //nolint:wrapcheck // the kit tells what it is
}

// Routes lists every endpoint.
func (s *Server) Routes() []*api.Route {
	return slices.Concat(
		s.versionRoutes(),
		s.settingRoutes(),
		s.userRoutes(),
		s.tokenRoutes(),
		s.keyRoutes(),
		s.gpgKeyRoutes(),
		s.signatureRoutes(),
		s.groupRoutes(),
		s.namespaceRoutes(),
		s.memberRoutes(),
		s.billableRoutes(),
		s.accessRequestRoutes(),
		s.invitationRoutes(),
		s.shareRoutes(),
		s.starRoutes(),
		s.transferRoutes(),
		s.forkRoutes(),
		s.placeTokenRoutes(),
		s.uploadRoutes(),
		s.avatarRoutes(),
		s.deployKeyRoutes(),
		s.deployTokenRoutes(),
		s.impersonationTokenRoutes(),
		s.projectRoutes(),
		s.statisticsRoutes(),
		s.topicRoutes(),
		s.templateRoutes(),
		s.badgeRoutes(),
		s.attributeRoutes(),
		s.branchRoutes(),
		s.tagRoutes(),
		s.protectedRoutes(),
		s.pushRuleRoutes(),
		s.commitRoutes(),
		s.commitHistoryRoutes(),
		s.commitCommentRoutes(),
		s.commitStatusRoutes(),
		s.fileRoutes(),
		s.submoduleRoutes(),
		s.repositoryRoutes(),
		s.changelogRoutes(),
		s.labelRoutes(),
		s.issueRoutes(),
		s.noteRoutes(),
		s.mergeRequestRoutes(),
	)
}
