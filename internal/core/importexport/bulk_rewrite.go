package importexport

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
)

// mention finds what may be a user or group that a text names.
var mention = regexp.MustCompile(`(^|[^\w@/.-])@([A-Za-z0-9_][A-Za-z0-9_.-]*)`)

// rewriter has texts point to this server: addresses of what moved, and users that were matched.
type rewriter struct {
	source string            // address of the source
	here   string            // address of this server
	moved  [][2]string       // full paths there and here, the longest first
	users  map[string]string // names there and here
}

// rewriter makes one of what the transfer names and the members of the entity.
func (r *entityRun) rewriter(ctx context.Context, names map[int64]string, users map[int64]authz.UserID) (*rewriter, error) {
	type top struct {
		Source      string `db:"source_path"`
		Destination string `db:"destination"`
		Slug        string `db:"slug"`
	}
	tops, err := db.Select[top](ctx, r.s.DB, "SELECT source_path, destination, slug FROM bulk_import_entities WHERE bulk_import_id = ? AND parent_id IS NULL ORDER BY id LIMIT ?",
		r.e.BulkID, MaxEntities)
	if err != nil {
		return nil, fmt.Errorf("entities of transfer: %w", err)
	}
	w := &rewriter{source: r.bulk.URL, here: r.s.URLs.Root(), users: map[string]string{}}
	for _, t := range tops {
		w.moved = append(w.moved, [2]string{t.Source, (&Entity{Destination: t.Destination, Slug: t.Slug}).FullPath()})
	}
	slices.SortFunc(w.moved, func(a, b [2]string) int { return len(b[0]) - len(a[0]) })
	ids := make([]authz.UserID, 0, len(users))
	for _, id := range users {
		ids = append(ids, id)
	}
	found, err := r.s.Accounts.ByIDs(ctx, ids)
	if err != nil {
		return nil, err
	}
	for number, id := range users {
		if known := found[id]; known != nil && names[number] != "" && names[number] != known.Username {
			w.users[names[number]] = known.Username
		}
	}
	return w, nil
}

// text rewrites a text.
func (w *rewriter) text(text string) string {
	for _, pair := range w.moved {
		text = w.addresses(text, pair)
	}
	if len(w.users) == 0 || !strings.Contains(text, "@") {
		return text
	}
	return mention.ReplaceAllStringFunc(text, func(found string) string {
		before, name, _ := strings.Cut(found, "@")
		for end := name; ; end = end[:len(end)-1] { // a name may be followed by a full stop
			if here, ok := w.users[end]; ok {
				return before + "@" + here + name[len(end):]
			}
			if !strings.HasSuffix(end, ".") && !strings.HasSuffix(end, "-") {
				return found
			}
		}
	})
}

// addresses rewrites the addresses of what is at a path, or below it.
func (w *rewriter) addresses(text string, pair [2]string) string {
	from := w.source + "/" + pair[0]
	if !strings.Contains(text, from) {
		return text
	}
	var out strings.Builder
	for {
		before, after, found := strings.Cut(text, from)
		out.WriteString(before)
		if !found {
			return out.String()
		}
		if after != "" && partOfPath(after) {
			out.WriteString(from)
		} else {
			out.WriteString(w.here + "/" + pair[1])
		}
		text = after
	}
}

// partOfPath reports whether a text goes on with a character that belongs to a name before it.
func partOfPath(text string) bool {
	c := text[0]
	if c == '.' { // the end of a sentence, unless a name goes on
		return len(text) > 1 && wordByte(text[1])
	}
	return c == '-' || wordByte(c)
}

func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
