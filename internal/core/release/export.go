package release

import (
	"context"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/tree"
)

// exported is a release as it moves.
type exported struct {
	Tag         string  `db:"tag_name" tree:"tag,max=255"`
	Description *string `db:"description" tree:"description,max=1048576"`
	ProjectID   int64   `db:"project_id" tree:"project_id,project"`
	AuthorID    *int64  `db:"author_id" tree:"author_id,user"`
	CreatedAt   db.Time `db:"created_at" tree:"created_at"`
	UpdatedAt   db.Time `db:"updated_at" tree:"updated_at"`
	Name        string  `db:"name" tree:"name,max=255"`
	SHA         *string `db:"sha" tree:"sha"`
	ReleasedAt  db.Time `db:"released_at" tree:"released_at"`
}

// exportedLink is a link of a release as it moves.
type exportedLink struct {
	URL       string  `db:"url" tree:"url,max=2048"`
	Name      string  `db:"name" tree:"name,max=255"`
	CreatedAt db.Time `db:"created_at" tree:"created_at"`
	UpdatedAt db.Time `db:"updated_at" tree:"updated_at"`
	Path      *string `db:"filepath" tree:"filepath,max=128"`
	Type      string  `db:"link_type" tree:"link_type,names=other|runbook|image|package"`
}

// exportedMilestone ties a milestone to a release as it moves.
type exportedMilestone struct {
	MilestoneID *int64 `db:"milestone_id" child:"milestone"`
}

// Relations describes the releases of a project. Evidence does not move.
func (s *Service) Relations() []tree.Relation {
	below := func(ctx context.Context, r *tree.Reading, _ string) (*db.Where, error) {
		return r.Within(ctx, authz.ReadRelease, "true")
	}
	return []tree.Relation{
		tree.Rows(tree.Relation{Name: "releases", Children: []string{"links", "milestone_releases"}, Tables: []string{"releases"}}, tree.Query[exported]{
			Columns: "e.tag_name, e.description, e.project_id, e.author_id, e.created_at, e.updated_at, e.name, e.sha, e.released_at", From: "releases e", ID: "e.id",
			Where: func(ctx context.Context, r *tree.Reading, _ string) (*db.Where, error) {
				return r.Within(ctx, authz.ReadRelease, "e.project_id = ? AND e.pending IS NULL", r.At.ID)
			},
		}),
		tree.Rows(tree.Relation{Name: "links", Tables: []string{"release_links"}}, tree.Query[exportedLink]{
			Columns: "l.url, l.name, l.created_at, l.updated_at, l.filepath, l.link_type", From: "release_links l", ID: "l.id", Parent: "l.release_id", Where: below,
		}),
		tree.Rows(tree.Relation{Name: "milestone_releases", Children: []string{"milestone"}, Tables: []string{"release_milestones"}}, tree.Query[exportedMilestone]{
			Columns: "m.milestone_id", From: "release_milestones m", ID: "m.milestone_id", Parent: "m.release_id", Where: below,
		}),
	}
}
