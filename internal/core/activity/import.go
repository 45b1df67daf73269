package activity

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/noteable"
	"tenon/internal/core/tree"
)

// Writers says how events are imported: those of users who were found.
func (r *Recorder) Writers() []tree.Writer {
	return []tree.Writer{tree.Write("events", r.importAll)}
}

// target is what an event names of its target.
type target struct {
	ID    int64   `db:"id"`
	IID   int64   `db:"iid"`
	Title *string `db:"title"`
}

// targetsIn selects what events name of targets of a kind, with 0 where there is no number; "" for kinds without events of their own.
func (r *Recorder) targetsIn(kind string) string {
	switch kind {
	case "Note":
		return "SELECT id, 0 AS iid, NULL AS title FROM notes"
	case "Milestone":
		return "SELECT id, iid, title FROM milestones"
	}
	if known := r.kinds.Find(noteable.Kind(kind)); known != nil && known.Table != "" && known.Kind != noteable.Snippet { // snippets have no number
		return "SELECT id, iid, title FROM " + known.Table
	}
	return ""
}

func (r *Recorder) importAll(ctx context.Context, w *tree.Writing, rows []*tree.Row[exported]) error {
	ids := map[string][]int64{}
	for _, e := range rows {
		ids[e.Of] = append(ids[e.Of], e.Parent)
	}
	targets := map[string]map[int64]target{}
	for kind, of := range ids {
		query := r.targetsIn(kind)
		if query == "" {
			continue
		}
		var where db.Where
		where.In("id", of)
		found, err := db.Select[target](ctx, r.db, query+where.SQL()+" ORDER BY id", where.Args()...)
		if err != nil {
			return fmt.Errorf("targets of events: %w", err)
		}
		targets[kind] = map[int64]target{}
		for _, t := range found {
			targets[kind][t.ID] = t
		}
	}
	project, group := ownerOf(w)
	var out []row
	for _, e := range rows {
		t, ok := targets[e.Of][e.Parent]
		switch {
		case !ok:
			e.Lose("this server has no events of such rows")
		case e.Unmatched("author_id"):
			e.Lose(e.NotFound("the user", "author_id"))
		case e.Value.Action == Pushed:
			e.Lose("pushes do not move")
		default:
			kind := e.Of
			out = append(out, row{
				ProjectID: project, GroupID: group, AuthorID: e.Value.AuthorID, Action: e.Value.Action, TargetType: &kind, TargetID: &t.ID, TargetIID: some(t.IID), TargetTitle: t.Title,
				CreatedAt: e.Value.CreatedAt, Origin: w.Origin(),
			})
		}
	}
	if _, err := db.InsertAll(ctx, r.db, "events", out); err != nil {
		return fmt.Errorf("insert events: %w", err)
	}
	return nil
}

// ownerOf is the project, or the group, that events belong to.
func ownerOf(w *tree.Writing) (project, group *int64) {
	if w.At.Group {
		return nil, &w.At.ID
	}
	return &w.At.ID, nil
}
