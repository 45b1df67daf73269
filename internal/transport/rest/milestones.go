package rest

import (
	"context"
	"time"

	"tenon/internal/core/authz"
	"tenon/internal/core/filter"
	"tenon/internal/core/issue"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/milestone"
	"tenon/internal/core/project"
	"tenon/internal/transport/rest/api"
)

// milestoneHandlers are the milestone endpoints of projects or of groups.
type milestoneHandlers struct {
	server *Server
	place  placeFinder
}

var _ = Resource("milestones", (*Server).milestoneRoutes)

func (s *Server) milestoneRoutes() []*api.Route {
	of, groups := milestoneHandlers{s, mount{s: s}.place}, milestoneHandlers{s, mount{s: s, group: true}.place}
	routes := s.onPlanningPlaces("milestones", func(m mount) []*api.Route {
		return milestoneHandlers{s, m.place}.routes(m.path, m.noun, m.ability(authz.ReadIssue, authz.ReadGroup))
	})
	return api.Scoped(nil, append(routes,
		api.Get("/projects/:id/milestones/:milestone_id/merge_requests", of.requests).Doc("List the merge requests of a milestone").Needs(authz.ReadMilestone, authz.ReadMergeRequest),
		api.Get("/groups/:id/milestones/:milestone_id/merge_requests", groups.requests).Doc("List the merge requests of a milestone of a group").Needs(authz.ReadMilestone, authz.ReadGroup),
		api.Post("/projects/:id/milestones/:milestone_id/promote", of.promote).Status(200).Doc("Promote a milestone to the group").Needs(authz.AdminMilestone),
	)...)
}

func (h milestoneHandlers) routes(path, of string, issues authz.Ability) []*api.Route {
	const one = "/:milestone_id"
	list := api.Get(path, h.list)
	if of == "group" {
		list = api.Get(path, h.listOfGroup)
	}
	return []*api.Route{
		list.Doc("List the milestones of a " + of).Public().Needs(authz.ReadMilestone),
		api.Get(path+one, h.get).Doc("Get a milestone of a " + of).Public().Needs(authz.ReadMilestone),
		api.Post(path, h.create).Doc("Create a milestone in a " + of).Needs(authz.AdminMilestone),
		api.Put(path+one, h.update).Timed().Doc("Update a milestone of a " + of).Needs(authz.AdminMilestone),
		api.Delete(path+one, h.delete).Timed().Doc("Delete a milestone of a " + of).Needs(authz.AdminMilestone),
		api.Get(path+one+"/issues", h.issues).Doc("List the issues of a milestone of a "+of).Public().Needs(authz.ReadMilestone, issues),
		api.Get(path+one+"/burndown_events", h.burndown).Doc("List the burndown events of a milestone of a "+of).Public().Needs(authz.ReadMilestone, issues),
	}
}

type planOwner struct {
	ID string `param:"id,required" doc:"ID or URL-encoded path of the project or group"`
}

type milestonePath struct {
	planOwner
	MilestoneID milestone.ID `param:"milestone_id,required" doc:"ID of the milestone"`
}

type listMilestonesParams struct {
	planOwner
	State         string     `param:"state" values:"active,closed,all" default:"all" doc:"State"`
	IIDs          api.Ints   `param:"iids" doc:"Internal IDs; ignored with ancestors or descendants"`
	Title         string     `param:"title" doc:"Exact title"`
	Search        string     `param:"search" doc:"Search in titles and descriptions"`
	Ancestors     bool       `param:"include_ancestors" alias:"include_parent_milestones" default:"false" doc:"Include milestones of ancestor groups"`
	UpdatedBefore *time.Time `param:"updated_before" doc:"Return milestones updated on or before this time"`
	UpdatedAfter  *time.Time `param:"updated_after" doc:"Return milestones updated on or after this time"`
	api.Page
}

type listGroupMilestonesParams struct {
	listMilestonesParams
	Descendants bool `param:"include_descendants" default:"false" doc:"Include milestones of subgroups and projects"`
}

func (h milestoneHandlers) listOfGroup(ctx context.Context, as authz.Actor, in listGroupMilestonesParams) (api.List[milestoneEntity], error) {
	return h.listed(ctx, as, in.listMilestonesParams, milestone.Filter{Descendants: in.Descendants})
}

func (h milestoneHandlers) list(ctx context.Context, as authz.Actor, in listMilestonesParams) (api.List[milestoneEntity], error) {
	return h.listed(ctx, as, in, milestone.Filter{})
}

// listed lists the milestones that a filter and what all lists take select.
func (h milestoneHandlers) listed(ctx context.Context, as authz.Actor, in listMilestonesParams, f milestone.Filter) (api.List[milestoneEntity], error) {
	var none api.List[milestoneEntity]
	at, err := h.place(ctx, as, in.ID)
	if err != nil {
		return none, err
	}
	f.IIDs, f.Title, f.Search, f.Ancestors = numbers[milestone.IID](in.IIDs), in.Title, in.Search, in.Ancestors
	f.UpdatedAfter, f.UpdatedBefore, f.Range = in.UpdatedAfter, in.UpdatedBefore, in.Range()
	if in.State != "all" {
		f.State = milestone.State(in.State)
	}
	list, err := h.server.Milestones.List(ctx, as, at, f)
	if err != nil {
		return none, err
	}
	return api.ListOf(list, func(m *milestone.Milestone) milestoneEntity { return *h.server.milestoneOf(m) }), nil
}

func (h milestoneHandlers) get(ctx context.Context, as authz.Actor, in milestonePath) (*milestoneEntity, error) {
	at, err := h.place(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	m, err := h.server.Milestones.Find(ctx, as, at, in.MilestoneID)
	if err != nil {
		return nil, err
	}
	return h.server.milestoneOf(m), nil
}

type createMilestoneParams struct {
	planOwner
	Title       string            `param:"title,required" doc:"Title"`
	Description *string           `param:"description" chars:"1048576" doc:"Description"`
	DueDate     api.Opt[api.Date] `param:"due_date" doc:"Due date, YYYY-MM-DD"`
	StartDate   api.Opt[api.Date] `param:"start_date" doc:"Start date, YYYY-MM-DD"`
}

func (h milestoneHandlers) create(ctx context.Context, as authz.Actor, in createMilestoneParams) (*milestoneEntity, error) {
	at, err := h.place(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	m, err := h.server.Milestones.Create(ctx, as, at, milestone.Input{
		Title: in.Title, Description: in.Description, DueDate: text(in.DueDate), StartDate: text(in.StartDate),
	})
	if err != nil {
		return nil, err
	}
	return h.server.milestoneOf(m), nil
}

// text returns a date that was sent, "" where it was null, nil where none was.
func text(d api.Opt[api.Date]) *string { return (*string)(d.OrZero()) }

type updateMilestoneParams struct {
	milestonePath
	Title       *string           `param:"title" doc:"Title"`
	Description *string           `param:"description" chars:"1048576" doc:"Description"`
	DueDate     api.Opt[api.Date] `param:"due_date" doc:"Due date, YYYY-MM-DD; empty removes it"`
	StartDate   api.Opt[api.Date] `param:"start_date" doc:"Start date, YYYY-MM-DD; empty removes it"`
	StateEvent  string            `param:"state_event" values:"close,activate" doc:"close or activate"`
	_           struct{}          `atleastone:"title,description,due_date,start_date,state_event"`
}

func (h milestoneHandlers) update(ctx context.Context, as authz.Actor, in updateMilestoneParams) (*milestoneEntity, error) {
	at, err := h.place(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	m, err := h.server.Milestones.Update(ctx, as, at, in.MilestoneID, milestone.Changes{
		Title: in.Title, Description: in.Description, DueDate: text(in.DueDate), StartDate: text(in.StartDate), StateEvent: in.StateEvent,
	})
	if err != nil {
		return nil, err
	}
	return h.server.milestoneOf(m), nil
}

func (h milestoneHandlers) delete(ctx context.Context, as authz.Actor, in milestonePath) (api.None, error) {
	at, err := h.place(ctx, as, in.ID)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, h.server.Milestones.Delete(ctx, as, at, in.MilestoneID)
}

func (h milestoneHandlers) promote(ctx context.Context, as authz.Actor, in milestonePath) (*milestoneEntity, error) {
	at, err := h.place(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	m, err := h.server.Milestones.Promote(ctx, as, project.Of(at), in.MilestoneID)
	if err != nil {
		return nil, err
	}
	return h.server.milestoneOf(m), nil
}

type pagedMilestone struct {
	milestonePath
	api.Page
}

// found returns the place and the milestone that a path names.
func (h milestoneHandlers) found(ctx context.Context, as authz.Actor, in milestonePath) (authz.Place, *milestone.Milestone, error) {
	at, err := h.place(ctx, as, in.ID)
	if err != nil {
		return at, nil, err
	}
	m, err := h.server.Milestones.Find(ctx, as, at, in.MilestoneID)
	return at, m, err
}

func (h milestoneHandlers) issues(ctx context.Context, as authz.Actor, in pagedMilestone) (api.List[issueEntity], error) {
	at, m, err := h.found(ctx, as, in.milestonePath)
	if err != nil {
		return api.List[issueEntity]{}, err
	}
	params := issueListParams{OrderBy: "label_priority", Sort: "asc", Page: in.Page}
	return h.server.listIssues(ctx, as, at, params, issue.Filter{Milestone: filter.Milestone{ID: m.ID}}, at.Path)
}

func (h milestoneHandlers) burndown(ctx context.Context, as authz.Actor, in milestonePath) ([]burndownEntity, error) {
	at, m, err := h.found(ctx, as, in)
	if err != nil {
		return nil, err
	}
	list, err := h.server.Issues.Burndown(ctx, as, at, m)
	if err != nil {
		return nil, err
	}
	out := make([]burndownEntity, len(list))
	for i, e := range list {
		out[i] = burndownEntity{CreatedAt: api.Time(e.At.Time), Weight: e.Weight, Action: e.Action}
	}
	return out, nil
}

func (h milestoneHandlers) requests(ctx context.Context, as authz.Actor, in pagedMilestone) (api.List[requestForm], error) {
	at, m, err := h.found(ctx, as, in.milestonePath)
	if err != nil {
		return api.List[requestForm]{}, err
	}
	list, err := h.server.MergeRequests.List(ctx, as, at, mergerequest.Filter{
		Milestone: filter.Milestone{ID: m.ID}, OrderBy: "label_priority", Asc: true, Range: in.Range(),
	})
	if err != nil {
		return api.List[requestForm]{}, err
	}
	return h.server.requestPage(ctx, as, requestFilterParams{}, at.Path, list)
}
