package rest

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/notify"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("notification_settings", (*Server).notificationRoutes)

func (s *Server) notificationRoutes() []*api.Route {
	const doc = "Get the notification settings of the current user"
	return api.Scoped(nil,
		api.Get("/notification_settings", s.notifications).Doc(doc).Needs(authz.ReadOwnNotifications),
		api.Put("/notification_settings", s.updateNotifications).Doc("Update the notification settings of the current user").
			Needs(authz.UpdateOwnNotifications),
		api.Get("/groups/:id/notification_settings", s.groupNotifications).Doc(doc+" for a group").
			Needs(authz.ReadGroup, authz.ReadOwnNotifications),
		api.Put("/groups/:id/notification_settings", s.updateGroupNotifications).Doc("Update the notification settings of the current user for a group").
			Needs(authz.ReadGroup, authz.UpdateOwnNotifications),
		api.Get("/projects/:id/notification_settings", s.projectNotifications).Doc(doc+" for a project").
			Needs(authz.ReadProject, authz.ReadOwnNotifications),
		api.Put("/projects/:id/notification_settings", s.updateProjectNotifications).Doc("Update the notification settings of the current user for a project").
			Needs(authz.ReadProject, authz.UpdateOwnNotifications),
	)
}

// notificationEntity is a notification setting of a group or project.
type notificationEntity struct {
	Level  notify.Level    `json:"level"`
	Events map[string]bool `json:"events,omitempty"` // of the level custom
}

// globalNotificationEntity is the setting for everything else.
type globalNotificationEntity struct {
	Level  notify.Level    `json:"level"`
	Events map[string]bool `json:"events,omitempty"` // of the level custom
	Email  string          `json:"notification_email"`
}

// newNotification renders a setting; the events of epics are there for groups.
func newNotification(set *notify.Setting, group bool) notificationEntity {
	return notificationEntity{Level: set.Level, Events: set.EventsOf(group)}
}

func (s *Server) globalNotification(ctx context.Context, set *notify.Setting, err error) (globalNotificationEntity, error) {
	if err != nil {
		return globalNotificationEntity{}, err
	}
	email, err := s.Notifications.Address(ctx, set)
	e := newNotification(set, true)
	return globalNotificationEntity{Level: e.Level, Events: e.Events, Email: email}, err
}

func (s *Server) notifications(ctx context.Context, as authz.Actor, _ struct{}) (globalNotificationEntity, error) {
	set, err := s.Notifications.Find(ctx, as, authz.Place{})
	return s.globalNotification(ctx, set, err)
}

// notificationParams are what all settings take.
type notificationParams struct {
	Level             *string `param:"level" doc:"disabled, participating, watch, global, mention or custom"`
	NewRelease        *bool   `param:"new_release" doc:"Notify of new releases"`
	NewNote           *bool   `param:"new_note" doc:"Notify of new comments"`
	NewIssue          *bool   `param:"new_issue" doc:"Notify of new issues"`
	ReopenIssue       *bool   `param:"reopen_issue" doc:"Notify of reopened issues"`
	CloseIssue        *bool   `param:"close_issue" doc:"Notify of closed issues"`
	ReassignIssue     *bool   `param:"reassign_issue" doc:"Notify of reassigned issues"`
	IssueDue          *bool   `param:"issue_due" doc:"Notify of issues that are due"`
	NewRequest        *bool   `param:"new_merge_request" doc:"Notify of new merge requests"`
	PushToRequest     *bool   `param:"push_to_merge_request" doc:"Notify of pushes to merge requests"`
	ReopenRequest     *bool   `param:"reopen_merge_request" doc:"Notify of reopened merge requests"`
	CloseRequest      *bool   `param:"close_merge_request" doc:"Notify of closed merge requests"`
	ReassignRequest   *bool   `param:"reassign_merge_request" doc:"Notify of reassigned merge requests"`
	ReviewerOfRequest *bool   `param:"change_reviewer_merge_request" doc:"Notify of changed reviewers of merge requests"`
	MergeRequest      *bool   `param:"merge_merge_request" doc:"Notify of merged merge requests"`
	FailedPipeline    *bool   `param:"failed_pipeline" doc:"Notify of failed pipelines"`
	FixedPipeline     *bool   `param:"fixed_pipeline" doc:"Notify of fixed pipelines"`
	SuccessPipeline   *bool   `param:"success_pipeline" doc:"Notify of successful pipelines"`
	MovedProject      *bool   `param:"moved_project" doc:"Notify of moved projects"`
	AutoMerge         *bool   `param:"merge_when_pipeline_succeeds" doc:"Notify of merge requests that are set to merge when the pipeline succeeds"`
	NewEpic           *bool   `param:"new_epic" doc:"Notify of new epics (groups only)"`
}

// changes names the events that were sent.
func (p *notificationParams) changes() notify.Changes {
	c := notify.Changes{Level: p.Level, Events: map[string]bool{}}
	sent := []*bool{
		p.NewRelease, p.NewNote, p.NewIssue, p.ReopenIssue, p.CloseIssue, p.ReassignIssue, p.IssueDue, p.NewRequest,
		p.PushToRequest, p.ReopenRequest, p.CloseRequest, p.ReassignRequest, p.ReviewerOfRequest,
		p.MergeRequest, p.FailedPipeline, p.FixedPipeline, p.SuccessPipeline, p.MovedProject, p.AutoMerge, p.NewEpic,
	}
	for i, on := range sent { // in the order of notify.Events
		if on != nil {
			c.Events[notify.Events[i]] = *on
		}
	}
	return c
}

type updateNotificationParams struct {
	Email *string `param:"notification_email" doc:"Email address that notifications are sent to"`
	notificationParams
}

func (s *Server) updateNotifications(ctx context.Context, as authz.Actor, in updateNotificationParams) (globalNotificationEntity, error) {
	c := in.changes()
	c.Email = in.Email
	set, err := s.Notifications.Update(ctx, as, authz.Place{}, c)
	return s.globalNotification(ctx, set, err)
}

type groupNotificationParams struct {
	ID string `param:"id,required" doc:"ID or URL-encoded path of the group"`
}

func (s *Server) groupNotifications(ctx context.Context, as authz.Actor, in groupNotificationParams) (notificationEntity, error) {
	at, err := mount{s: s, group: true}.place(ctx, as, in.ID)
	return s.notificationOf(ctx, as, at, err, true)
}

// notificationOf renders the setting for a place.
func (s *Server) notificationOf(ctx context.Context, as authz.Actor, at authz.Place, err error, group bool) (notificationEntity, error) {
	if err != nil {
		return notificationEntity{}, err
	}
	set, err := s.Notifications.Find(ctx, as, at)
	if err != nil {
		return notificationEntity{}, err
	}
	return newNotification(set, group), nil
}

type updateGroupNotificationParams struct {
	groupNotificationParams
	notificationParams
}

func (s *Server) updateGroupNotifications(ctx context.Context, as authz.Actor, in updateGroupNotificationParams) (notificationEntity, error) {
	at, err := mount{s: s, group: true}.place(ctx, as, in.ID)
	if err != nil {
		return notificationEntity{}, err
	}
	set, err := s.Notifications.Update(ctx, as, at, in.changes())
	if err != nil {
		return notificationEntity{}, err
	}
	return newNotification(set, true), nil
}

func (s *Server) projectNotifications(ctx context.Context, as authz.Actor, in projectPath) (notificationEntity, error) {
	at, err := mount{s: s}.place(ctx, as, in.ID)
	return s.notificationOf(ctx, as, at, err, false)
}

type updateProjectNotificationParams struct {
	projectPath
	notificationParams
}

func (s *Server) updateProjectNotifications(ctx context.Context, as authz.Actor, in updateProjectNotificationParams) (notificationEntity, error) {
	at, err := mount{s: s}.place(ctx, as, in.ID)
	if err != nil {
		return notificationEntity{}, err
	}
	set, err := s.Notifications.Update(ctx, as, at, in.changes())
	if err != nil {
		return notificationEntity{}, err
	}
	return newNotification(set, false), nil
}
