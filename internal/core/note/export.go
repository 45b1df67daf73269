package note

import (
	"context"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/noteable"
	"tenon/internal/core/tree"
)

// exported is a note as it moves. Importers of the format need its author and the time of its last change.
type exported struct {
	Body         string    `db:"body" tree:"note,max=1000000,markdown"`
	NoteableType string    `db:"noteable_type" tree:"noteable_type"`
	AuthorID     int64     `db:"author_id" tree:"author_id,user" child:"author"`
	CreatedAt    db.Time   `db:"created_at" tree:"created_at"`
	UpdatedAt    db.Time   `db:"updated_at" tree:"updated_at"`
	ProjectID    *int64    `db:"project_id" tree:"project_id,project"`
	LineCode     *string   `db:"line_code" tree:"line_code"`
	CommitID     *string   `db:"commit_id" tree:"commit_id"`
	System       bool      `db:"system" tree:"system"`
	UpdatedByID  *int64    `db:"last_edited_by_id" tree:"updated_by_id,user"`
	Type         *string   `db:"type" tree:"type,names=DiscussionNote|DiffNote"`
	Position     *Position `db:"position" tree:"position"`
	Original     *Position `db:"original_position" tree:"original_position"`
	Changed      *Position `db:"change_position" tree:"change_position"`
	ResolvedAt   *db.Time  `db:"resolved_at" tree:"resolved_at"`
	ResolvedByID *int64    `db:"resolved_by_id" tree:"resolved_by_id,user"`
	DiscussionID string    `db:"discussion_id" tree:"discussion_id"`
	Confidential bool      `db:"internal" tree:"confidential"`
	LastEditedAt *db.Time  `db:"last_edited_at" tree:"last_edited_at"`
}

// exportedSuggestion is a suggestion as it moves.
type exportedSuggestion struct {
	RelativeOrder int64   `db:"relative_order" tree:"relative_order"`
	Applied       bool    `db:"applied" tree:"applied"`
	CommitID      *string `db:"commit_id" tree:"commit_id"`
	FromContent   string  `db:"from_content" tree:"from_content"`
	ToContent     string  `db:"to_content" tree:"to_content"`
	Outdated      bool    `tree:"outdated"`
	LinesAbove    int64   `db:"lines_above" tree:"lines_above"`
	LinesBelow    int64   `db:"lines_below" tree:"lines_below"`
}

// kindOfNotes is what award emoji and events call notes.
const kindOfNotes = "Note"

// Relations describes notes on whatever has some, and those on commits, which have a file.
func (s *Service) Relations() []tree.Relation {
	query := tree.Query[exported]{
		Columns: `n.body, n.noteable_type, n.author_id, n.created_at, n.updated_at, n.project_id, n.line_code, n.commit_id, n.system, n.last_edited_by_id, n.type,
			n.position, n.original_position, n.change_position, n.resolved_at, n.resolved_by_id, n.discussion_id, n.internal, n.last_edited_at`,
		From: "notes n", ID: "n.id", Where: s.exportedWhere,
		Fill: func(_ context.Context, _ *tree.Reading, rows []exported) error {
			for i := range rows {
				if rows[i].Original == nil {
					rows[i].Original = rows[i].Position
				}
			}
			return nil
		},
	}
	nested := query
	nested.Parent = "n.noteable_id"
	absent := []string{"st_diff", "resolved_by_push"}
	with := func(more ...string) []string { return append([]string{"author", "award_emoji"}, more...) }
	return []tree.Relation{
		tree.Rows(tree.Relation{
			Name: "notes", Parts: true, Kind: kindOfNotes, Children: with("events"), Tables: []string{"notes"}, Absent: append([]string{"system_note_metadata"}, absent...),
		}, nested),
		tree.Rows(tree.Relation{
			Name: "merge_request_notes", Parts: true, Key: "notes", Kind: kindOfNotes, Children: with("events", "suggestions"),
			Absent: append([]string{"system_note_metadata", "note_diff_file"}, absent...),
		}, nested),
		tree.Rows(tree.Relation{Name: "snippet_notes", Key: "notes", Kind: kindOfNotes, Children: with(), Absent: absent}, nested),
		tree.Rows(tree.Relation{Name: "commit_notes", Kind: kindOfNotes, Children: []string{"author", "events"}, Absent: absent}, query),
		tree.Rows(tree.Relation{Name: "suggestions", Tables: []string{"suggestions"}}, tree.Query[exportedSuggestion]{
			Columns: "g.relative_order, g.applied, g.commit_id, g.from_content, g.to_content, g.lines_above, g.lines_below",
			From:    "suggestions g", ID: "g.relative_order", Parent: "g.note_id", Where: func(ctx context.Context, r *tree.Reading, _ string) (*db.Where, error) {
				return r.Within(ctx, authz.ReadCode, "true")
			},
		}),
	}
}

// exportedWhere selects the notes that the reader may see: on things of a kind, or of commits.
func (s *Service) exportedWhere(ctx context.Context, r *tree.Reading, of string) (*db.Where, error) {
	ability := r.Readable() // what the notes are on was selected before
	if of == "" {
		of, ability = string(noteable.Commit), authz.ReadCode
	}
	column, id := r.Owner()
	w, err := r.Within(ctx, ability, "n.noteable_type = ? AND n."+column+" = ?", of, id)
	if w == nil || err != nil {
		return nil, err
	}
	internal, err := r.May(ctx, authz.InternalNote)
	if err != nil {
		return nil, err
	}
	if !internal {
		w.Raw("NOT n.internal")
	}
	type condition struct {
		text string
		args []any
	}
	c, err := tree.Once(r, "sources of notes", func() (condition, error) {
		text, args, err := s.sources(ctx, r.As, "n."+column+" = ?", []any{id})
		return condition{text, args}, err
	})
	if err != nil {
		return nil, err
	}
	w.And(c.text, c.args...)
	return w, nil
}
