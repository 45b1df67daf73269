package release

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/tree"
)

// Writers says how releases are imported. Their tags are those of the repository.
func (s *Service) Writers() []tree.Writer {
	return []tree.Writer{tree.Write("releases", s.importAll), tree.Write("links", s.importLinks), tree.Write("milestone_releases", s.importMilestones)}
}

func (s *Service) importAll(ctx context.Context, w *tree.Writing, rows []*tree.Row[exported]) error {
	tags := make([]string, len(rows))
	for i, r := range rows {
		tags[i] = r.Value.Tag
	}
	var where db.Where
	where.And("project_id = ?", w.At.ID)
	where.In("tag_name", tags)
	found, err := db.Select[string](ctx, s.DB, "SELECT tag_name FROM releases"+where.SQL()+" ORDER BY id", where.Args()...)
	if err != nil {
		return fmt.Errorf("tags of releases: %w", err)
	}
	taken := map[string]bool{}
	for _, tag := range found {
		taken[tag] = true
	}
	var made []Release
	var of []*tree.Row[exported]
	for _, r := range rows {
		v := r.Value
		one := Release{
			ProjectID: project.ID(w.At.ID), Tag: v.Tag, Name: v.Name, Description: v.Description, AuthorID: (*authz.UserID)(v.AuthorID), ReleasedAt: v.ReleasedAt,
			CreatedAt: v.CreatedAt, UpdatedAt: v.UpdatedAt,
		}
		if one.Name == "" {
			one.Name = one.Tag
		}
		if v.SHA != nil {
			if _, err := gitstore.ParseObjectID(*v.SHA); err == nil {
				one.SHA = v.SHA
			}
		}
		if bad := one.check(); len(bad) > 0 {
			r.Fail(bad.Err().Error())
			continue
		}
		if _, err := gitstore.TagRef(one.Tag); err != nil || taken[one.Tag] {
			r.Fail("tag is invalid or has already been taken")
			continue
		}
		taken[one.Tag] = true
		if v.AuthorID != nil && r.Unmatched("author_id") {
			r.Change(r.NotFound("its author", "author_id"))
		}
		made, of = append(made, one), append(of, r)
	}
	ids, err := db.InsertAll(ctx, s.DB, "releases", made)
	if err != nil {
		return fmt.Errorf("insert releases: %w", err)
	}
	for i, id := range ids {
		of[i].ID = id
	}
	return nil
}

func (s *Service) importLinks(ctx context.Context, _ *tree.Writing, rows []*tree.Row[exportedLink]) error {
	var out []linkRow
	count := map[int64]int{}
	for _, r := range rows {
		v := r.Value
		l := linkRow{Link{ReleaseID: ID(r.Parent), Name: v.Name, URL: v.URL, Path: v.Path, Type: v.Type}, v.CreatedAt, v.UpdatedAt}
		if bad := l.check(); len(bad) > 0 {
			r.Fail(bad.Err().Error())
			continue
		}
		if count[r.Parent]++; count[r.Parent] > maxLinks {
			r.Lose("the release has too many links")
			continue
		}
		out = append(out, l)
	}
	if err := db.InsertRows(ctx, s.DB, "release_links", out, "ON CONFLICT DO NOTHING"); err != nil {
		return fmt.Errorf("insert links of releases: %w", err)
	}
	return nil
}

func (s *Service) importMilestones(ctx context.Context, _ *tree.Writing, rows []*tree.Row[exportedMilestone]) error {
	type tie struct {
		ReleaseID   int64 `db:"release_id"`
		MilestoneID int64 `db:"milestone_id"`
	}
	var out []tie
	for _, r := range rows {
		if r.Value.MilestoneID == nil {
			r.Lose("its milestone is missing")
			continue
		}
		out = append(out, tie{r.Parent, *r.Value.MilestoneID})
	}
	if err := db.InsertRows(ctx, s.DB, "release_milestones", out, "ON CONFLICT DO NOTHING"); err != nil {
		return fmt.Errorf("insert milestones of releases: %w", err)
	}
	return nil
}
