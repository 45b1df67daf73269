package note

import (
	"cmp"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"tenon/internal/base/db"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/tree"
)

// Writers says how comments are imported. One whose author was not found belongs to the importing user, and names its author.
func (s *Service) Writers() []tree.Writer {
	return []tree.Writer{
		tree.Write("notes", s.importNotes),
		tree.Write("merge_request_notes", s.importNotes),
		tree.Write("snippet_notes", s.importNotes),
		tree.Write("commit_notes", s.importNotes),
		tree.Write("suggestions", s.importSuggestions),
	}
}

func (s *Service) importNotes(ctx context.Context, w *tree.Writing, rows []*tree.Row[exported]) error {
	var made []Note
	var of []*tree.Row[exported]
	for _, r := range rows {
		n := Note{
			DiscussionID: discussionAt(w.At.Namespace, r.Value.DiscussionID), Kind: noteable.Kind(r.Of), TargetID: r.Parent,
			AuthorID: authz.UserID(r.Value.AuthorID), Body: bodyOf(r), System: r.Value.System, Internal: r.Value.Confidential && !r.Value.System,
			ResolvedAt: r.Value.ResolvedAt, CreatedAt: r.Value.CreatedAt, UpdatedAt: r.Value.UpdatedAt, LastEditedAt: r.Value.LastEditedAt,
		}
		if n.Kind == "" {
			n.Kind = noteable.Commit
		}
		if w.At.Group {
			n.GroupID = &w.At.ID
		} else {
			n.ProjectID = new(project.ID(w.At.ID))
		}
		if n.ResolvedAt != nil {
			n.ResolvedByID = (*authz.UserID)(r.Value.ResolvedByID)
		}
		if n.LastEditedAt != nil {
			n.LastEditedByID = (*authz.UserID)(r.Value.UpdatedByID)
		}
		if reason := importedAt(r, &n); reason != "" {
			r.Fail(reason)
			continue
		}
		made, of = append(made, n), append(of, r)
	}
	if err := s.countImported(ctx, w, made); err != nil {
		return err
	}
	ids, err := db.InsertAll(ctx, s.DB, "notes", made)
	if err != nil {
		return fmt.Errorf("insert notes: %w", err)
	}
	for i, id := range ids {
		of[i].ID = id
	}
	return nil
}

// importedAt gives a note its type and its place in a diff or commit. It returns why there can be no such note.
func importedAt(r *tree.Row[exported], n *Note) string {
	v := r.Value
	n.Type, n.CommitID = v.Type, nil
	if v.CommitID != nil && *v.CommitID != "" {
		if _, err := gitstore.ParseObjectID(*v.CommitID); err != nil {
			return "commit_id is no commit"
		}
		n.CommitID = v.CommitID
	}
	switch n.Kind {
	case noteable.Commit:
		if n.CommitID == nil {
			return "commit_id is missing"
		}
	case noteable.MergeRequest:
	default:
		n.CommitID = nil
	}
	if n.Type == nil || *n.Type != diffNote {
		return ""
	}
	if (n.Kind != noteable.Commit && n.Kind != noteable.MergeRequest) || v.Position == nil || !v.Position.plausible() {
		n.Type = new("DiscussionNote")
		r.Change("its place in the diff is missing")
		return ""
	}
	n.Position, n.Changed = v.Position, nil
	if v.Original != nil && v.Original.plausible() && !v.Original.same(v.Position) {
		n.Original = v.Original
	}
	if v.Changed != nil && v.Changed.plausible() {
		n.Changed = v.Changed
	}
	if v.LineCode != nil && len(*v.LineCode) <= maxLineCode {
		n.LineCode = v.LineCode
	}
	return ""
}

// maxLineCode and maxPath bound what positions name, in bytes.
const (
	maxLineCode = 255
	maxPath     = 4096
)

// plausible reports whether a position names commits and a file.
func (p *Position) plausible() bool {
	for _, sha := range []string{p.BaseSHA, p.StartSHA, p.HeadSHA} {
		if _, err := gitstore.ParseObjectID(sha); err != nil {
			return false
		}
	}
	switch p.Type {
	case TextPosition, ImagePosition, FilePosition:
	default:
		return false
	}
	return len(p.OldPath) <= maxPath && len(p.NewPath) <= maxPath && p.OldPath+p.NewPath != ""
}

// same reports whether two positions are stored alike.
func (p *Position) same(other *Position) bool {
	a, err := p.Value()
	b, also := other.Value()
	return err == nil && also == nil && a == b
}

// bodyOf is the text of a note, which names an author who was not found.
func bodyOf(r *tree.Row[exported]) string {
	body := r.Value.Body
	if strings.TrimSpace(body) == "" {
		body = "*Blank note*"
		r.Change("its text is empty")
	}
	if !r.Unmatched("author_id") {
		return body
	}
	var author struct {
		Name string `json:"name"`
	}
	r.Nested("author", &author)
	name := strings.Join(strings.Fields(strings.ReplaceAll(author.Name, "\x00", "")), " ")
	if utf8.RuneCountInString(name) > maxAuthorName {
		name = string([]rune(name)[:maxAuthorName])
	}
	r.Change(r.NotFound("its author", "author_id"))
	suffix := fmt.Sprintf("\n\n *By %s on %s (imported from GitLab)*", cmp.Or(name, "Anonymous"), r.Value.CreatedAt.UTC().Format("2006-01-02T15:04:05"))
	if over := utf8.RuneCountInString(body) + utf8.RuneCountInString(suffix) - maxBody; over > 0 {
		runes := []rune(body)
		body = string(runes[:len(runes)-over])
	}
	return body + suffix
}

const maxAuthorName = 255 // characters

// discussionAt is the name that a discussion of an archive has in a project or group. Another one's of that name is another one.
func discussionAt(at authz.NamespaceID, name string) string {
	if name == "" {
		return discussionID()
	}
	sum := sha1.Sum(fmt.Appendf(nil, "%d:%s", at, name))
	return hex.EncodeToString(sum[:])
}

// begun are the discussions of some notes that have others already, and whether one of those is unresolved.
func (s *Service) begun(ctx context.Context, on noteable.Ref, threads map[string]bool) (map[string]bool, error) {
	type known struct {
		Discussion string `db:"discussion_id"`
		Unresolved int64  `db:"unresolved"`
	}
	out := map[string]bool{}
	for part := range slices.Chunk(slices.Sorted(maps.Keys(threads)), 500) {
		var where db.Where
		where.And("noteable_type = ? AND noteable_id = ? AND type IS NOT NULL", on.Kind, on.ID)
		where.In("discussion_id", part)
		found, err := db.Select[known](ctx, s.DB, "SELECT discussion_id, MAX(CASE WHEN resolved_at IS NULL THEN 1 ELSE 0 END) AS unresolved FROM notes"+where.SQL()+
			" GROUP BY discussion_id ORDER BY discussion_id", where.Args()...)
		if err != nil {
			return nil, fmt.Errorf("discussions before: %w", err)
		}
		for _, k := range found {
			out[k.Discussion] = k.Unresolved > 0
		}
	}
	return out, nil
}

// countImported adds notes to the counters of what they are on, whose first ones they are unless the import continues. The time of the last change
// stays.
func (s *Service) countImported(ctx context.Context, w *tree.Writing, made []Note) error {
	counts := map[noteable.Ref]*noteable.Counts{}
	var order []noteable.Ref
	threads := map[noteable.Ref]map[string]bool{} // by discussion, whether something in it is unresolved
	for i := range made {
		n := &made[i]
		on := noteable.Ref{Kind: n.Kind, ID: n.TargetID}
		if n.Kind == noteable.Commit {
			continue
		}
		c := counts[on]
		if c == nil {
			c = &noteable.Counts{}
			counts[on], threads[on], order = c, map[string]bool{}, append(order, on)
		}
		if !n.System {
			c.Notes++
			if !n.Internal {
				c.PublicNotes++
			}
		}
		if known := s.Kinds.Find(n.Kind); n.Type != nil && known != nil && known.Threads {
			threads[on][n.DiscussionID] = threads[on][n.DiscussionID] || n.ResolvedAt == nil
		}
	}
	for _, on := range order {
		c := counts[on]
		var before map[string]bool
		if w.Continues && len(threads[on]) > 0 {
			var err error
			if before, err = s.begun(ctx, on, threads[on]); err != nil {
				return err
			}
		}
		for id, unresolved := range threads[on] {
			was, there := before[id]
			if !there {
				c.Threads++
			}
			if unresolved && !was {
				c.Unresolved++
			}
		}
		if _, err := s.count(ctx, on, *c, time.Time{}); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) importSuggestions(ctx context.Context, _ *tree.Writing, rows []*tree.Row[exportedSuggestion]) error {
	type suggestion struct {
		NoteID     int64   `db:"note_id"`
		Order      int64   `db:"relative_order"`
		LinesAbove int64   `db:"lines_above"`
		LinesBelow int64   `db:"lines_below"`
		From       string  `db:"from_content"`
		To         string  `db:"to_content"`
		Applied    bool    `db:"applied"`
		CommitID   *string `db:"commit_id"`
	}
	var out []suggestion
	for _, r := range rows {
		v := r.Value
		if v.LinesAbove < 0 || v.LinesBelow < 0 || v.RelativeOrder < 0 {
			r.Fail("its lines are out of range")
			continue
		}
		if v.CommitID != nil {
			if _, err := gitstore.ParseObjectID(*v.CommitID); err != nil {
				v.CommitID = nil
			}
		}
		out = append(out, suggestion{r.Parent, v.RelativeOrder, v.LinesAbove, v.LinesBelow, v.FromContent, v.ToContent, v.Applied, v.CommitID})
	}
	if err := db.InsertRows(ctx, s.DB, "suggestions", out, "ON CONFLICT DO NOTHING"); err != nil {
		return fmt.Errorf("insert suggestions: %w", err)
	}
	return nil
}
