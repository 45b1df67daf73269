package rest

import (
	"context"
	"net/http"
	"time"

	"tenon/internal/core/authz"
	"tenon/internal/core/epic"
	"tenon/internal/core/filter"
	"tenon/internal/core/label"
	"tenon/internal/core/namespace"
	"tenon/internal/core/noteable"
	"tenon/internal/core/subscription"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("epics", (*Server).epicRoutes)

func (s *Server) epicRoutes() []*api.Route {
	const path = "/groups/:id/epics"
	const one, children = path + "/:epic_iid", path + "/:epic_iid/epics"
	return api.Scoped(nil,
		api.Get(path, s.epics).Doc("List the epics of a group").Public().Needs(authz.ReadEpic),
		api.Post(path, s.createEpic).Doc("Create an epic").Needs(authz.CreateEpic, authz.LinkEpic),
		api.Get(one, s.epic).Doc("Get an epic").Public().Needs(authz.ReadEpic),
		api.Put(one, s.updateEpic).Timed().Doc("Update an epic").Needs(authz.ReadEpic, authz.UpdateEpic, authz.LinkEpic),
		api.Delete(one, s.deleteEpic).Timed().Doc("Delete an epic").Needs(authz.ReadEpic, authz.DeleteEpic),

		api.Get(children, s.childEpics).Doc("List the child epics of an epic").Public().Needs(authz.ReadEpic),
		api.Post(children, s.createChildEpic).Doc("Create a child epic").Needs(authz.ReadEpic, authz.CreateEpic, authz.LinkEpic),
		api.Post(children+"/:child_epic_id", s.addChildEpic).Doc("Assign a child epic").Needs(authz.ReadEpic, authz.LinkEpic),
		api.Put(children+"/:child_epic_id", s.reorderChildEpic).Timed().Doc("Reorder a child epic").Needs(authz.ReadEpic, authz.LinkEpic),
		api.Delete(children+"/:child_epic_id", s.removeChildEpic).Timed().Doc("Remove a child epic from its parent").
			Status(http.StatusOK).Needs(authz.ReadEpic, authz.LinkEpic),
	)
}

// epicsPath names a group whose epics are meant.
type epicsPath struct {
	ID string `param:"id,required" doc:"ID or URL-encoded path of the group"`
}

type epicPath struct {
	epicsPath
	IID epic.IID `param:"epic_iid,required" doc:"Internal ID of the epic"`
}

type listEpicsParams struct {
	epicsPath
	State          string      `param:"state" values:"opened,closed,all" default:"all" doc:"State"`
	OrderBy        string      `param:"order_by" values:"created_at,updated_at,title" default:"created_at" doc:"Column to order by"`
	Sort           string      `param:"sort" values:"asc,desc" default:"desc" doc:"asc or desc"`
	IIDs           api.Ints    `param:"iids" doc:"Internal IDs"`
	AuthorID       *int64      `param:"author_id" doc:"Author"`
	AuthorUsername string      `param:"author_username" doc:"Author"`
	Labels         api.Strings `param:"labels" doc:"Return epics with all of these labels, separated by commas; None or Any"`
	Details        bool        `param:"with_labels_details" default:"false" doc:"Return labels with their details"`
	epic.Selection
	Not epicNot  `param:"not" doc:"Return epics that do not match these filters"`
	_   struct{} `exclusive:"author_id,author_username"`
	api.Page
}

type epicNot struct {
	AuthorID       *int64      `param:"author_id" doc:"Author"`
	AuthorUsername string      `param:"author_username" doc:"Author"`
	Labels         api.Strings `param:"labels" doc:"Label names, separated by commas"`
	Reaction       string      `param:"my_reaction_emoji" doc:"Emoji that the current user reacted with"`
	_              struct{}    `exclusive:"author_id,author_username"`
}

func (s *Server) epics(ctx context.Context, as authz.Actor, in listEpicsParams) (api.List[epicEntity], error) {
	var none api.List[epicEntity]
	g, err := s.Namespaces.Find(ctx, as, in.ID)
	if err != nil {
		return none, err
	}
	f := epic.Filter{
		IIDs: numbers[epic.IID](in.IIDs), Author: userOrName(in.AuthorID, in.AuthorUsername), Selection: in.Selection,
		Not:     filter.Not{Author: userOrName(in.Not.AuthorID, in.Not.AuthorUsername), Labels: in.Not.Labels, Reaction: in.Not.Reaction},
		OrderBy: in.OrderBy, Asc: in.Sort == "asc", Range: in.Range(),
	}
	f.Labels, f.LabelWildcard = wildcardLabels(in.Labels)
	if in.State != "all" {
		f.State = epic.State(in.State)
	}
	list, err := s.Epics.List(ctx, as, g, f)
	if err != nil {
		return none, err
	}
	out, err := s.epicEntities(ctx, as, epicView{from: g.FullPath, details: in.Details}, list.Items...)
	if err != nil {
		return none, err
	}
	return api.Listed(list, out), nil
}

// oneEpic renders an epic that its caller has just read or written.
func (s *Server) oneEpic(ctx context.Context, as authz.Actor, g *namespace.Group, e *epic.Epic, err error) (epicEntity, error) {
	if err != nil {
		return epicEntity{}, err
	}
	out, err := s.epicEntities(ctx, as, epicView{from: g.FullPath, single: true}, *e)
	if err != nil {
		return epicEntity{}, err
	}
	return out[0], nil
}

func (s *Server) epic(ctx context.Context, as authz.Actor, in epicPath) (epicEntity, error) {
	g, err := s.Namespaces.Find(ctx, as, in.ID)
	if err != nil {
		return epicEntity{}, err
	}
	e, err := s.Epics.Find(ctx, as, g, in.IID)
	return s.oneEpic(ctx, as, g, e, err)
}

type createEpicParams struct {
	epicsPath
	Title        string            `param:"title,required" doc:"Title"`
	Description  *string           `param:"description" chars:"1048576" doc:"Description in Markdown"`
	Labels       api.Strings       `param:"labels" doc:"Label names, separated by commas; missing labels are created"`
	Color        string            `param:"color" doc:"Color, #rrggbb or a CSS name"`
	Confidential bool              `param:"confidential" default:"false" doc:"Confidential: visible to Planner and above, and the author"`
	StartFixed   api.Opt[api.Date] `param:"start_date_fixed" doc:"Fixed start date, YYYY-MM-DD"`
	StartIsFixed bool              `param:"start_date_is_fixed" default:"false" doc:"Use the fixed start date instead of the inherited one"`
	DueFixed     api.Opt[api.Date] `param:"due_date_fixed" doc:"Fixed due date, YYYY-MM-DD"`
	DueIsFixed   bool              `param:"due_date_is_fixed" default:"false" doc:"Use the fixed due date instead of the inherited one"`
	ParentID     api.Opt[int64]    `param:"parent_id" doc:"ID of the parent epic"`
	CreatedAt    *time.Time        `param:"created_at" doc:"Creation time (administrators and Owners only, with sudo as the other user; ignored from others)"`
}

func (s *Server) createEpic(ctx context.Context, as authz.Actor, in createEpicParams) (epicEntity, error) {
	g, err := s.Namespaces.Find(ctx, as, in.ID)
	if err != nil {
		return epicEntity{}, err
	}
	input := epic.Input{
		Title: in.Title, Description: in.Description, Labels: in.Labels, Color: in.Color, Confidential: in.Confidential,
		StartFixed: text(in.StartFixed), StartIsFixed: in.StartIsFixed, DueFixed: text(in.DueFixed), DueIsFixed: in.DueIsFixed,
		ParentID: epic.ID(in.ParentID.Value), CreatedAt: in.CreatedAt,
	}
	e, err := s.Epics.Create(ctx, as, g, input)
	return s.oneEpic(ctx, as, g, e, err)
}

type updateEpicParams struct {
	epicPath
	Title        *string           `param:"title" doc:"Title"`
	Description  *string           `param:"description" chars:"1048576" doc:"Description in Markdown"`
	Labels       api.Strings       `param:"labels" doc:"Label names, separated by commas; empty removes all"`
	AddLabels    api.Strings       `param:"add_labels" doc:"Label names to add, separated by commas"`
	RemoveLabels api.Strings       `param:"remove_labels" doc:"Label names to remove, separated by commas"`
	Color        *string           `param:"color" doc:"Color, #rrggbb or a CSS name"`
	Confidential *bool             `param:"confidential" doc:"Confidential: visible to Planner and above, and the author"`
	StartFixed   api.Opt[api.Date] `param:"start_date_fixed" doc:"Fixed start date, YYYY-MM-DD; empty removes it"`
	StartIsFixed *bool             `param:"start_date_is_fixed" doc:"Use the fixed start date instead of the inherited one"`
	DueFixed     api.Opt[api.Date] `param:"due_date_fixed" doc:"Fixed due date, YYYY-MM-DD; empty removes it"`
	DueIsFixed   *bool             `param:"due_date_is_fixed" doc:"Use the fixed due date instead of the inherited one"`
	ParentID     api.Opt[int64]    `param:"parent_id" doc:"ID of the parent epic; 0 or empty removes it"`
	StateEvent   string            `param:"state_event" values:"reopen,close" doc:"close or reopen"`
	UpdatedAt    *time.Time        `param:"updated_at" doc:"Update time (administrators and Owners only, with sudo as the other user; ignored from others)"`
	_            struct{}          `atleastone:"add_labels,color,confidential,description,due_date_fixed,due_date_is_fixed,labels,parent_id,remove_labels,start_date_fixed,start_date_is_fixed,state_event,title,updated_at"`
}

func (s *Server) updateEpic(ctx context.Context, as authz.Actor, in updateEpicParams) (epicEntity, error) {
	g, err := s.Namespaces.Find(ctx, as, in.ID)
	if err != nil {
		return epicEntity{}, err
	}
	c := epic.Changes{
		Title: in.Title, Description: in.Description, Color: in.Color, Confidential: in.Confidential, StartFixed: text(in.StartFixed),
		StartIsFixed: in.StartIsFixed, DueFixed: text(in.DueFixed), DueIsFixed: in.DueIsFixed, ParentID: (*epic.ID)(in.ParentID.OrZero()),
		StateEvent: in.StateEvent, UpdatedAt: in.UpdatedAt, Labels: label.Assignment{Add: in.AddLabels, Remove: in.RemoveLabels},
	}
	if in.Labels != nil {
		titles := []string(in.Labels)
		c.Labels.Set = &titles
	}
	e, err := s.Epics.Update(ctx, as, g, in.IID, c)
	return s.oneEpic(ctx, as, g, e, err)
}

func (s *Server) deleteEpic(ctx context.Context, as authz.Actor, in epicPath) (api.None, error) {
	g, err := s.Namespaces.Find(ctx, as, in.ID)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, s.Epics.Delete(ctx, as, g, in.IID)
}

func (s *Server) childEpics(ctx context.Context, as authz.Actor, in epicPath) ([]epicEntity, error) {
	g, err := s.Namespaces.Find(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	list, err := s.Epics.Children(ctx, as, g, in.IID)
	if err != nil {
		return nil, err
	}
	return s.epicEntities(ctx, as, epicView{from: g.FullPath}, list...)
}

type createChildEpicParams struct {
	epicPath
	Title        string `param:"title,required" doc:"Title"`
	Confidential bool   `param:"confidential" default:"false" doc:"Confidential: visible to Planner and above, and the author"`
}

func (s *Server) createChildEpic(ctx context.Context, as authz.Actor, in createChildEpicParams) (epicEntity, error) {
	g, err := s.Namespaces.Find(ctx, as, in.ID)
	if err != nil {
		return epicEntity{}, err
	}
	e, err := s.Epics.CreateChild(ctx, as, g, in.IID, epic.Input{Title: in.Title, Confidential: in.Confidential})
	return s.oneEpic(ctx, as, g, e, err)
}

type childEpicPath struct {
	epicPath
	Child epic.ID `param:"child_epic_id,required" doc:"ID of the child epic"`
}

func (s *Server) addChildEpic(ctx context.Context, as authz.Actor, in childEpicPath) (epicEntity, error) {
	g, err := s.Namespaces.Find(ctx, as, in.ID)
	if err != nil {
		return epicEntity{}, err
	}
	e, err := s.Epics.AddChild(ctx, as, g, in.IID, in.Child)
	return s.oneEpic(ctx, as, g, e, err)
}

type reorderChildEpicParams struct {
	childEpicPath
	Before epic.ID `param:"move_before_id" doc:"ID of the child epic that comes before it"`
	After  epic.ID `param:"move_after_id" doc:"ID of the child epic that comes after it"`
}

func (s *Server) reorderChildEpic(ctx context.Context, as authz.Actor, in reorderChildEpicParams) ([]epicEntity, error) {
	g, err := s.Namespaces.Find(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	if err := s.Epics.ReorderChild(ctx, as, g, in.IID, in.Child, epic.Beside[epic.ID]{Before: in.Before, After: in.After}); err != nil {
		return nil, err
	}
	return s.childEpics(ctx, as, in.epicPath)
}

func (s *Server) removeChildEpic(ctx context.Context, as authz.Actor, in childEpicPath) (epicEntity, error) {
	g, err := s.Namespaces.Find(ctx, as, in.ID)
	if err != nil {
		return epicEntity{}, err
	}
	e, err := s.Epics.RemoveChild(ctx, as, g, in.IID, in.Child)
	return s.oneEpic(ctx, as, g, e, err)
}

func (s *Server) addEpicTodo(ctx context.Context, as authz.Actor, in epicPath) (todoEntity, error) {
	at, err := mount{s: s, group: true}.place(ctx, as, in.ID)
	return s.addTodo(ctx, as, subscription.On{Place: at, Kind: noteable.Epic, Key: noteable.Key{IID: int64(in.IID)}}, err)
}
