package rest

import (
	"context"
	"strconv"

	"tenon/internal/core/authz"
	"tenon/internal/core/label"
	"tenon/internal/transport/rest/api"
)

// labelHandlers are the label endpoints of projects or of groups.
type labelHandlers struct {
	server *Server
	place  placeFinder
}

var _ = Resource("labels", (*Server).labelRoutes)

func (s *Server) labelRoutes() []*api.Route {
	routes := s.onPlanningPlaces("labels", func(m mount) []*api.Route { return labelHandlers{s, m.place}.routes(m.path, m.noun) })
	return api.Scoped(nil, append(routes,
		api.Put("/projects/:id/labels/:name/promote", s.promoteLabel).Timed().Doc("Promote a label to the group").Needs(authz.AdminLabel),
	)...)
}

func (s *Server) promoteLabel(ctx context.Context, as authz.Actor, in labelPath) (labelEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return labelEntity{}, err
	}
	groups := mount{s: s, group: true}
	var group authz.Place // none for a personal project
	if !p.Personal {
		if group, err = groups.place(ctx, as, strconv.FormatInt(int64(p.ParentID), 10)); err != nil {
			return labelEntity{}, err
		}
	}
	l, err := s.Labels.Promote(ctx, as, p.Place(), group, in.Name)
	if err != nil {
		return labelEntity{}, err
	}
	return labelHandlers{s, groups.place}.one(ctx, as, group, l)
}

func (h labelHandlers) routes(path, of string) []*api.Route {
	list := api.Get(path, h.list)
	if of == "group" {
		list = api.Get(path, h.listOfGroup)
	}
	return []*api.Route{
		list.Doc("List the labels of a " + of).Public().Needs(authz.ReadLabel),
		api.Get(path+"/:name", h.get).Doc("Get a label of a " + of).Public().Needs(authz.ReadLabel),
		api.Post(path, h.create).Doc("Create a label in a " + of).Needs(authz.AdminLabel),
		api.Put(path+"/:name", h.update).Timed().Doc("Update a label of a " + of).Needs(authz.AdminLabel),
		api.Put(path, h.updateNamed).Timed().Doc("Update a label named by parameters").Needs(authz.AdminLabel).Deprecated(),
		api.Delete(path+"/:name", h.delete).Timed().Doc("Delete a label of a " + of).Needs(authz.AdminLabel),
		api.Post(path+"/:name/subscribe", h.subscribe).Doc("Subscribe to a label of a "+of).Needs(authz.ReadLabel, authz.UpdateSubscription),
		api.Post(path+"/:name/unsubscribe", h.unsubscribe).Doc("Unsubscribe from a label of a "+of).Needs(authz.ReadLabel, authz.UpdateSubscription),
		api.Delete(path, h.deleteNamed).Timed().Doc("Delete a label named by parameters").Needs(authz.AdminLabel).Deprecated(),
	}
}

type labelOwner struct {
	ID string `param:"id,required" doc:"ID or URL-encoded path of the project or group"`
}

type labelPath struct {
	labelOwner
	Name string `param:"name,required,free" doc:"ID or title of the label"`
}

type listLabelsParams struct {
	labelOwner
	WithCounts    bool   `param:"with_counts" default:"false" doc:"Include issue and merge request counts"`
	WithAncestors bool   `param:"include_ancestor_groups" default:"true" doc:"Include labels of ancestor groups"`
	Search        string `param:"search" doc:"Search in titles and descriptions"`
	Archived      *bool  `param:"archived" doc:"Return only archived labels, or only the others"`
	api.Page
}

type listGroupLabelsParams struct {
	listLabelsParams
	Descendants bool `param:"include_descendant_groups" default:"false" doc:"Include labels of descendant groups"`
	GroupOnly   bool `param:"only_group_labels" default:"true" doc:"Leave out labels of the projects in the group"`
}

func (h labelHandlers) listOfGroup(ctx context.Context, as authz.Actor, in listGroupLabelsParams) (api.List[labelEntity], error) {
	return h.listed(ctx, as, in.listLabelsParams, label.Filter{Descendants: in.Descendants, Projects: !in.GroupOnly})
}

func (h labelHandlers) list(ctx context.Context, as authz.Actor, in listLabelsParams) (api.List[labelEntity], error) {
	return h.listed(ctx, as, in, label.Filter{})
}

// listed lists the labels that a filter and what all lists take select.
func (h labelHandlers) listed(ctx context.Context, as authz.Actor, in listLabelsParams, f label.Filter) (api.List[labelEntity], error) {
	var none api.List[labelEntity]
	at, err := h.place(ctx, as, in.ID)
	if err != nil {
		return none, err
	}
	f.Search, f.OwnOnly, f.Archived, f.Range = in.Search, !in.WithAncestors, in.Archived, in.Range()
	labels, err := h.server.Labels.List(ctx, as, at, f)
	if err != nil {
		return none, err
	}
	out := make([]labelEntity, len(labels.Items))
	ids := make([]label.ID, len(labels.Items))
	for i := range labels.Items {
		out[i], ids[i] = newLabelEntity(at, &labels.Items[i]), labels.Items[i].ID
	}
	subscribed, err := h.server.Subscriptions.OfLabels(ctx, as, at, ids...)
	if err != nil {
		return none, err
	}
	for i, id := range ids {
		out[i].Subscribed = subscribed[id]
	}
	if in.WithCounts {
		uses, err := h.server.Labels.Usages(ctx, as, at, ids)
		if err != nil {
			return none, err
		}
		for i, id := range ids {
			u := uses[id]
			out[i].labelCounts = &labelCounts{OpenIssues: u.OpenIssues, ClosedIssues: u.ClosedIssues, OpenRequests: u.OpenRequests}
		}
	}
	return api.Listed(labels, out), nil
}

func (h labelHandlers) get(ctx context.Context, as authz.Actor, in labelPath) (labelEntity, error) {
	at, err := h.place(ctx, as, in.ID)
	if err != nil {
		return labelEntity{}, err
	}
	l, err := h.server.Labels.Find(ctx, as, at, in.Name)
	if err != nil {
		return labelEntity{}, err
	}
	return h.one(ctx, as, at, l)
}

type createLabelParams struct {
	labelOwner
	Name        string  `param:"name,required" doc:"Title"`
	Color       string  `param:"color,required" doc:"Color as #RRGGBB or a CSS color name"`
	Description *string `param:"description" doc:"Description of the label"`
	Priority    *int64  `param:"priority" min:"0" doc:"Priority of the label; null for none"`
	Archived    bool    `param:"archived" default:"false" doc:"Whether the label is archived"`
}

func (h labelHandlers) create(ctx context.Context, as authz.Actor, in createLabelParams) (labelEntity, error) {
	at, err := h.place(ctx, as, in.ID)
	if err != nil {
		return labelEntity{}, err
	}
	if !at.IsProject() {
		in.Priority = nil // groups' labels have none
	}
	l, err := h.server.Labels.Create(ctx, as, at, label.Input{Title: in.Name, Color: in.Color, Description: in.Description, Priority: in.Priority, Archived: in.Archived})
	if err != nil {
		return labelEntity{}, err
	}
	return h.one(ctx, as, at, l)
}

type labelChanges struct {
	NewName     *string        `param:"new_name" doc:"New title"`
	Color       *string        `param:"color" doc:"New color"`
	Description *string        `param:"description" doc:"New description"`
	Priority    api.Opt[int64] `param:"priority" min:"0" doc:"New priority; null removes it"`
	Archived    *bool          `param:"archived" doc:"Whether the label is archived"`
	_           struct{}       `atleastone:"new_name,color,description,priority,archived"`
}

func (c labelChanges) changes(at authz.Place) label.Changes {
	out := label.Changes{Title: c.NewName, Color: c.Color, Description: c.Description, Archived: c.Archived}
	if at.IsProject() {
		out.Priority, out.ClearPriority = c.Priority.Ptr(), c.Priority.Null
	}
	return out
}

type updateLabelParams struct {
	labelPath
	labelChanges
}

func (h labelHandlers) update(ctx context.Context, as authz.Actor, in updateLabelParams) (labelEntity, error) {
	at, err := h.place(ctx, as, in.ID)
	if err != nil {
		return labelEntity{}, err
	}
	l, err := h.server.Labels.Update(ctx, as, at, in.Name, in.changes(at))
	if err != nil {
		return labelEntity{}, err
	}
	return h.one(ctx, as, at, l)
}

// namedLabel names a label beside the other parameters.
type namedLabel struct {
	LabelID *int64   `param:"label_id" doc:"ID of the label"`
	Name    *string  `param:"name" doc:"Title of the label"`
	_       struct{} `exactlyone:"label_id,name"`
}

func (n namedLabel) ref() string {
	if n.LabelID != nil {
		return strconv.FormatInt(*n.LabelID, 10)
	}
	return textOf(n.Name)
}

type updateNamedLabelParams struct {
	labelOwner
	namedLabel
	labelChanges
}

func (h labelHandlers) updateNamed(ctx context.Context, as authz.Actor, in updateNamedLabelParams) (labelEntity, error) {
	return h.update(ctx, as, updateLabelParams{labelPath{in.labelOwner, in.ref()}, in.labelChanges})
}

func (h labelHandlers) delete(ctx context.Context, as authz.Actor, in labelPath) (api.None, error) {
	at, err := h.place(ctx, as, in.ID)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, h.server.Labels.Delete(ctx, as, at, in.Name)
}

type deleteNamedLabelParams struct {
	labelOwner
	namedLabel
}

func (h labelHandlers) deleteNamed(ctx context.Context, as authz.Actor, in deleteNamedLabelParams) (api.None, error) {
	return h.delete(ctx, as, labelPath{in.labelOwner, in.ref()})
}
