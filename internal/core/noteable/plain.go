package noteable

import (
	"context"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// Plain implements Noteables for a kind without rules of its own: each is a row of a project, with an
// author, a title and the counters of comments, and whoever has the ability of the kind in the
// project may see it. The service of such a kind embeds it. It is not Readable: comments on such noteables are not Searched.
type Plain struct {
	description Description
	db          *db.DB
	policy      *authz.Policy
	projects    projects
}

type projects interface {
	ByIDs(ctx context.Context, as authz.Actor, ids []project.ID) (map[project.ID]*project.Project, error)
}

// NewPlain makes one of the description of a kind.
func NewPlain(d *db.DB, policy *authz.Policy, in projects, of Description) Plain {
	return Plain{of, d, policy, in}
}

type plainRow struct {
	ID        int64        `db:"id"`
	ProjectID project.ID   `db:"project_id"`
	AuthorID  authz.UserID `db:"author_id"`
	Title     string       `db:"title"`
	Notes     int64        `db:"notes_count"`
	Public    int64        `db:"public_notes_count"`
}

// Describe returns the description of the kind.
func (k *Plain) Describe() Description { return k.description }

func (k *Plain) rows(ctx context.Context, w db.Where) ([]plainRow, error) {
	rows, err := db.Select[plainRow](ctx, k.db, "SELECT "+db.Columns[plainRow]("t")+" FROM "+k.description.Table+" t"+w.SQL(), w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", k.description.Noun, err)
	}
	return rows, nil
}

// Locate finds a row of the project.
func (k *Plain) Locate(ctx context.Context, as authz.Actor, at authz.Place, key Key) (Target, error) {
	missing := errs.Missing(string(k.description.Kind))
	if !at.IsProject() {
		return Target{}, missing
	}
	if err := k.policy.Require(ctx, as, k.description.Read, at.Subject); err != nil {
		return Target{}, err
	}
	var w db.Where
	w.And("t.id = ? AND t.project_id = ?", key.Number, at.ID)
	rows, err := k.rows(ctx, w)
	if err != nil {
		return Target{}, err
	}
	if len(rows) == 0 {
		return Target{}, missing
	}
	return Target{
		Ref: Ref{Kind: k.description.Kind, ID: rows[0].ID}, Title: rows[0].Title, AuthorID: rows[0].AuthorID, Subject: at.Subject,
		ProjectID: at.ID, ProjectPath: at.Path, Notes: rows[0].Notes, PublicNotes: rows[0].Public,
	}, nil
}

// Subjects returns the permission subjects of those of the rows that the actor may see.
func (k *Plain) Subjects(ctx context.Context, as authz.Actor, refs []Ref) (map[Ref]authz.Subject, error) {
	out := make(map[Ref]authz.Subject, len(refs))
	if len(refs) == 0 {
		return out, nil
	}
	var w db.Where
	w.In("t.id", IDs(refs))
	rows, err := k.rows(ctx, w)
	if err != nil {
		return nil, err
	}
	of := make([]project.ID, len(rows))
	for i := range rows {
		of[i] = rows[i].ProjectID
	}
	projects, err := k.projects.ByIDs(ctx, as, of)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		p := projects[rows[i].ProjectID]
		if p == nil {
			continue
		}
		may, err := k.policy.Can(ctx, as, k.description.Read, p.Subject())
		if err != nil {
			return nil, fmt.Errorf("subjects of %s: %w", k.description.Noun, err)
		}
		if may {
			out[Ref{Kind: k.description.Kind, ID: rows[i].ID}] = p.Subject()
		}
	}
	return out, nil
}

// CountNotes changes the counters of comments of a row and the time of its last change in the
// caller's transaction, and returns the counters as they are then.
func (k *Plain) CountNotes(ctx context.Context, on Ref, by Counts, at time.Time) (Counts, error) {
	return CountComments(ctx, k.db, "UPDATE "+k.description.Table, on, by, at)
}
