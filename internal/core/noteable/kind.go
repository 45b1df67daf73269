package noteable

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tenon/internal/base/event"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
)

// Description is what other packages need to know of the noteables of one kind. The package that
// owns the kind has it next to its tables, and nothing else names the kind beside others.
type Description struct {
	Kind Kind
	Noun string // "merge request"
	An   string // the noun with its article
	Path string // of all noteables of a place in REST: "merge_requests"
	Mark string // in references, before the number: "!"

	// Reference is the kind of core/reference that leads to one, "" where none does.
	Reference string

	Code byte // names the kind in addresses of mail; it never changes

	// Table has a row for each noteable; "" where none is kept. A noteable belongs to the project that
	// Project names, a column of the table, or else to the group of Group.
	Table          string
	Project, Group string

	Read authz.Ability // to see one

	// Assignees and Reviewers are users who are to do something. They take part, as do the
	// author, users who are mentioned, and those who comment.
	Assignees, Reviewers Users

	Public  bool // everybody who sees one reads its notes, without an account too
	Open    bool // without an account, by interfaces that show notes to visitors
	History bool // the server writes notes on what changes
	Replies bool // a comment that is no part of a thread becomes one by a reply

	// Confidential says that some are for members alone: the table has a column of that name.
	Confidential bool

	Threads    bool // some threads can be resolved, and are counted
	Diffs      bool // comments have places in what it changes
	Awards     bool // people react to it
	Labels     bool // it has labels
	Milestones bool // it has a milestone
	Todos      bool // users have to-do items about it
	Searched   bool // comments on it are found
	Numbered   bool // comments and events show its number
}

// Users is a table of users that belong to noteables of a kind.
type Users struct {
	Table string
	Of    string // column with the id of the noteable
}

// InGroup reports whether noteables of the kind belong to groups.
func (d *Description) InGroup() bool { return d.Group != "" }

// Provider are those of one kind. The service that owns them implements it, and what it can do
// besides.
type Provider interface {
	Describe() Description
	// Locate finds a noteable of the place that the actor may see.
	Locate(ctx context.Context, as authz.Actor, at authz.Place, key Key) (Target, error)
	// Subjects returns the permission subjects of those of the noteables, all of the kind, that
	// the actor may see, in as many statements for one as for many.
	Subjects(ctx context.Context, as authz.Actor, refs []Ref) (map[Ref]authz.Subject, error)
}

// Readable is implemented by noteables that lists of something else select by what the actor may read.
type Readable interface {
	// ReadableSQL is a condition that holds where the actor may read the noteable whose id is in
	// column.
	ReadableSQL(as authz.Actor, column string) (cond string, args []any)
}

// Known is a kind that there is.
type Known struct {
	Description
	Provider Provider
}

// Kinds are all kinds that there are. The zero value has none; it is filled before the first
// use, and read by many.
type Kinds struct{ list []Known }

// Collect makes Kinds of these noteables.
func Collect(things ...Provider) *Kinds {
	k := &Kinds{}
	for _, t := range things {
		k.Add(t)
	}
	return k
}

// Add adds noteables. Lists of kinds are in alphabetical order, whatever the order of the calls.
func (k *Kinds) Add(t Provider) {
	k.list = append(k.list, Known{t.Describe(), t})
	slices.SortFunc(k.list, func(a, b Known) int { return strings.Compare(string(a.Kind), string(b.Kind)) })
}

// Check returns what is wrong with descriptions: kinds that could not be distinguished, and comments that are searched whose readers
// are unknown.
func (k *Kinds) Check() error {
	for i, d := range k.list {
		if d.Kind == "" || d.Path == "" || d.Code == 0 {
			return fmt.Errorf("description of %T: Kind, Path and Code are required, got %q, %q and %d", d.Provider, d.Kind, d.Path, d.Code)
		}
		for _, other := range k.list[:i] {
			if other.Kind == d.Kind || other.Path == d.Path || other.Code == d.Code {
				return fmt.Errorf("descriptions of %s and %s: each needs a Kind, a Path and a Code of its own", other.Kind, d.Kind)
			}
		}
		if _, ok := d.Provider.(Readable); d.Searched && !ok && d.Kind != Commit {
			return fmt.Errorf("description of %s: %T is Searched and has to be Readable", d.Kind, d.Provider)
		}
	}
	return nil
}

// All lists the kinds.
func (k *Kinds) All() []Known { return k.list }

// Find returns a kind, nil where there is none of that name.
func (k *Kinds) Find(kind Kind) *Known {
	for i := range k.list {
		if k.list[i].Kind == kind {
			return &k.list[i]
		}
	}
	return nil
}

// Of describes a kind; one that is not known has nothing.
func (k *Kinds) Of(kind Kind) Description {
	if known := k.Find(kind); known != nil {
		return known.Description
	}
	return Description{Kind: kind}
}

// Where lists the kinds that has accepts.
func (k *Kinds) Where(has func(d *Description) bool) []Kind {
	var out []Kind
	for i := range k.list {
		if has(&k.list[i].Description) {
			out = append(out, k.list[i].Kind)
		}
	}
	return out
}

// Subject names the subject of an event.
func Subject(f change.Fact) Ref { return Ref{Kind: Kind(f.Subject.Type), ID: f.Subject.ID} }

// Deleted is an event that a noteable was deleted by itself, and not with its place: what hangs on it
// goes. The event of each kind has the method.
type Deleted interface {
	event.Event

	// Noteable names the noteable.
	Noteable() Ref
}
