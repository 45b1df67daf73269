package note

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/issue"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
)

// maxFollowed is how many threads one new issue follows up.
const maxFollowed = 100

// followUp resolves the threads of a merge request that a new issue follows up, and says so in
// them. It leaves out what the actor may not see or resolve.
func (s *Service) followUp(ctx context.Context, e issue.Created) error {
	if e.Resolves.Request == 0 {
		return nil
	}
	on := On{Project: e.Project, Kind: noteable.MergeRequest, Key: noteable.Key{Number: e.Resolves.Request}}
	t, seen, err := s.readable(ctx, e.By, on)
	if refusal(err) {
		return nil
	}
	if err != nil {
		return err
	}
	w := seen.where()
	w.Raw("n.type IS NOT NULL AND n.resolved_at IS NULL AND NOT n.system")
	if e.Resolves.Discussion != "" {
		w.And("n.discussion_id = ?", e.Resolves.Discussion)
	}
	open, err := db.Select[string](ctx, s.db, "SELECT n.discussion_id FROM notes n"+w.SQL()+" GROUP BY n.discussion_id ORDER BY MIN(n.id) LIMIT ?", append(w.Args(), maxFollowed)...)
	if err != nil {
		return fmt.Errorf("threads to follow up: %w", err)
	}
	for _, id := range open {
		_, _, err := s.Resolve(ctx, e.By.Unconditional(), on, id, Resolution{Resolved: true})
		if refusal(err) {
			continue
		}
		if err != nil {
			return err
		}
		err = s.Record(ctx, System{
			On: t.Ref, ProjectID: project.ID(t.ProjectID), AuthorID: e.By.UserID, At: e.At, Discussion: id,
			Names: Named{Ref: noteable.Ref{Kind: noteable.Issue, ID: int64(e.Issue.ID)}, ProjectID: e.Issue.ProjectID},
		}, "created "+e.Issue.IID.Reference()+" to continue this discussion")
		if err != nil {
			return err
		}
	}
	return nil
}

// refusal reports whether an error says that an actor may not do something.
func refusal(err error) bool {
	return errs.Is(err, errs.NotFound) || errs.Is(err, errs.Forbidden) || errs.Is(err, errs.Unauthorized)
}
