package note

import (
	"context"
	"fmt"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/issue"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/weburl"
)

// maxFollowed is how many threads one new issue follows up.
const maxFollowed = 100

// followUp resolves the threads of a merge request that a new issue follows up, and says so in
// them. It leaves out what the actor may not see or resolve.
func (s *Service) followUp(ctx context.Context, e issue.Created) error {
	if e.Resolves.Request == 0 {
		return nil
	}
	on := On{Place: e.Project.Place(), Kind: noteable.MergeRequest, Key: noteable.Key{Number: e.Resolves.Request}}
	t, seen, err := s.readable(ctx, e.By, on)
	if refusal(err) {
		return nil
	}
	if err != nil {
		return err
	}
	open, err := s.openThreads(ctx, seen, e.Resolves.Discussion)
	if err != nil {
		return err
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
			Names: Named{Ref: noteable.Ref{Kind: noteable.Issue, ID: int64(e.Row().ID)}, ProjectID: e.Row().ProjectID},
		}, "created "+e.Row().IID.Reference()+" to continue this discussion")
		if err != nil {
			return err
		}
	}
	return nil
}

// openThreads returns the ids of the open threads that an actor sees of a merge request, oldest
// first, or the id of one of them.
func (s *Service) openThreads(ctx context.Context, seen sight, one string) ([]string, error) {
	w := seen.where()
	w.Raw("n.type IS NOT NULL AND n.resolved_at IS NULL AND NOT n.system")
	if one != "" {
		w.And("n.discussion_id = ?", one)
	}
	open, err := db.Select[string](ctx, s.DB, "SELECT n.discussion_id FROM notes n"+w.SQL()+" GROUP BY n.discussion_id ORDER BY MIN(n.id) LIMIT ?", append(w.Args(), maxFollowed)...)
	if err != nil {
		return nil, fmt.Errorf("threads to follow up: %w", err)
	}
	return open, nil
}

// maxQuoted is how many characters of a note an issue quotes that follows up its thread.
const maxQuoted = 2000

// FollowUp returns the description of a new issue that follows up threads of a merge request: a
// task for each of those that the actor may resolve, "" where there is none.
func (s *Service) FollowUp(ctx context.Context, as authz.Actor, p *project.Project, of issue.Threads) (string, error) {
	t, seen, err := s.readable(ctx, as, On{Place: p.Place(), Kind: noteable.MergeRequest, Key: noteable.Key{Number: of.Request}})
	if refusal(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	open, err := s.openThreads(ctx, seen, of.Discussion)
	if err != nil || len(open) == 0 {
		return "", err
	}
	type thread struct {
		ID     ID           `db:"id"`
		Author authz.UserID `db:"author_id"`
		Name   string       `db:"username"`
		Text   string       `db:"text"`
		More   int          `db:"more"` // comments that came after it
	}
	marks, ids := db.Marks(open)
	args := append([]any{maxQuoted, t.Kind, t.ID}, ids...)
	threads, err := db.Select[thread](ctx, s.DB, `SELECT n.id, n.author_id, u.username, SUBSTR(n.body, 1, ?) AS text, x.more
		FROM (SELECT MIN(id) AS id, COUNT(*) - 1 AS more FROM notes WHERE noteable_type = ? AND noteable_id = ? AND NOT system
			AND discussion_id IN (`+marks+`) GROUP BY discussion_id) x
		JOIN notes n ON n.id = x.id JOIN users u ON u.id = n.author_id ORDER BY n.id`, args...)
	if err != nil {
		return "", fmt.Errorf("describe threads: %w", err)
	}
	url := (&weburl.Site{}).MergeRequest(p.FullPath, of.Request)
	var items []string
	for _, x := range threads {
		switch err := s.requireResolve(ctx, as, t, &Note{AuthorID: x.Author}); {
		case refusal(err):
			continue
		case err != nil:
			return "", err
		}
		more := ""
		if x.More == 1 {
			more = " (+1 comment)"
		} else if x.More > 1 {
			more = fmt.Sprintf(" (+%d comments)", x.More)
		}
		items = append(items, fmt.Sprintf("- [ ] @%s started a [discussion](%s#note_%d):%s\n\n    > %s",
			x.Name, url, x.ID, more, strings.ReplaceAll(strings.TrimSpace(x.Text), "\n", "\n    > ")))
	}
	what := "discussions"
	switch len(items) {
	case 0:
		return "", nil
	case 1:
		what = "discussion"
	}
	return fmt.Sprintf("The following %s from !%d should be addressed:\n\n%s", what, of.Request, strings.Join(items, "\n\n")), nil
}

// refusal reports whether an error says that an actor may not do something.
func refusal(err error) bool {
	return errs.Is(err, errs.NotFound) || errs.Is(err, errs.Forbidden) || errs.Is(err, errs.Unauthorized)
}
