package rest

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/board"
	"tenon/internal/core/iteration"
	"tenon/internal/core/label"
	"tenon/internal/core/milestone"
	"tenon/internal/transport/rest/api"
)

// boardHandlers are the board endpoints of projects or of groups.
type boardHandlers struct {
	server *Server
	place  placeFinder
}

var _ = Resource("boards", (*Server).boardRoutes)

func (s *Server) boardRoutes() []*api.Route {
	return api.Scoped(nil, s.onPlanningPlaces("boards", func(m mount) []*api.Route { return boardHandlers{s, m.place}.routes(m.path, m.noun) })...)
}

func (h boardHandlers) routes(path, of string) []*api.Route {
	one := path + "/:board_id"
	lists := one + "/lists"
	return []*api.Route{
		api.Get(path, h.list).Doc("List the issue boards of a " + of).Public().Needs(authz.ReadBoard),
		api.Get(one, h.get).Doc("Get an issue board of a " + of).Public().Needs(authz.ReadBoard),
		api.Post(path, h.create).Doc("Create an issue board in a " + of).Needs(authz.AdminBoard),
		api.Put(one, h.update).Timed().Doc("Update an issue board of a " + of).Needs(authz.AdminBoard),
		api.Delete(one, h.delete).Timed().Doc("Delete an issue board of a " + of).Needs(authz.AdminBoard),
		api.Get(lists, h.lists).Doc("List the lists of an issue board of a " + of).Public().Needs(authz.ReadBoard),
		api.Get(lists+"/:list_id", h.getList).Doc("Get a list of an issue board of a " + of).Public().Needs(authz.ReadBoard),
		api.Post(lists, h.createList).Doc("Create a list in an issue board of a " + of).Needs(authz.AdminBoard),
		api.Put(lists+"/:list_id", h.updateList).Timed().Doc("Move a list of an issue board of a "+of).Needs(authz.AdminBoard, authz.ReadBoard),
		api.Delete(lists+"/:list_id", h.deleteList).Timed().Doc("Delete a list of an issue board of a " + of).Needs(authz.AdminBoard),
	}
}

type boardPath struct {
	planOwner
	BoardID board.ID `param:"board_id,required" doc:"ID of the board"`
}

type listBoardsParams struct {
	planOwner
	api.Page
}

func (h boardHandlers) list(ctx context.Context, as authz.Actor, in listBoardsParams) (api.List[boardEntity], error) {
	var none api.List[boardEntity]
	at, err := h.place(ctx, as, in.ID)
	if err != nil {
		return none, err
	}
	list, err := h.server.Boards.List(ctx, as, at, board.Filter{Range: in.Range()})
	if err != nil {
		return none, err
	}
	out, err := h.server.boards(ctx, as, at, list.Items)
	if err != nil {
		return none, err
	}
	return api.Listed(list, out), nil
}

// one renders a board that its caller has just read or written.
func (h boardHandlers) one(ctx context.Context, as authz.Actor, at authz.Place, b *board.Board, err error) (boardEntity, error) {
	if err != nil {
		return boardEntity{}, err
	}
	out, err := h.server.boards(ctx, as, at, []board.Board{*b})
	if err != nil {
		return boardEntity{}, err
	}
	return out[0], nil
}

func (h boardHandlers) get(ctx context.Context, as authz.Actor, in boardPath) (boardEntity, error) {
	at, err := h.place(ctx, as, in.ID)
	if err != nil {
		return boardEntity{}, err
	}
	b, err := h.server.Boards.Find(ctx, as, at, in.BoardID)
	return h.one(ctx, as, at, b, err)
}

type createBoardParams struct {
	planOwner
	Name string `param:"name,required" doc:"Name"`
}

func (h boardHandlers) create(ctx context.Context, as authz.Actor, in createBoardParams) (boardEntity, error) {
	at, err := h.place(ctx, as, in.ID)
	if err != nil {
		return boardEntity{}, err
	}
	b, err := h.server.Boards.Create(ctx, as, at, board.Changes{Name: &in.Name})
	return h.one(ctx, as, at, b, err)
}

type updateBoardParams struct {
	boardPath
	Name            *string        `param:"name" doc:"New name"`
	HideBacklogList *bool          `param:"hide_backlog_list" doc:"Hide the Open list"`
	HideClosedList  *bool          `param:"hide_closed_list" doc:"Hide the Closed list"`
	AssigneeID      api.Opt[int64] `param:"assignee_id" doc:"ID of the assignee whose issues the board shows; 0 removes it"`
	MilestoneID     api.Opt[int64] `param:"milestone_id" doc:"ID of the milestone whose issues the board shows; 0 removes it"`
	Labels          api.Strings    `param:"labels" doc:"Label names of the issues that the board shows, separated by commas; empty removes all"`
	Weight          api.Opt[int64] `param:"weight" min:"0" doc:"Weight of the issues that the board shows"`
}

func (h boardHandlers) update(ctx context.Context, as authz.Actor, in updateBoardParams) (boardEntity, error) {
	at, err := h.place(ctx, as, in.ID)
	if err != nil {
		return boardEntity{}, err
	}
	c := board.Changes{
		Name: in.Name, HideBacklogList: in.HideBacklogList, HideClosedList: in.HideClosedList, MilestoneID: milestoneID(in.MilestoneID),
		AssigneeID: (*authz.UserID)(in.AssigneeID.OrZero()), Weight: in.Weight.Ptr(), ClearWeight: in.Weight.Null,
	}
	if in.Labels != nil {
		titles := []string(in.Labels)
		c.Labels = &titles
	}
	b, err := h.server.Boards.Update(ctx, as, at, in.BoardID, c)
	return h.one(ctx, as, at, b, err)
}

func (h boardHandlers) delete(ctx context.Context, as authz.Actor, in boardPath) (api.None, error) {
	at, err := h.place(ctx, as, in.ID)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, h.server.Boards.Delete(ctx, as, at, in.BoardID)
}

type listBoardListsParams struct {
	boardPath
	api.Page
}

func (h boardHandlers) lists(ctx context.Context, as authz.Actor, in listBoardListsParams) (api.List[boardList], error) {
	var none api.List[boardList]
	at, err := h.place(ctx, as, in.ID)
	if err != nil {
		return none, err
	}
	list, err := h.server.Boards.Lists(ctx, as, at, in.BoardID, board.Filter{Range: in.Range()})
	if err != nil {
		return none, err
	}
	parts, err := h.server.boardParts(ctx, as, nil, list.Items)
	if err != nil {
		return none, err
	}
	return api.ListOf(list, func(l *board.List) boardList { return h.server.boardList(l, parts) }), nil
}

type boardListPath struct {
	boardPath
	ListID board.ListID `param:"list_id,required" doc:"ID of the list"`
}

// oneList renders a list that its caller has just read or written.
func (h boardHandlers) oneList(ctx context.Context, as authz.Actor, l *board.List, err error) (boardList, error) {
	if err != nil {
		return boardList{}, err
	}
	parts, err := h.server.boardParts(ctx, as, nil, []board.List{*l})
	if err != nil {
		return boardList{}, err
	}
	return h.server.boardList(l, parts), nil
}

func (h boardHandlers) getList(ctx context.Context, as authz.Actor, in boardListPath) (boardList, error) {
	at, err := h.place(ctx, as, in.ID)
	if err != nil {
		return boardList{}, err
	}
	l, err := h.server.Boards.FindList(ctx, as, at, in.BoardID, in.ListID)
	return h.oneList(ctx, as, l, err)
}

type createBoardListParams struct {
	boardPath
	LabelID     *label.ID     `param:"label_id" doc:"ID of the label"`
	AssigneeID  *authz.UserID `param:"assignee_id" doc:"ID of the assignee"`
	MilestoneID *milestone.ID `param:"milestone_id" doc:"ID of the milestone"`
	IterationID *iteration.ID `param:"iteration_id" doc:"ID of the iteration"`
	_           struct{}      `exactlyone:"label_id,assignee_id,milestone_id,iteration_id"`
}

func (h boardHandlers) createList(ctx context.Context, as authz.Actor, in createBoardListParams) (boardList, error) {
	at, err := h.place(ctx, as, in.ID)
	if err != nil {
		return boardList{}, err
	}
	l, err := h.server.Boards.CreateList(ctx, as, at, in.BoardID, board.ListInput{
		LabelID: in.LabelID, AssigneeID: in.AssigneeID, MilestoneID: in.MilestoneID, IterationID: in.IterationID,
	})
	return h.oneList(ctx, as, l, err)
}

type updateBoardListParams struct {
	boardListPath
	Position       int64   `param:"position,required" doc:"Position among the lists, from 0"`
	MaxIssueCount  *int64  `param:"max_issue_count" min:"0" doc:"How many issues the list should hold; 0 for no limit"`
	MaxIssueWeight *int64  `param:"max_issue_weight" min:"0" doc:"How much weight the issues of the list should have; 0 for no limit"`
	LimitMetric    *string `param:"limit_metric" values:"all_metrics,issue_count,issue_weights," doc:"The limits that count; empty removes it"`
}

func (h boardHandlers) updateList(ctx context.Context, as authz.Actor, in updateBoardListParams) (boardList, error) {
	at, err := h.place(ctx, as, in.ID)
	if err != nil {
		return boardList{}, err
	}
	l, err := h.server.Boards.UpdateList(ctx, as, at, in.BoardID, in.ListID, board.ListChanges{
		Position: &in.Position, MaxIssueCount: in.MaxIssueCount, MaxIssueWeight: in.MaxIssueWeight, LimitMetric: in.LimitMetric,
	})
	return h.oneList(ctx, as, l, err)
}

func (h boardHandlers) deleteList(ctx context.Context, as authz.Actor, in boardListPath) (api.None, error) {
	at, err := h.place(ctx, as, in.ID)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, h.server.Boards.DeleteList(ctx, as, at, in.BoardID, in.ListID)
}
