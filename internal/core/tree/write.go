package tree

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"strconv"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
)

// Importer is a service that writes rows of relations, in a file import.go beside its export.go.
type Importer interface{ Writers() []Writer }

// Writer writes the rows of one relation.
type Writer struct {
	relation string
	shape    *shape
	fresh    func() reflect.Value
	write    func(ctx context.Context, w *Writing, nodes []*node) error
}

// Write describes how a package writes rows of a relation. T has the attributes that are read, by the tags of an export; it may be the
// row type of the export. The function gets the rows of a batch and runs in the transaction of the batch:
//
//   - An attribute is read by its type and bound, or the row has failed before; no other key of the line reaches it. One that is absent
//     is the zero value, the first name of an enumeration, or the time of the import.
//   - Numbers of users are those of users here: of the matched one, or of the importing user, see [State.Unmatched]. Numbers of projects
//     and groups are the source's; a row belongs to Writing.At alone.
//   - A field that is tagged child and nothing else has the number of the nested row here, which was found or written before.
//     Other nested rows are written after, with State.ID of this one as their parent.
//   - The function sets ID of rows that others are nested in, or calls Fail, Lose, Merge or Change. It publishes no event.
func Write[T any](relation string, fn func(ctx context.Context, w *Writing, rows []*Row[T]) error) Writer {
	t := reflect.TypeFor[T]()
	return Writer{
		relation: relation, shape: shapeOf(t), fresh: func() reflect.Value { return reflect.New(t) },
		write: func(ctx context.Context, w *Writing, nodes []*node) error {
			rows := make([]*Row[T], len(nodes))
			for i, n := range nodes {
				rows[i] = &Row[T]{State: &n.State, Value: n.value.Interface().(*T)}
			}
			return fn(ctx, w, rows)
		},
	}
}

// Row is a row of an import.
type Row[T any] struct {
	*State
	Value *T
}

// State is where a row of an import comes from, and what becomes of it.
type State struct {
	ID     int64  // its number here, which the writer sets
	Parent int64  // number here of the row that it is nested in; 0 for one of a file
	Of     string // kind of that row

	action    Action
	failed    bool
	reason    string
	unmatched map[string]string // users of the source, by attributes
	raw       map[string]json.RawMessage
	above     *State
}

// Action is what an import did with a row.
type Action string

// The actions.
const (
	Written Action = ""
	Merged  Action = "merged"
	Changed Action = "changed"
	Lost    Action = "lost"
)

// Fail says that a row is broken: it is lost, and a failed relation of the import.
func (s *State) Fail(reason string) { s.action, s.failed, s.reason = Lost, true, reason }

// Lose says that a row is left out on purpose.
func (s *State) Lose(reason string) { s.action, s.reason = Lost, reason }

// Merge says that a row was there already, under a number.
func (s *State) Merge(id int64) { s.action, s.ID = Merged, id }

// Change says that a row is written with something else than it says.
func (s *State) Change(reason string) {
	switch s.action {
	case Written:
		s.action, s.reason = Changed, reason
	case Changed:
		s.reason += "; " + reason
	}
}

// IsLost reports whether the row is not written.
func (s *State) IsLost() bool { return s.action == Lost }

// Unmatched reports whether the user that an attribute names was not found, so that the importing user stands there.
func (s *State) Unmatched(attribute string) bool {
	_, is := s.unmatched[attribute]
	return is
}

// NotFound is the reason that who was not found, with the user of the source that an attribute names.
func (s *State) NotFound(who, attribute string) string {
	if user := s.unmatched[attribute]; user != "" {
		return who + " was not found: " + user
	}
	return who + " was not found"
}

// Nested decodes an object of a row that is no row of its own, such as the author of a note; false where it is absent or broken.
func (s *State) Nested(name string, into any) bool {
	text := s.raw[name]
	return len(text) > 0 && string(text) != "null" && json.Unmarshal(text, into) == nil
}

// Above decodes an attribute of the row that this one is nested in; false where it is absent or broken.
func (s *State) Above(name string, into any) bool {
	return s.above != nil && s.above.Nested(name, into)
}

// Writing is one run that writes the tree of a project or group, for a user.
type Writing struct {
	DB  *db.DB
	As  authz.Actor
	At  authz.Place // the project or group
	All *Catalogue
	Now db.Time
	Log *slog.Logger // of rows that could not be written

	Head   string // default branch that the archive names; "" for none
	Number int64  // of the group at the source

	// Transfer says that the rows come from a server that the user is known to, and not from a file that the user may have written.
	Transfer bool

	// Groups are the groups here by their numbers at the source, those that were written before.
	Groups map[int64]authz.NamespaceID

	// Users are the users here by their numbers at the source, as far as they were matched.
	Users map[int64]authz.UserID

	// Names are the user names at the source by numbers there, as far as members of it have them.
	Names map[int64]string

	// Rewrite returns a text in Markdown with the addresses and mentions of this server; nil leaves texts as they are.
	Rewrite func(text string) string

	// Continues says that rows before these that are nested in the same row may be written already.
	Continues bool

	memo  map[string]any // of one batch
	tally *Tally
}

// sourceUser is the name of a user at the source, or the number; "" for none.
func (w *Writing) sourceUser(number int64) string {
	if name := w.Names[number]; name != "" || number == 0 {
		return name
	}
	return "user " + strconv.FormatInt(number, 10)
}

// Origin says which way a row came here.
type Origin string

// The origins.
const (
	Here         Origin = "" // no import
	FromFile     Origin = "gitlab_project"
	FromTransfer Origin = "gitlab_migration"
)

// String is the word of clients.
func (o Origin) String() string {
	if o == Here {
		return "none"
	}
	return string(o)
}

// Origin is that of the rows that are written.
func (w *Writing) Origin() Origin {
	if w.Transfer {
		return FromTransfer
	}
	return FromFile
}

// Owns reports whether the group that is written is the one that a number of the source means.
func (w *Writing) Owns(group *int64) bool { return w.At.Group && (group == nil || *group == w.Number) }

// Tree is the tree that is written.
func (w *Writing) Tree() Trees { return treeOf(w.At) }

// User returns the user here that a number of the source means; the importing user where none was matched.
func (w *Writing) User(number int64) (id authz.UserID, matched bool) {
	if id, ok := w.Users[number]; ok {
		return id, true
	}
	return w.As.UserID, false
}

// Line is one object of a file.
type Line struct {
	Number int // from 1
	Text   []byte
}

// Counts say what became of the rows of a relation.
type Counts struct {
	Read    int64 `json:"read"`
	Written int64 `json:"written"`
	Merged  int64 `json:"merged"`
	Changed int64 `json:"changed"`
	Lost    int64 `json:"lost"`
}

// Add adds the counts of other rows.
func (c *Counts) Add(more *Counts) {
	c.Read, c.Written, c.Merged, c.Changed, c.Lost = c.Read+more.Read, c.Written+more.Written, c.Merged+more.Merged, c.Changed+more.Changed, c.Lost+more.Lost
}

// Item is a row that was not written as it is.
type Item struct {
	Relation string
	Line     int
	Action   Action
	Reason   string
	Title    string
	Failed   bool // the row is broken

	// Place is where a lost row is in its line, see [LineText.At]; nil where it is not to be kept: a file, or part of another lost row.
	Place *string
}

// Tally is what became of some lines.
type Tally struct {
	Counts map[string]*Counts
	Items  []Item // at most MaxItems of a batch
}

// MaxItems bounds the items of one batch.
const MaxItems = 1000

// maxReason bounds a reason, and maxItemTitle the title of an item, in characters.
const (
	maxReason    = 500
	maxItemTitle = 255
)

// Count adds what became of a row.
func (t *Tally) Count(item Item) {
	if t.Counts == nil {
		t.Counts = map[string]*Counts{}
	}
	c := t.Counts[item.Relation]
	if c == nil {
		c = &Counts{}
		t.Counts[item.Relation] = c
	}
	c.Read++
	switch item.Action {
	case Merged:
		c.Merged++
		return
	case Changed:
		c.Changed++
	case Lost:
		c.Lost++
	default:
		c.Written++
		return
	}
	if len(t.Items) < MaxItems {
		item.Reason, item.Title = cut(item.Reason, maxReason), cut(item.Title, maxItemTitle)
		t.Items = append(t.Items, item)
	}
}

func cut(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most])
	}
	return text
}

// Memo returns what read returned the first time that it was called for a key in this batch.
func Memo[T any](w *Writing, key string, read func() (T, error)) (T, error) {
	if known, ok := w.memo[key]; ok {
		return known.(T), nil
	}
	found, err := read()
	if err == nil {
		w.memo[key] = found
	}
	return found, err
}

// attach gives relations their writers, those of other trees left out.
func (c *Catalogue) attach(writers []Writer, elsewhere map[string]bool) error {
	for i := range writers {
		if elsewhere[writers[i].relation] {
			continue
		}
		rel := c.named[writers[i].relation]
		if rel == nil || rel.writer != nil {
			return fmt.Errorf("relation %s is written twice, or is not described", writers[i].relation)
		}
		rel.writer = &writers[i]
	}
	return nil
}

// Taking are files of one kind that an import takes from an archive.
type Taking struct {
	Name string
	In   Trees

	// After says that rows of relations are there before: the files belong to them.
	After bool

	// Take stores what the folder of the archive has. What it leaves out it reports by Writing.Leave. Doing it again is harmless.
	Take func(ctx context.Context, w *Writing, from *os.Root) error
}

// Takes reports whether the files belong to the tree that is written.
func (t Taking) Takes(w *Writing) bool { return t.In.has(w.Tree()) }

// Taker is a service that takes files of an archive.
type Taker interface{ Taking() []Taking }

// Leave reports a file that is left out.
func (w *Writing) Leave(kind, name, reason string) {
	w.begin()
	w.tally.Count(Item{Relation: kind, Action: Lost, Reason: reason, Title: name})
}

// Took counts a file that was stored.
func (w *Writing) Took(kind string) {
	w.begin()
	w.tally.Count(Item{Relation: kind})
}

func (w *Writing) begin() {
	if w.tally == nil {
		w.tally = &Tally{}
	}
}

// Files returns what was reported of files since the last call.
func (w *Writing) Files() *Tally {
	t := w.tally
	w.tally = nil
	return t
}
