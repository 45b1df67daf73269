package rest

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/notify"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("notification_settings", (*Server).notificationRoutes)

func (s *Server) notificationRoutes() []*api.Route {
	const get, update = "Get the notification settings of the current user", "Update the notification settings of the current user"
	routes := []*api.Route{
		api.Get("/notification_settings", s.notifications).Doc(get).Needs(authz.ReadOwnNotifications),
		api.Put("/notification_settings", s.updateNotifications).Doc(update).Needs(authz.UpdateOwnNotifications),
	}
	routes = append(routes, s.onPlaces("notification_settings", func(m mount) []*api.Route {
		look := m.ability(authz.ReadProject, authz.ReadGroup)
		return []*api.Route{
			api.Get(m.path, m.notifications).Doc(get+" for a "+m.noun).Needs(look, authz.ReadOwnNotifications),
			api.Put(m.path, m.updateNotifications).Doc(update+" for a "+m.noun).Needs(look, authz.UpdateOwnNotifications),
		}
	})...)
	return api.Scoped(nil, routes...)
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

func (m mount) notifications(ctx context.Context, as authz.Actor, in placePath) (notificationEntity, error) {
	at, err := m.place(ctx, as, in.ID)
	if err != nil {
		return notificationEntity{}, err
	}
	set, err := m.s.Notifications.Find(ctx, as, at)
	if err != nil {
		return notificationEntity{}, err
	}
	return newNotification(set, m.group), nil
}

type updatePlaceNotificationParams struct {
	placePath
	notificationParams
}

func (m mount) updateNotifications(ctx context.Context, as authz.Actor, in updatePlaceNotificationParams) (notificationEntity, error) {
	at, err := m.place(ctx, as, in.ID)
	if err != nil {
		return notificationEntity{}, err
	}
	set, err := m.s.Notifications.Update(ctx, as, at, in.changes())
	if err != nil {
		return notificationEntity{}, err
	}
	return newNotification(set, m.group), nil
}
