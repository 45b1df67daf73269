package graphql

import (
	"context"
	"strconv"
	"strings"

	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/board"
	"tenon/internal/core/label"
	"tenon/internal/core/milestone"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/transport/graphql/exec"
)

// boards binds issue boards and the lists of projects and groups.
func (b *binder) boards() {
	value(b, "Board.id", func(l *board.Located) string { return gid("Board", l.ID) })
	value(b, "Board.webUrl", b.boardURL)
	value(b, "Board.webPath", func(l *board.Located) string { return b.URLs.Path(b.boardURL(l)) })
	one(b, "Board.assignee", "users", func(l *board.Located) authz.UserID { return zeroOr(l.AssigneeID) }, b.usersByIDs)
	one(b, "Board.milestone", "milestones", func(l *board.Located) milestone.ID { return zeroOr(l.MilestoneID) }, b.Milestones.ByIDs)
	exec.Batch(b.Schema, "Board.labels", func(ctx context.Context, c *exec.Call[paging], of []*board.Located) ([]*exec.Page[*label.Label], error) {
		var ids []label.ID
		for _, l := range of {
			ids = append(ids, l.Board.Labels...)
		}
		found, err := exec.Load(ctx, c, "labels by id", ids, func(ctx context.Context, ids []label.ID) (map[label.ID]*label.Label, error) {
			return b.Labels.ByIDs(ctx, c.As, ids)
		})
		if err != nil {
			return nil, err
		}
		out := make([]*exec.Page[*label.Label], len(of))
		for i, l := range of {
			var all []*label.Label
			for _, id := range l.Board.Labels {
				if found[id] != nil {
					all = append(all, found[id])
				}
			}
			if out[i], err = listOf(c.Args, maxPage, all); err != nil {
				return nil, err
			}
		}
		return out, nil
	})
	exec.Struct[*board.Located](b.Schema, "Board")
	exec.Connection[*board.Located](b.Schema, "Board")
	boardsOf(b, "Project", (*project.Project).Place)
	boardsOf(b, "Group", (*namespace.Group).Place)
	b.boardLists()
	b.boardMutations()
	b.boardListMutations()
}

func (b *binder) boardURL(l *board.Located) string {
	if p := l.Project(); p != nil {
		return b.URLs.ProjectBoard(p.FullPath, int64(l.ID))
	}
	return b.URLs.GroupBoard(l.Group().FullPath, int64(l.ID))
}

// boardsOf binds the boards of a type of places.
func boardsOf[P *project.Project | *namespace.Group](b *binder, typ string, in func(p P) authz.Place) {
	exec.Batch(b.Schema, typ+".boards", func(ctx context.Context, c *exec.Call[struct {
		paging
		ID *globalID
	}], of []P,
	) ([]*exec.Page[*board.Located], error) {
		return forEach(ctx, b, c, of, func(ctx context.Context, p P) (*exec.Page[*board.Located], error) {
			if id := c.Args.ID; id != nil {
				var found []*board.Located
				l, err := b.Boards.Find(ctx, c.As, in(p), board.ID(id.ID))
				if err = hidden(err); err == nil && l != nil {
					found = append(found, &board.Located{Board: *l, Place: in(p)})
				}
				if err != nil {
					return nil, err
				}
				return listOf(c.Args.paging, maxPage, found)
			}
			return read(c, c.Args.paging, maxPage, func(r page.Range) (page.Page[*board.Located], error) {
				list, err := b.Boards.List(ctx, c.As, in(p), board.Filter{Range: r})
				return page.Map(list, func(l *board.Board) *board.Located { return &board.Located{Board: *l, Place: in(p)} }), err
			})
		})
	}, exec.Costly)
	exec.Batch(b.Schema, typ+".board", func(ctx context.Context, c *exec.Call[struct{ ID globalID }], of []P) ([]*board.Located, error) {
		return forEach(ctx, b, c, of, func(ctx context.Context, p P) (*board.Located, error) {
			l, err := b.Boards.Find(ctx, c.As, in(p), board.ID(c.Args.ID.ID))
			if err != nil {
				return nil, err
			}
			return &board.Located{Board: *l, Place: in(p)}, nil
		})
	}, exec.Costly)
}

// boardInput is what inputs of boards have in common; null takes away.
type boardInput struct {
	AssigneeID                      exec.Opt[globalID]
	HideBacklogList, HideClosedList *bool
	LabelIDs, Labels                []string
	MilestoneID                     exec.Opt[globalID]
	Name                            *string
	Weight                          exec.Opt[int64]
}

func (b *binder) boardChanges(ctx context.Context, as authz.Actor, at authz.Place, in boardInput) (board.Changes, error) {
	c := board.Changes{
		Name: in.Name, HideBacklogList: in.HideBacklogList, HideClosedList: in.HideClosedList,
		Weight: in.Weight.Value, ClearWeight: in.Weight.Set && in.Weight.Value == nil,
	}
	if in.AssigneeID.Set {
		c.AssigneeID = new(authz.UserID(zeroOr(in.AssigneeID.Value).ID))
	}
	if in.MilestoneID.Set {
		c.MilestoneID = new(milestone.ID(zeroOr(in.MilestoneID.Value).ID))
	}
	if err := oneOf(map[string]bool{"labels": in.Labels != nil, "labelIds": in.LabelIDs != nil}); err != nil {
		return c, err
	}
	if in.Labels == nil && in.LabelIDs == nil {
		return c, nil
	}
	titles, err := b.labelTitles(ctx, as, at, append([]string{}, in.Labels...), in.LabelIDs)
	c.Labels = &titles
	return c, err
}

// boardPayload is what mutations of boards give.
type boardPayload struct{ Board *board.Located }

func (b *binder) boardMutations() {
	exec.Mutation(b.Schema, "createBoard", func(ctx context.Context, c *exec.Call[struct {
		parent
		boardInput
	}],
	) (boardPayload, error) {
		p, g, err := b.parent(ctx, c.As, c.Args.parent)
		if err != nil {
			return boardPayload{}, err
		}
		var place authz.Place
		if p != nil {
			place = p.Place()
		} else {
			place = g.Place()
		}
		change, err := b.boardChanges(ctx, c.As, place, c.Args.boardInput)
		if err != nil {
			return boardPayload{}, err
		}
		if change.Name == nil {
			change.Name = new("Development")
		}
		made, err := b.Boards.Create(ctx, c.As, place, change)
		if err != nil {
			return boardPayload{}, err
		}
		return boardPayload{&board.Located{Board: *made, Place: place}}, nil
	})
	exec.Mutation(b.Schema, "updateBoard", func(ctx context.Context, c *exec.Call[struct {
		ID globalID
		boardInput
	}],
	) (boardPayload, error) {
		l, err := needed(ctx, c.As, c.Args.ID, b.Boards.ByIDs)
		if err != nil {
			return boardPayload{}, err
		}
		change, err := b.boardChanges(ctx, c.As, l.Place, c.Args.boardInput)
		if err != nil {
			return boardPayload{}, err
		}
		changed, err := b.Boards.Update(ctx, c.As, l.Place, l.ID, change)
		if err != nil {
			return boardPayload{}, err
		}
		return boardPayload{&board.Located{Board: *changed, Place: l.Place}}, nil
	})
	exec.Mutation(b.Schema, "destroyBoard", func(ctx context.Context, c *exec.Call[struct{ ID globalID }]) (boardPayload, error) {
		l, err := needed(ctx, c.As, c.Args.ID, b.Boards.ByIDs)
		if err != nil {
			return boardPayload{}, err
		}
		return boardPayload{}, b.Boards.Delete(ctx, c.As, l.Place, l.ID)
	})
}

// columnGID is the global id of a column of a board: that of its list, or its kind with the number of
// the board where there is no list.
func columnGID(c *column) string {
	if c.List != nil {
		return gid("List", c.List.ID)
	}
	return gid("List", string(c.Kind)+"-"+strconv.FormatInt(int64(c.Board.ID), 10))
}

// columnOf finds the column with a global id, or what is behind the model in one.
func (b *binder) columnOf(ctx context.Context, as authz.Actor, text string) (*board.Column, error) {
	if id, err := readGID(text); err == nil {
		text = id.Text
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		l, list, err := b.Boards.ByList(ctx, as, board.ListID(n))
		if err != nil {
			return nil, err
		}
		return new(l.Column(list)), nil
	}
	kind, of, _ := strings.Cut(text, "-")
	n := number(of)
	found, err := b.Boards.ByIDs(ctx, as, []board.ID{board.ID(n)})
	if err != nil {
		return nil, err
	}
	l := found[board.ID(n)]
	if k := board.Kind(kind); l != nil && (k == board.Backlog || k == board.Closed) {
		return &board.Column{Board: l, Kind: k}, nil
	}
	return nil, errNoPlace
}
