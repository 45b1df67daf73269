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

// Level is the version that clients read: the release of the contract that the interface
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
	return err
}

// Routes lists every endpoint.
func (s *Server) Routes() []*api.Route {
	return slices.Concat(
		api.Tagged("metadata", s.versionRoutes()),
		api.Tagged("settings", s.settingRoutes()),
		api.Tagged("users", s.userRoutes()),
		api.Tagged("personal_access_tokens", s.tokenRoutes()),
		api.Tagged("keys", s.keyRoutes()),
		api.Tagged("gpg_keys", s.gpgKeyRoutes()),
		api.Tagged("commits", s.signatureRoutes()),
		api.Tagged("groups", s.groupRoutes()),
		api.Tagged("namespaces", s.namespaceRoutes()),
		api.Tagged("members", s.memberRoutes()),
		api.Tagged("members", s.billableRoutes()),
		api.Tagged("access_requests", s.accessRequestRoutes()),
		api.Tagged("invitations", s.invitationRoutes()),
		api.Tagged("groups", s.shareRoutes()),
		api.Tagged("projects", s.starRoutes()),
		api.Tagged("projects", s.transferRoutes()),
		api.Tagged("projects", s.forkRoutes()),
		api.Tagged("access_tokens", s.placeTokenRoutes()),
		api.Tagged("uploads", s.uploadRoutes()),
		api.Tagged("avatars", s.avatarRoutes()),
		api.Tagged("deploy_keys", s.deployKeyRoutes()),
		api.Tagged("deploy_tokens", s.deployTokenRoutes()),
		api.Tagged("users", s.impersonationTokenRoutes()),
		s.jobRoutes(),
		api.Tagged("projects", s.projectRoutes()),
		api.Tagged("projects", s.statisticsRoutes()),
		api.Tagged("topics", s.topicRoutes()),
		api.Tagged("templates", s.templateRoutes()),
		api.Tagged("badges", s.badgeRoutes()),
		api.Tagged("custom_attributes", s.attributeRoutes()),
		api.Tagged("branches", s.branchRoutes()),
		api.Tagged("tags", s.tagRoutes()),
		api.Tagged("protected_branches", s.protectedRoutes()),
		api.Tagged("push_rules", s.pushRuleRoutes()),
		api.Tagged("commits", slices.Concat(s.commitRoutes(), s.commitHistoryRoutes())),
		api.Tagged("commits", slices.Concat(s.commitCommentRoutes(), s.commitStatusRoutes())),
		api.Tagged("repositories", s.fileRoutes()),
		api.Tagged("submodules", s.submoduleRoutes()),
		api.Tagged("repositories", s.repositoryRoutes()),
		api.Tagged("repositories", s.changelogRoutes()),
		api.Tagged("markdown", s.markdownRoutes()),
		api.Tagged("labels", s.labelRoutes()),
		api.Tagged("milestones", s.milestoneRoutes()),
		api.Tagged("iterations", s.iterationRoutes()),
		api.Tagged("boards", s.boardRoutes()),
		api.Tagged("epics", s.epicRoutes()),
		api.Tagged("metric_images", s.metricImageRoutes()),
		api.Tagged("epics", s.epicIssueRoutes()),
		api.Tagged("epics", s.relatedEpicRoutes()),
		api.Tagged("issues", s.issueRoutes()),
		api.Tagged("issue links", s.issueLinkRoutes()),
		api.Tagged("issues", s.issueRequestRoutes()),
		api.Tagged("issues", s.issueCSVRoutes()),
		api.Tagged("time tracking", s.timeTrackingRoutes()),
		api.Tagged("notes", s.noteRoutes()),
		api.Tagged("discussions", s.discussionRoutes()),
		api.Tagged("draft_notes", s.draftNoteRoutes()),
		api.Tagged("suggestions", s.suggestionRoutes()),
		api.Tagged("award_emoji", s.awardRoutes()),
		api.Tagged("resource_events", s.resourceEventRoutes()),
		api.Tagged("subscriptions", s.subscriptionRoutes()),
		api.Tagged("todos", s.todoRoutes()),
		api.Tagged("notification_settings", s.notificationRoutes()),
		api.Tagged("events", s.eventRoutes()),
		api.Tagged("audit_events", s.auditRoutes()),
		api.Tagged("merge_requests", slices.Concat(s.mergeRequestRoutes(), s.mergeRequestDiffRoutes(), s.requestBlockRoutes())),
		api.Tagged("merge_trains", s.mergeTrainRoutes()),
		api.Tagged("merge_request_approvals", slices.Concat(s.approvalRoutes(), s.approvalSettingRoutes(), s.approvalRuleRoutes())),
		api.Tagged("status_checks", s.statusCheckRoutes()),
		api.Tagged("snippets", s.snippetRoutes()),
		api.Tagged("wikis", s.wikiRoutes()),
		api.Tagged("search", s.searchRoutes()),
	)
}

// jobRoutes lists the endpoints of what jobs are run with.
func (s *Server) jobRoutes() []*api.Route {
	return slices.Concat(
		api.Tagged("runners", slices.Concat(s.runnerProgramRoutes(), s.runnerRoutes())),
		api.Tagged("pipelines", s.pipelineRoutes()),
		api.Tagged("jobs", s.buildRoutes()),
		api.Tagged("job_artifacts", s.jobArtifactRoutes()),
		api.Tagged("variables", s.variableRoutes()),
		api.Tagged("triggers", s.triggerRoutes()),
		api.Tagged("ci_lint", s.lintRoutes()),
		api.Tagged("job_token_scope", s.jobTokenRoutes()),
		api.Tagged("pipeline_schedules", s.scheduleRoutes()),
		api.Tagged("resource_groups", s.resourceGroupRoutes()),
		api.Tagged("secure_files", s.secureFileRoutes()),
	)
}
