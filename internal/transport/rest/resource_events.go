package rest

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/iteration"
	"tenon/internal/core/label"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/milestone"
	"tenon/internal/core/noteable"
	"tenon/internal/core/resourceevent"
	"tenon/internal/transport/rest/api"
)

// eventHandlers are the endpoints of resource events of one kind on things of one kind. E is
// how clients see an event.
type eventHandlers[E any] struct {
	noteableHandlers
	of     resourceevent.Kind
	render func(ctx context.Context, as authz.Actor, t noteable.Target, events []resourceevent.Event) ([]E, error)
}

var _ = Resource("resource_events", (*Server).resourceEventRoutes)

func (s *Server) resourceEventRoutes() []*api.Route {
	var out []*api.Route
	for _, on := range s.noteables() {
		if on.History {
			out = append(out, eventHandlers[labelEventEntity]{on, resourceevent.Label, s.labelEvents}.routes()...)
			out = append(out, eventHandlers[stateEventEntity]{on, resourceevent.State, s.stateEvents}.routes()...)
		}
		if on.Milestones {
			out = append(out, eventHandlers[milestoneEventEntity]{on, resourceevent.Milestone, s.milestoneEvents}.routes()...)
		}
		if on.Kind == noteable.Issue {
			out = append(out, eventHandlers[iterationEventEntity]{on, resourceevent.Iteration, s.iterationEvents}.routes()...)
			out = append(out, eventHandlers[weightEventEntity]{on, resourceevent.Weight, s.weightEvents}.routes()...)
		}
	}
	return api.Scoped(nil, out...)
}

func (h eventHandlers[E]) routes() []*api.Route {
	path, what := h.path+"/:eventable_id/resource_"+string(h.of)+"_events", string(h.of)
	return []*api.Route{
		api.Get(path, h.list).Doc("List the "+what+" events of "+h.An).Needs(h.Read, authz.ReadNote),
		api.Get(path+"/:event_id", h.get).Doc("Get a "+what+" event of "+h.An).Needs(h.Read, authz.ReadNote),
	}
}

type eventablePath struct {
	ID     string `param:"id" doc:"ID or URL-encoded path of the project or group"`
	Number int64  `param:"eventable_id,required" doc:"Internal ID of the issue or merge request; ID of the epic"`
}

type listEventsParams struct {
	eventablePath
	api.Page
}

type eventPath struct {
	eventablePath
	Event resourceevent.ID `param:"event_id,required" doc:"ID of the event"`
}

func (h eventHandlers[E]) list(ctx context.Context, as authz.Actor, in listEventsParams) (api.List[E], error) {
	var none api.List[E]
	on, err := h.on(ctx, as, noteablePath(in.eventablePath))
	if err != nil {
		return none, err
	}
	list, t, err := h.server.Events.List(ctx, as, on, h.of, in.Range())
	if err != nil {
		return none, err
	}
	out, err := h.render(ctx, as, t, list.Items)
	if err != nil {
		return none, err
	}
	return api.Listed(list, out), nil
}

func (h eventHandlers[E]) get(ctx context.Context, as authz.Actor, in eventPath) (E, error) {
	var none E
	on, err := h.on(ctx, as, noteablePath(in.eventablePath))
	if err != nil {
		return none, err
	}
	e, t, err := h.server.Events.Find(ctx, as, on, h.of, in.Event)
	if err != nil {
		return none, err
	}
	out, err := h.render(ctx, as, t, []resourceevent.Event{*e})
	if err != nil {
		return none, err
	}
	return out[0], nil
}

// resourceEventBasic is what all events but those of weights begin with.
type resourceEventBasic struct {
	eventBasic
	ResourceType noteable.Kind `json:"resource_type"`
	ResourceID   int64         `json:"resource_id"`
}

type eventBasic struct {
	ID        resourceevent.ID `json:"id"`
	User      *userBasic       `json:"user"`
	CreatedAt api.Time         `json:"created_at"`
}

type labelEventEntity struct {
	resourceEventBasic
	Label  *labelBasic          `json:"label"` // null where it was deleted
	Action resourceevent.Action `json:"action"`
}

type milestoneEventEntity struct {
	resourceEventBasic
	Milestone *milestoneEntity     `json:"milestone"`
	Action    resourceevent.Action `json:"action"`
	State     *string              `json:"state"` // of the resource at that time
}

type iterationEventEntity struct {
	resourceEventBasic
	Iteration *iterationEntity     `json:"iteration"`
	Action    resourceevent.Action `json:"action"`
}

type stateEventEntity struct {
	resourceEventBasic
	SourceCommit  *string          `json:"source_commit"`
	SourceRequest *mergerequest.ID `json:"source_merge_request_id"`
	State         *string          `json:"state"`
}

type weightEventEntity struct {
	eventBasic
	IssueID int64  `json:"issue_id"`
	Weight  *int64 `json:"weight"`
}

// eventBasics renders what events of all kinds have, with one look at the users.
func (s *Server) eventBasics(ctx context.Context, events []resourceevent.Event) ([]resourceEventBasic, error) {
	var ids []authz.UserID
	for i := range events {
		if by := events[i].UserID; by != nil {
			ids = append(ids, *by)
		}
	}
	users, err := s.Accounts.ByIDs(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := make([]resourceEventBasic, len(events))
	for i := range events {
		e := &events[i]
		out[i] = resourceEventBasic{eventBasic{ID: e.ID, CreatedAt: api.Time(e.CreatedAt.Time)}, e.Type, e.TargetID}
		if e.UserID != nil {
			out[i].User = s.user(users[*e.UserID])
		}
	}
	return out, nil
}

func (s *Server) labelEvents(ctx context.Context, as authz.Actor, _ noteable.Target, events []resourceevent.Event) ([]labelEventEntity, error) {
	basics, err := s.eventBasics(ctx, events)
	if err != nil {
		return nil, err
	}
	var ids []label.ID
	for i := range events {
		if id := events[i].LabelID; id != nil {
			ids = append(ids, *id)
		}
	}
	labels, err := s.Labels.ByIDs(ctx, as, ids)
	if err != nil {
		return nil, err
	}
	out := make([]labelEventEntity, len(events))
	for i := range events {
		out[i] = labelEventEntity{resourceEventBasic: basics[i], Action: events[i].Action}
		if id := events[i].LabelID; id != nil && labels[*id] != nil {
			shown := newLabelBasic(labels[*id])
			out[i].Label = &shown
		}
	}
	return out, nil
}

func (s *Server) milestoneEvents(ctx context.Context, as authz.Actor, _ noteable.Target, events []resourceevent.Event) ([]milestoneEventEntity, error) {
	basics, err := s.eventBasics(ctx, events)
	if err != nil {
		return nil, err
	}
	ids := make([]*milestone.ID, len(events))
	for i := range events {
		ids[i] = events[i].MilestoneID
	}
	milestones, err := s.milestonesOf(ctx, as, ids...)
	if err != nil {
		return nil, err
	}
	out := make([]milestoneEventEntity, len(events))
	for i := range events {
		e := &events[i]
		out[i] = milestoneEventEntity{resourceEventBasic: basics[i], Action: e.Action, State: e.State}
		if e.MilestoneID != nil {
			out[i].Milestone = milestones[*e.MilestoneID]
		}
	}
	return out, nil
}

func (s *Server) iterationEvents(ctx context.Context, as authz.Actor, _ noteable.Target, events []resourceevent.Event) ([]iterationEventEntity, error) {
	basics, err := s.eventBasics(ctx, events)
	if err != nil {
		return nil, err
	}
	ids := make([]*iteration.ID, len(events))
	for i := range events {
		ids[i] = events[i].IterationID
	}
	iterations, err := s.iterationsOf(ctx, as, ids...)
	if err != nil {
		return nil, err
	}
	out := make([]iterationEventEntity, len(events))
	for i := range events {
		e := &events[i]
		out[i] = iterationEventEntity{resourceEventBasic: basics[i], Action: e.Action}
		if e.IterationID != nil {
			out[i].Iteration = iterations[*e.IterationID]
		}
	}
	return out, nil
}

func (s *Server) stateEvents(ctx context.Context, _ authz.Actor, _ noteable.Target, events []resourceevent.Event) ([]stateEventEntity, error) {
	basics, err := s.eventBasics(ctx, events)
	if err != nil {
		return nil, err
	}
	out := make([]stateEventEntity, len(events))
	for i := range events {
		e := &events[i]
		out[i] = stateEventEntity{resourceEventBasic: basics[i], SourceCommit: e.SourceCommit, SourceRequest: e.SourceRequestID, State: e.State}
	}
	return out, nil
}

func (s *Server) weightEvents(ctx context.Context, _ authz.Actor, _ noteable.Target, events []resourceevent.Event) ([]weightEventEntity, error) {
	basics, err := s.eventBasics(ctx, events)
	if err != nil {
		return nil, err
	}
	out := make([]weightEventEntity, len(events))
	for i := range events {
		out[i] = weightEventEntity{eventBasic: basics[i].eventBasic, IssueID: events[i].TargetID, Weight: events[i].Weight}
	}
	return out, nil
}
