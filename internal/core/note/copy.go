package note

import (
	"context"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/core/epic"
	"tenon/internal/core/issue"
	"tenon/internal/core/noteable"
)

// Texts of copied notes are adapted to their new project in batches of so many bytes, and so
// many in all; what is beyond that stays as it was.
const (
	maxAdaptedBatch = 4 << 20
	maxAdapted      = 32 << 20
)

// copied gives an issue that was moved or cloned the reactions to the other one and, where
// these come with it, its notes with theirs.
func (s *Service) copied(ctx context.Context, e issue.Created) error {
	if e.CopyOf == 0 {
		return nil
	}
	from, to := noteable.Ref{Kind: noteable.Issue, ID: int64(e.CopyOf)}, noteable.Ref{Kind: noteable.Issue, ID: int64(e.Row().ID)}
	if err := s.Awards.Copy(ctx, from, to); err != nil || !e.WithNotes {
		return err
	}
	project := int64(e.Row().ProjectID)
	if err := s.copyNotes(ctx, from, noteable.Target{Ref: to, ProjectID: project}, fmt.Sprintf("%08x", uint32(to.ID)), e.At); err != nil {
		return err
	}
	if e.From.ID == e.Row().ProjectID {
		return nil
	}
	return s.adapt(ctx, to, e.From.FullPath)
}

// promoted gives the epic that was made of an issue the reactions and the notes of this.
func (s *Service) promoted(ctx context.Context, e epic.Created) error {
	if e.Source == nil {
		return nil
	}
	from, to := noteable.Ref{Kind: noteable.Issue, ID: int64(e.Source.Issue.ID)}, noteable.Ref{Kind: noteable.Epic, ID: int64(e.Row().ID)}
	if err := s.Awards.Copy(ctx, from, to); err != nil {
		return err
	}
	if err := s.copyNotes(ctx, from, noteable.Target{Ref: to, GroupID: e.Row().GroupID}, fmt.Sprintf("e%07x", uint32(to.ID)&0xfffffff), e.At); err != nil {
		return err
	}
	return s.adapt(ctx, to, e.Source.Project.FullPath)
}

// copyNotes gives a new thing the notes on another one, with the reactions to them. The names of
// discussions are new: they begin with prefix, which has eight digits. Lines that name the new thing are the last
// ones, and stay away.
func (s *Service) copyNotes(ctx context.Context, from noteable.Ref, t noteable.Target, prefix string, at time.Time) error {
	to := t.Ref
	projectID, groupID := t.Place()
	_, err := s.DB.Exec(ctx, `INSERT INTO notes (discussion_id, noteable_type, noteable_id, commit_id, project_id, group_id, author_id, type, position, line_code, body, body_fold,
			system, internal, resolved_at, resolved_by_id, created_at, updated_at, source_type, source_id, source_project_id, source_key)
		SELECT CAST(? AS TEXT) || substr(n.discussion_id, 9), CAST(? AS TEXT), CAST(? AS BIGINT), n.commit_id, CAST(? AS BIGINT), CAST(? AS BIGINT), n.author_id, n.type, n.position,
			n.line_code, n.body, n.body_fold, n.system, n.internal, n.resolved_at, n.resolved_by_id, n.created_at, n.updated_at, n.source_type, n.source_id,
			n.source_project_id, n.source_key
		FROM notes n WHERE n.noteable_type = ? AND n.noteable_id = ? AND (n.source_type IS NULL OR n.source_type <> ? OR n.source_id <> ?) ORDER BY n.id`,
		prefix, to.Kind, to.ID, projectID, groupID, from.Kind, from.ID, to.Kind, to.ID)
	if err != nil {
		return fmt.Errorf("copy notes: %w", err)
	}
	if err := s.Awards.CopyNotes(ctx, from, to); err != nil {
		return err
	}
	total, err := db.Get[noteable.Counts](ctx, s.DB, `SELECT COUNT(*) AS notes_count, COALESCE(SUM(CASE WHEN n.internal THEN 0 ELSE 1 END), 0) AS public_notes_count,
		0 AS resolvable_discussions_count, 0 AS unresolved_discussions_count FROM notes n WHERE n.noteable_type = ? AND n.noteable_id = ? AND NOT n.system`, to.Kind, to.ID)
	if err != nil {
		return fmt.Errorf("count copied notes: %w", err)
	}
	_, err = s.count(ctx, to, total, at)
	return err
}

// adapt names the project at a path in all that notes on a thing refer to in it.
func (s *Service) adapt(ctx context.Context, on noteable.Ref, path string) error {
	type length struct {
		ID    ID    `db:"id"`
		Bytes int64 `db:"bytes"`
	}
	w := where(on)
	lengths, err := db.Select[length](ctx, s.DB, "SELECT n.id, octet_length(n.body) AS bytes FROM notes n"+w.SQL()+" ORDER BY n.id", w.Args()...)
	if err != nil {
		return fmt.Errorf("measure copied notes: %w", err)
	}
	var batch []ID
	var bytes, all int64
	for i, l := range lengths {
		if all += l.Bytes; all > maxAdapted {
			break
		}
		batch, bytes = append(batch, l.ID), bytes+l.Bytes
		if i+1 < len(lengths) && bytes+lengths[i+1].Bytes <= maxAdaptedBatch && len(batch) < db.MaxArgs {
			continue
		}
		if err := s.adaptBatch(ctx, batch, path); err != nil {
			return err
		}
		batch, bytes = nil, 0
	}
	return s.adaptBatch(ctx, batch, path)
}

func (s *Service) adaptBatch(ctx context.Context, ids []ID, path string) error {
	if len(ids) == 0 {
		return nil
	}
	type text struct {
		ID   ID     `db:"id"`
		Body string `db:"body" fold:"body_fold,sparse"`
	}
	marks, args := db.Marks(ids)
	texts, err := db.Select[text](ctx, s.DB, "SELECT id, body FROM notes WHERE id IN ("+marks+") ORDER BY id", args...)
	if err != nil {
		return fmt.Errorf("read copied notes: %w", err)
	}
	for _, t := range texts {
		body := s.Texts.Moved(t.Body, path)
		if body == t.Body {
			continue
		}
		_, err := db.Update(ctx, s.DB, db.Row{Table: "notes", ID: t.ID}, func(_ context.Context, t *text) error {
			t.Body = body
			return nil
		})
		if err != nil {
			return fmt.Errorf("change copied note: %w", err)
		}
	}
	return nil
}
