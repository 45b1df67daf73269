// Package tree is the grammar of what projects and groups consist of when they move between servers: relations,
// with the files, attributes and children of the archive format.
//
// Each package that owns rows of a project or group describes them next to its tables, as [Relation], and its files as [Files]. Whatever
// moves them is made from these descriptions: an archive, the files of single relations, and reading both back. A row type has one field
// for each attribute, so that the same type is written and read:
//
//	type row struct {
//		Title     string        `db:"title" tree:"title,max=255"`
//		AuthorID  *authz.UserID `db:"author_id" tree:"author_id,user"`
//		State     string        `db:"state" tree:"state,names=opened|closed"`
//		DueDate   *string       `db:"due_date" tree:"due_date,date"`
//		CreatedAt db.Time       `db:"created_at" tree:"created_at"`
//		Milestone *int64        `db:"milestone_id" child:"milestone"`
//	}
//
// A field tagged child has the key of a nested relation; for other nested relations the key is the number of the row.
//
// A package writes the rows that it reads in a file import.go: Writers returns a [Writer] for each relation, made by [Write] of a function
// that gets a batch of decoded rows. The kit decodes lines by the tags, finds users, puts nested rows before or after the ones that they
// are nested in, and counts what became of each row; a batch is one transaction. What a relation without a writer has is counted as lost.
package tree

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
)

// Trees says whose tree a relation with a file, or a kind of files, belongs to.
type Trees int

// The trees.
const (
	Projects Trees = iota
	Groups
	Both
)

// has reports whether a tree is among them.
func (t Trees) has(one Trees) bool { return t == one || t == Both }

// Relation is one kind of row that moves with a project or group.
type Relation struct {
	Name string // of its file, or the key in the rows that it is nested in
	Key  string // the key, where Name is another one because relations of one key differ by what they are nested in; "" is Name
	In   Trees  // of a relation with a file; others are wherever they are nested

	// Extends names the relation of one object that the attributes belong to; "" for none.
	Extends string

	// Kind is what notes, award emoji, labels and events call such rows; "" for none.
	Kind string

	// Single is one object or null; others are many, in the order of their reading.
	Single bool

	// File reports that the relation has a file of its own. Others are nested.
	File bool

	// Attributes are what each row has, in the order of writing.
	Attributes []Attribute

	// Absent are attributes of the format for which this server keeps nothing: null.
	Absent []string

	// Children are the nested relations, by name. Lacking are nested lists of the format for which this server keeps nothing: empty.
	Children []string
	Lacking  []string

	// Old are nested relations that only old archives have: they are read, and never written.
	Old []string

	// Parts says that what is nested in a row may be written in several transactions: none of it depends on what else is nested there.
	Parts bool

	// Tables are those whose rows the relation holds; columns that are not exported are named in a test.
	Tables []string

	source source
	shape  *shape
	writer *Writer
	more   []*Relation // that extend it
}

// key is the name in the objects that the relation is nested in.
func (r *Relation) key() string { return cmp.Or(r.Key, r.Name) }

// Attribute is one value of a row.
type Attribute struct {
	Name  string
	Type  Type
	Null  bool     // may be null
	Max   int      // characters of a text; 0 is no bound of its own
	Names []string // of an enumeration

	// Markdown is a text in which an import rewrites addresses and mentions, see Writing.Rewrite.
	Markdown bool

	index []int // of the field
}

// Type says what an attribute is.
type Type string

// The types.
const (
	Text    Type = "text"
	Integer Type = "integer"
	Number  Type = "number"
	Boolean Type = "boolean"
	Time    Type = "time"
	Date    Type = "date"
	Name    Type = "name" // of an enumeration
	Object  Type = "object"
	User    Type = "user"    // number of a user of the source
	Project Type = "project" // number of a project of the source
	Group   Type = "group"   // number of a group of the source
)

// Provider is a service that describes relations.
type Provider interface{ Relations() []Relation }

// Files are those of one kind that move with a project or group, such as uploads.
type Files struct {
	Name string
	In   Trees // the archives that have them

	// Relation names the file of a direct transfer that has them; "" for none. There, names have Prefix cut off, and Replace has others.
	Relation string
	Prefix   string
	Replace  map[string]string

	RelationIn Trees // the transfers that have them

	// Each hands the files that the reader may have to put, one after the other.
	Each func(ctx context.Context, r *Reading, put Put) error

	// Fetch lists repositories that a direct transfer reads by git, as no file of a relation has them; nil for none.
	Fetch func(ctx context.Context, from Elsewhere) ([]Repository, error)
}

// Elsewhere is a project or group at the source of a direct transfer.
type Elsewhere interface {
	Path() string  // full one
	Number() int64 // at the source
	IsGroup() bool

	// Before reports whether the source is of a version before the named one.
	Before(major, minor int) bool

	// Lists reports whether a list below the project or group has anything; false where the source has none for the user.
	Lists(ctx context.Context, route string) (bool, error)

	// Query asks the GraphQL interface, with the variables full_path and cursor, as long as next returns where to go on.
	Query(ctx context.Context, query string, next func(data json.RawMessage) (cursor string, err error)) error
}

// Repository is one that is read by git.
type Repository struct {
	Address string // path below the address of the source, or the whole address
	Name    string // of its bundle in an archive
}

// NameIn is the name that a file has in the file of its relation.
func (f Files) NameIn(name string) string {
	if other, ok := f.Replace[name]; ok {
		return other
	}
	return strings.TrimPrefix(name, f.Prefix)
}

// Put takes a file of an archive. Name is its path, and open is called once at most; size -1 means that the size is not known yet.
type Put func(name string, size int64, open func(ctx context.Context) (io.ReadCloser, error)) error

// Carrier is a service with files that move.
type Carrier interface{ Moving() []Files }

// Reading is one run over the tree of a project or group, for a user.
type Reading struct {
	DB     *db.DB
	Policy *authz.Policy
	As     authz.Actor
	At     authz.Place // the project or group
	All    *Catalogue

	memo map[string]any

	// Lost counts nested rows that were left out because their line would be too long, by relation.
	Lost map[string]int
}

// Tree is the tree that is read.
func (r *Reading) Tree() Trees { return treeOf(r.At) }

func treeOf(at authz.Place) Trees {
	if at.Group {
		return Groups
	}
	return Projects
}

// Reads reports whether files belong to the tree that is read.
func (r *Reading) Reads(f Files) bool { return f.In.has(r.Tree()) }

// Owner is the column that names the owner of rows of projects and groups, and its value.
func (r *Reading) Owner() (column string, id int64) {
	if r.At.Group {
		return "group_id", r.At.ID
	}
	return "project_id", r.At.ID
}

// Readable is the ability to read the project or group at all, for rows of what was selected before.
func (r *Reading) Readable() authz.Ability { return r.At.Ability(authz.ReadProject, authz.ReadGroup) }

// May reports whether the user has an ability in the project or group.
func (r *Reading) May(ctx context.Context, ability authz.Ability) (bool, error) {
	may, err := r.Policy.Can(ctx, r.As, ability, r.At.Subject.Reading())
	if err != nil {
		return false, fmt.Errorf("read relation: %w", err)
	}
	return may, nil
}

// Catalogue is all relations of a tree, by name.
type Catalogue struct {
	list  []*Relation
	named map[string]*Relation
}

// Collect makes the catalogue of a tree. It fails for two relations of one name, and for a child that nothing describes.
func Collect(of Trees, providers ...Provider) (*Catalogue, error) {
	c, elsewhere := &Catalogue{named: map[string]*Relation{}}, map[string]bool{}
	for _, p := range providers {
		for _, rel := range p.Relations() {
			if rel.File && !rel.In.has(of) {
				elsewhere[rel.Name] = true
				continue
			}
			if c.named[rel.Name] != nil {
				return nil, fmt.Errorf("relation %s is described twice", rel.Name)
			}
			c.list = append(c.list, &rel)
			c.named[rel.Name] = &rel
		}
	}
	var bad []error
	for _, rel := range c.list {
		if of := c.named[rel.Extends]; rel.Extends != "" && of != nil {
			of.more = append(of.more, rel)
		}
		for _, name := range rel.nested() {
			if child := c.named[name]; child == nil || child.File {
				bad = append(bad, fmt.Errorf("relation %s has the child %s, which is not described as nested", rel.Name, name))
			}
		}
	}
	for _, p := range providers {
		if of, ok := p.(Importer); ok {
			bad = append(bad, c.attach(of.Writers(), elsewhere))
		}
	}
	return c, errors.Join(bad...)
}

// Find returns a relation by name, nil for none.
func (c *Catalogue) Find(name string) *Relation { return c.named[name] }

// All lists the relations.
func (c *Catalogue) All() []*Relation { return slices.Clone(c.list) }

// made completes the description of a relation with rows of a type.
func made(rel Relation, t reflect.Type, from source) Relation {
	rel.shape = shapeOf(t)
	rel.Attributes, rel.source = rel.shape.attributes, from
	return rel
}

// Within is a condition of a Query, nil where the user does not have the ability in the project or group.
func (r *Reading) Within(ctx context.Context, ability authz.Ability, cond string, args ...any) (*db.Where, error) {
	may, err := r.May(ctx, ability)
	if !may || err != nil {
		return nil, err
	}
	w := &db.Where{}
	w.And(cond, args...)
	return w, nil
}

// Once returns what read returned the first time that it was called for a key in this reading.
func Once[T any](r *Reading, key string, read func() (T, error)) (T, error) {
	if known, ok := r.memo[key]; ok {
		return known.(T), nil
	}
	found, err := read()
	if err != nil {
		return found, err
	}
	if r.memo == nil {
		r.memo = map[string]any{}
	}
	r.memo[key] = found
	return found, nil
}
