package note

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
)

// maxSources is how many projects cross-references are looked up in for one reader; those of
// others are not shown.
const maxSources = 1000

// CrossReference is a line of history that says what mentions a thing.
type CrossReference struct {
	On        noteable.Ref // that is mentioned
	ProjectID project.ID   // of On
	Body      string
}

// Source is what mentions things.
type Source struct {
	Ref       noteable.Ref // an issue or a merge request
	ProjectID project.ID
	AuthorID  authz.UserID
	At        time.Time
}

// Refer writes cross-references in the caller's transaction, each once for a source and what
// it mentions.
func (s *Service) Refer(ctx context.Context, from Source, to ...CrossReference) error {
	if len(to) == 0 {
		return nil
	}
	at := db.At(from.At)
	var args []any
	for _, r := range to {
		args = append(args, discussionID(), r.On.Kind, r.On.ID, r.ProjectID, from.AuthorID, r.Body, at, at, from.Ref.Kind, from.Ref.ID, from.ProjectID)
	}
	const row = "(?, ?, ?, ?, ?, ?, true, false, ?, ?, ?, ?, ?)"
	_, err := s.db.Exec(ctx, `INSERT INTO notes (discussion_id, noteable_type, noteable_id, project_id, author_id, body,
		system, internal, created_at, updated_at, source_type, source_id, source_project_id) VALUES `+
		strings.Repeat(row+", ", len(to)-1)+row+" ON CONFLICT DO NOTHING", args...)
	if err != nil {
		return fmt.Errorf("write cross-references: %w", err)
	}
	return nil
}

// sources gives the condition on notes, among those that a condition selects, that holds for
// the cross-references which the actor may read, those from issues and merge requests that it
// reads, and for all notes that are none.
func (s *Service) sources(ctx context.Context, as authz.Actor, among string, amongArgs []any) (cond string, args []any, err error) {
	if as.Admin || as.Auditor {
		return "true", nil, nil
	}
	const none = "n.source_type IS NULL"
	ids, err := db.Select[project.ID](ctx, s.db, "SELECT DISTINCT n.source_project_id FROM notes n WHERE n.source_type IS NOT NULL AND ("+among+
		") ORDER BY 1 LIMIT ?", append(slices.Clip(amongArgs), maxSources)...)
	if err != nil {
		return "", nil, fmt.Errorf("sources of cross-references: %w", err)
	}
	if len(ids) == 0 {
		return none, nil, nil
	}
	projects, err := s.projects.ByIDs(ctx, as, ids)
	if err != nil {
		return "", nil, err
	}
	var issues, all, requests []project.ID
	for _, id := range ids {
		p := projects[id]
		if p == nil {
			continue
		}
		for _, kind := range []struct {
			ability authz.Ability
			ids     *[]project.ID
		}{{authz.ReadIssue, &issues}, {authz.ReadMergeRequest, &requests}} {
			may, err := s.policy.Can(ctx, as, kind.ability, p.Subject())
			if err != nil {
				return "", nil, err
			}
			if may {
				*kind.ids = append(*kind.ids, id)
			}
		}
		if authz.SeesConfidential(as, p.Subject()) && slices.Contains(issues, id) {
			all = append(all, id)
		}
	}
	out := []string{none}
	add := func(kind noteable.Kind, in []project.ID, more string, moreArgs ...any) {
		if len(in) > 0 {
			marks, ids := db.Marks(in)
			out = append(out, "n.source_type = ? AND n.source_project_id IN ("+marks+")"+more)
			args = append(append(append(args, kind), ids...), moreArgs...)
		}
	}
	add(noteable.MergeRequest, requests, "")
	add(noteable.Issue, all, "")
	open, openArgs := authz.ConfidentialSQL(as, authz.Subject{}, "si")
	add(noteable.Issue, issues, " AND EXISTS (SELECT 1 FROM issues si WHERE si.id = n.source_id AND "+open+")", openArgs...)
	return "(" + strings.Join(out, " OR ") + ")", args, nil
}
