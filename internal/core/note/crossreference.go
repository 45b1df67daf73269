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

// maxSources is how many projects what history names is looked up in for one reader; lines that
// name something in others are not shown.
const maxSources = 1000

// CrossReference is a line of history that says what mentions a thing.
type CrossReference struct {
	On        noteable.Ref      // that is mentioned
	ProjectID project.ID        // of On; zero for an epic
	GroupID   authz.NamespaceID // of an epic
	Body      string
}

// Source is what mentions things.
type Source struct {
	Ref       noteable.Ref // an issue, a merge request, a commit or an epic
	ProjectID project.ID   // zero for an epic
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
		args = append(args, discussionID(), r.On.Kind, r.On.ID, orNull(r.ProjectID), orNull(r.GroupID), from.AuthorID, r.Body, at, at, from.Ref.Kind, from.Ref.ID, from.ProjectID, from.Ref.Commit)
	}
	const row = "(?, ?, ?, ?, ?, ?, ?, true, false, ?, ?, ?, ?, ?, ?)"
	_, err := s.DB.Exec(ctx, `INSERT INTO notes (discussion_id, noteable_type, noteable_id, project_id, group_id, author_id, body,
		system, internal, created_at, updated_at, source_type, source_id, source_project_id, source_key) VALUES `+
		strings.Repeat(row+", ", len(to)-1)+row+" ON CONFLICT DO NOTHING", args...)
	if err != nil {
		return fmt.Errorf("write cross-references: %w", err)
	}
	return nil
}

// sources returns the condition on notes, among those that a condition selects, that holds for
// the lines of history that name something which the actor may read, and for all notes that
// name nothing.
func (s *Service) sources(ctx context.Context, as authz.Actor, among string, amongArgs []any) (cond string, args []any, err error) {
	if as.Admin || as.Auditor {
		return "true", nil, nil
	}
	type row struct {
		Kind    noteable.Kind `db:"source_type"`
		Project project.ID    `db:"project_id"`
	}
	rows, err := db.Select[row](ctx, s.DB, `SELECT DISTINCT n.source_type, COALESCE(n.source_project_id, 0) AS project_id FROM notes n
		WHERE n.source_type IS NOT NULL AND (`+among+") ORDER BY 2, 1 LIMIT ?", append(slices.Clip(amongArgs), maxSources)...)
	if err != nil {
		return "", nil, fmt.Errorf("sources of history: %w", err)
	}
	out := []string{"n.source_type IS NULL"}
	of := map[noteable.Kind][]project.ID{}
	var ids []project.ID
	for _, r := range rows {
		if r.Project != 0 {
			of[r.Kind] = append(of[r.Kind], r.Project)
			if !slices.Contains(ids, r.Project) {
				ids = append(ids, r.Project)
			}
			continue
		}
		if source, ok := things[noteable.Readable](s, r.Kind); ok { // it belongs to a group
			readable, more := source.ReadableSQL(as, "source_id")
			out, args = append(out, "n.source_type = ? AND COALESCE(n.source_project_id, 0) = 0 AND "+readable), append(append(args, r.Kind), more...)
		}
	}
	if len(ids) == 0 {
		return "(" + strings.Join(out, " OR ") + ")", args, nil
	}
	projects, err := s.Projects.ByIDs(ctx, as, ids)
	if err != nil {
		return "", nil, err
	}
	add := func(kind noteable.Kind, in []project.ID, more string, moreArgs ...any) {
		if len(in) > 0 {
			marks, ids := db.Marks(in)
			out = append(out, "n.source_type = ? AND n.source_project_id IN ("+marks+")"+more)
			args = append(append(append(args, kind), ids...), moreArgs...)
		}
	}
	for _, kind := range s.Kinds.All() {
		var some, all []project.ID
		for _, id := range of[kind.Kind] {
			p := projects[id]
			if p == nil {
				continue
			}
			switch may, err := s.Policy.Can(ctx, as, kind.Read, p.Subject()); {
			case err != nil:
				return "", nil, err
			case may && (!kind.Confidential || authz.SeesConfidential(as, p.Subject())):
				all = append(all, id)
			case may:
				some = append(some, id)
			}
		}
		add(kind.Kind, all, "")
		open, openArgs := authz.ConfidentialSQL(as, authz.Subject{}, "si")
		add(kind.Kind, some, " AND EXISTS (SELECT 1 FROM "+kind.Table+" si WHERE si.id = n.source_id AND "+open+")", openArgs...)
	}
	return "(" + strings.Join(out, " OR ") + ")", args, nil
}
