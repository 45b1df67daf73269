package board

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
)

// Located is a board with the project or group that it is of, as the actor sees that.
type Located struct {
	Board
	Place authz.Place
}

// Project returns the project of the board, nil for a board of a group.
func (l *Located) Project() *project.Project { return project.Of(l.Place) }

// Group returns the group of the board, nil for a board of a project.
func (l *Located) Group() *namespace.Group { return namespace.Of(l.Place) }

// ByIDs returns those of the boards with these ids that the actor may read.
func (s *Service) ByIDs(ctx context.Context, as authz.Actor, ids []ID) (map[ID]*Located, error) {
	out := make(map[ID]*Located, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	var w db.Where
	w.In("b.id", ids)
	list, err := db.Select[Board](ctx, s.DB, "SELECT "+db.Columns[Board]("b")+" FROM boards b"+w.SQL(), w.Args()...)
	if err == nil {
		err = s.fill(ctx, list)
	}
	if err != nil {
		return nil, fmt.Errorf("boards by id: %w", err)
	}
	spaces := make([]authz.NamespaceID, len(list))
	for i := range list {
		spaces[i] = list[i].NamespaceID
	}
	places, err := s.places(ctx, as, spaces)
	if err != nil {
		return nil, err
	}
	for i := range list {
		at, ok := places[list[i].NamespaceID]
		if !ok {
			continue
		}
		may, err := s.Policy.Can(ctx, as, authz.ReadBoard, at.Subject)
		if err != nil {
			return nil, fmt.Errorf("boards by id: %w", err)
		}
		if may {
			out[list[i].ID] = &Located{Board: list[i], Place: at}
		}
	}
	return out, nil
}

// places returns the projects and groups with these namespaces that the actor may read.
func (s *Service) places(ctx context.Context, as authz.Actor, ids []authz.NamespaceID) (map[authz.NamespaceID]authz.Place, error) {
	out := make(map[authz.NamespaceID]authz.Place, len(ids))
	projects, err := s.Projects.ByNamespaces(ctx, as, ids)
	if err != nil {
		return nil, err
	}
	for id, p := range projects {
		out[id] = p.Place()
	}
	groups, err := s.Groups.ByIDs(ctx, as, ids)
	for id, g := range groups {
		out[id] = g.Place()
	}
	return out, err
}

// ByList returns the board of a list; both are missing where the actor may not read the board.
func (s *Service) ByList(ctx context.Context, as authz.Actor, id ListID) (*Located, *List, error) {
	boards, err := db.Select[ID](ctx, s.DB, "SELECT board_id FROM board_lists WHERE id = ?", id)
	if err != nil {
		return nil, nil, fmt.Errorf("board of list: %w", err)
	}
	found, err := s.ByIDs(ctx, as, boards)
	if err != nil {
		return nil, nil, err
	}
	for _, b := range found {
		l, err := b.list(id)
		return b, l, err
	}
	return nil, nil, errs.Missing("")
}
