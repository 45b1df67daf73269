package note

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"tenon/internal/base/charset"
	"tenon/internal/base/db"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/markdown"
	"tenon/internal/core/authz"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
)

// SuggestionID identifies a suggestion.
type SuggestionID int64

const (
	maxSuggestions = 20      // of one note
	maxSuggested   = 100     // lines above or below the line of the note
	maxFile        = 4 << 20 // bytes of a file that suggestions change
)

// Suggestion is what a note on a line says should stand there instead.
type Suggestion struct {
	ID      SuggestionID `db:"id"`
	NoteID  ID           `db:"note_id"`
	Order   int          `db:"relative_order"` // in the note, from 0
	Above   int          `db:"lines_above"`    // lines before that of the note that it replaces too
	Below   int          `db:"lines_below"`    // the same for lines after
	From    string       `db:"from_content"`   // the lines that it replaces, each with its end
	To      string       `db:"to_content"`
	Applied bool         `db:"applied"`
	Commit  *string      `db:"commit_id"` // that applied it

	// Appliable says that it can be applied, as far as that is known without the repository.
	Appliable bool `db:"-"`
	// Line is where the note is now.
	Line int `db:"-"`
}

// FirstLine returns the number of the first line that it replaces.
func (g *Suggestion) FirstLine() int { return max(g.Line-g.Above, 1) }

// LastLine returns the number of the last line that it replaces.
func (g *Suggestion) LastLine() int {
	return g.FirstLine() + max(strings.Count(ended(g.From), "\n"), 1) - 1
}

// ended returns a text whose last line has an end.
func ended(text string) string {
	if text != "" && !strings.HasSuffix(text, "\n") {
		return text + "\n"
	}
	return text
}

var suggestionInfo = regexp.MustCompile(`^suggestion(?::-(\d{1,6})\+(\d{1,6}))?$`)

// suggested reads the suggestions of a text.
func suggested(body string) []Suggestion {
	if !strings.Contains(body, "suggestion") {
		return nil
	}
	var out []Suggestion
	for _, f := range markdown.Parse(body).Fences(1000) {
		m := suggestionInfo.FindStringSubmatch(f.Info)
		if m == nil || len(out) == maxSuggestions {
			continue
		}
		g := Suggestion{Order: len(out), To: f.Content}
		if m[1] != "" {
			above, err1 := strconv.Atoi(m[1])
			below, err2 := strconv.Atoi(m[2])
			if errors.Join(err1, err2) != nil {
				continue
			}
			g.Above, g.Below = min(above, maxSuggested), min(below, maxSuggested)
		}
		out = append(out, g)
	}
	return out
}

// SuggestionsIn reads the suggestions of a note at a position, with the lines that they replace.
// Notes that are not on a line of the new file have none. It asks for no permission and is for core.
func (s *Service) SuggestionsIn(ctx context.Context, on On, at *Position, body string) ([]Suggestion, error) {
	if on.Kind != noteable.MergeRequest || at == nil || at.Type != TextPosition || at.NewLine == nil {
		return nil, nil
	}
	list := suggested(body)
	if len(list) == 0 {
		return nil, nil
	}
	r, err := s.Repos.Open(ctx, project.Of(on.Place))
	if err != nil {
		return nil, err
	}
	lines, err := linesAt(ctx, r, at.HeadSHA, at.NewPath)
	if err != nil {
		return nil, err
	}
	line := *at.NewLine
	if line > len(lines) {
		return nil, nil
	}
	for i := range list {
		g := &list[i]
		g.Above, g.Below = min(g.Above, line-1), min(g.Below, len(lines)-line)
		g.From = strings.Join(lines[line-1-g.Above:line+g.Below], "")
	}
	return list, nil
}

// linesAt reads the lines of a file, each with its end; none where it is too long, or is not there.
func linesAt(ctx context.Context, r *gitcmd.Repo, commit, path string) ([]string, error) {
	id, err := gitstore.ParseObjectID(commit)
	if err != nil {
		return nil, nil
	}
	entry, err := r.Entry(ctx, id, path)
	var content []byte
	if err == nil {
		content, err = r.Blob(ctx, entry.ID, maxFile)
	}
	if errors.Is(err, gitstore.ErrNotFound) || errors.Is(err, gitstore.ErrTooLarge) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("lines of a suggestion: %w", err)
	}
	text := strings.TrimSuffix(charset.Text(content, ""), "\n")
	return strings.SplitAfter(text+"\n", "\n")[:strings.Count(text, "\n")+1], nil
}

// storeSuggestions writes the suggestions of a new text of a note, in the caller's transaction.
// What was applied stays.
func (s *Service) storeSuggestions(ctx context.Context, id ID, list []Suggestion) error {
	for _, g := range list {
		g.NoteID = id
		if err := db.Create(ctx, s.DB, "suggestions", &g); err != nil {
			return fmt.Errorf("store suggestion: %w", err)
		}
	}
	return nil
}

// replaceSuggestions stores those of a changed text, unless one of the old ones was applied.
func (s *Service) replaceSuggestions(ctx context.Context, id ID, list []Suggestion) error {
	applied, err := db.Get[int](ctx, s.DB, "SELECT COUNT(*) FROM suggestions WHERE note_id = ? AND applied", id)
	if err != nil || applied > 0 {
		return err
	}
	if _, err := s.DB.Exec(ctx, "DELETE FROM suggestions WHERE note_id = ?", id); err != nil {
		return fmt.Errorf("replace suggestions: %w", err)
	}
	return s.storeSuggestions(ctx, id, list)
}

// Suggestions reads those of notes on one thing, which the caller may read, in one statement at
// most. It asks for no permission.
func (s *Service) Suggestions(ctx context.Context, notes []Note) (map[ID][]Suggestion, error) {
	at := map[ID]*Note{}
	var ids []ID
	for i := range notes {
		if n := &notes[i]; n.Kind == noteable.MergeRequest && n.Position != nil && n.Position.NewLine != nil {
			ids, at[n.ID] = append(ids, n.ID), n
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	type row struct {
		Suggestion
		Open bool `db:"open"`
	}
	var w db.Where
	w.In("g.note_id", ids)
	rows, err := db.Select[row](ctx, s.DB, "SELECT "+db.Columns[Suggestion]("g")+`, m.state = 'opened' AND m.source_project_id IS NOT NULL AS open
		FROM suggestions g JOIN notes n ON n.id = g.note_id JOIN merge_requests m ON m.id = n.noteable_id`+w.SQL()+" ORDER BY g.note_id, g.relative_order", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("suggestions of notes: %w", err)
	}
	out := map[ID][]Suggestion{}
	for _, r := range rows {
		n := at[r.NoteID]
		g := r.Suggestion
		g.Line = *n.Position.NewLine
		g.Appliable = r.Open && !g.Applied && n.Changed == nil && g.From != g.To
		out[g.NoteID] = append(out[g.NoteID], g)
	}
	return out, nil
}

// SuggestionsByIDs returns the suggestions with these ids whose notes the actor may read, and the
// notes.
func (s *Service) SuggestionsByIDs(ctx context.Context, as authz.Actor, ids []SuggestionID) (map[SuggestionID]Suggestion, map[ID]*Note, error) {
	if len(ids) == 0 {
		return nil, nil, nil
	}
	marks, args := db.Marks(ids)
	of, err := db.Select[ID](ctx, s.DB, "SELECT DISTINCT note_id FROM suggestions WHERE id IN ("+marks+") ORDER BY note_id", args...)
	if err != nil {
		return nil, nil, fmt.Errorf("find suggestions: %w", err)
	}
	notes, err := s.ByIDs(ctx, as, of)
	if err != nil {
		return nil, nil, err
	}
	list := make([]Note, 0, len(notes))
	for _, n := range notes {
		list = append(list, *n)
	}
	found, err := s.Suggestions(ctx, list)
	if err != nil {
		return nil, nil, err
	}
	out := map[SuggestionID]Suggestion{}
	for _, some := range found {
		for _, g := range some {
			out[g.ID] = g
		}
	}
	return out, notes, nil
}

// MarkApplied records the commit that applied suggestions, in the caller's transaction. It asks
// for no permission and is for core.
func (s *Service) MarkApplied(ctx context.Context, ids []SuggestionID, commit string) error {
	marks, args := db.Marks(ids)
	if _, err := s.DB.Exec(ctx, "UPDATE suggestions SET applied = true, commit_id = ? WHERE id IN ("+marks+")", append([]any{commit}, args...)...); err != nil {
		return fmt.Errorf("mark suggestions as applied: %w", err)
	}
	return nil
}
