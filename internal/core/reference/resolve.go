package reference

import (
	"context"
	"fmt"
	"runtime"

	"tenon/internal/base/db"
	"tenon/internal/base/lru"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
	"tenon/internal/core/setting"
	"tenon/internal/core/weburl"
)

// Scope is where a text is read: references that name no place are of it. The zero value is
// a text of no place, whose references name theirs.
type Scope struct {
	Project *project.Project

	// Of a text that belongs to a group.
	Group     authz.NamespaceID
	GroupPath string // full path

	Base *Base // of a page of a wiki; nil for all others
}

// Base says where the relative links of a text lead.
type Base struct {
	Folder string // that they start from; what Link gives depends on it alone
	Link   func(address string) string
	Page   func(name string) string // address of the page of a name, which may end with an anchor
}

// Of is the scope of texts in a project.
func Of(p *project.Project) Scope { return Scope{Project: p} }

// Target is what a reference leads to.
type Target struct {
	Kind        Kind
	ID          int64 // of the database; 0 for commits
	ProjectID   project.ID
	GroupID     authz.NamespaceID
	Path        string // full path of the project or group that it is in; of a user or a group its own
	Number      int64  // IID, or id of a snippet; 0 for everything else
	Title       string // name of a user or a group, first line of a commit
	State       string // opened, closed, merged and the like; "" for what has none
	Description string // of a label
	Color       string // of a label
	TextColor   string // of text on a label
	Group       bool   // a mention is of a group
	URL         string
}

// Key names what is sought in a project or a group.
type Key struct {
	Project project.ID        // 0 for what is sought in a group
	Group   authz.NamespaceID // 0 for what is sought in a project
	Number  int64             // see Reference
	Name    string
}

// Query is what is sought of one kind, with the projects that it is in as the actor reads
// them. Groups are those that the actor may read.
type Query struct {
	Keys     []Key // each once
	Projects map[project.ID]*project.Project
	Groups   map[authz.NamespaceID]string // full paths
}

// Finder finds things of one kind. The package that owns them implements it.
type Finder interface {
	// Refers is the kind of the references.
	Refers() Kind
	// Referred returns those of what is sought that the actor may read, in as many statements
	// for one as for many.
	Referred(ctx context.Context, as authz.Actor, sought Query) (map[Key]*Target, error)
}

// Users says who may know of users.
type Users interface {
	// Hidden reports whether users do not exist for the actor.
	Hidden(as authz.Actor) bool
}

// Groups reads the settings of groups.
type Groups interface {
	// SettingsAbove returns those of the groups that contain a namespace and have one of the names, the nearest first and itself included.
	SettingsAbove(ctx context.Context, id namespace.ID, names ...string) ([]namespace.GroupSettings, error)
}

// Deps is what a Service is made of.
type Deps struct {
	DB       *db.DB
	Policy   *authz.Policy
	Accounts Users
	Groups   Groups
	Projects *project.Service
	Repos    *repo.Service
	Settings *setting.Store
	URLs     *weburl.Site
}

// Service finds what references lead to.
type Service struct {
	Deps

	Reader

	finders map[Kind]Finder
	cache   *lru.Cache    // of rendered texts
	large   chan struct{} // has room for as many large texts as are rendered at once
}

// New builds the service.
func New(d Deps) *Service {
	return &Service{
		Deps:   d,
		Reader: NewReader(d.URLs), finders: map[Kind]Finder{},
		cache: lru.New(cacheSize), large: make(chan struct{}, runtime.GOMAXPROCS(0)),
	}
}

// Above is what is above references.
type Above struct {
	Finders []Finder // references of other kinds lead to nothing
}

// Connect gives the service what is above it, once and before the first use.
func (s *Service) Connect(a Above) {
	for _, f := range a.Finders {
		s.finders[f.Refers()] = f
	}
}

// Resolve returns what references lead to, in their order, nil for what there is not or what
// the actor may not read. The text may stand anywhere: the actor need not read its place.
// It takes a number of statements that depends on the kinds of the references alone.
func (s *Service) Resolve(ctx context.Context, as authz.Actor, in Scope, refs []Reference) ([]*Target, error) {
	out := make([]*Target, len(refs))
	if len(refs) == 0 {
		return out, nil
	}
	if len(refs) > MaxReferences {
		refs = refs[:MaxReferences]
	}
	found, err := s.places(ctx, as, in, refs)
	if err != nil {
		return nil, err
	}
	keys := make([]Key, len(refs))
	sought := map[Kind]*Query{}
	seen := map[Kind]map[Key]bool{}
	for i := range refs {
		ref := &refs[i]
		if ref.Kind == Mention || ref.Kind == Commit || ref.Kind == CommitRange {
			continue
		}
		key, ok := found.key(in, ref)
		if !ok || s.finders[ref.Kind] == nil {
			continue
		}
		keys[i] = key
		if seen[ref.Kind] == nil {
			seen[ref.Kind] = map[Key]bool{}
			sought[ref.Kind] = &Query{Projects: found.projects, Groups: found.groups}
		}
		if !seen[ref.Kind][key] {
			seen[ref.Kind][key] = true
			sought[ref.Kind].Keys = append(sought[ref.Kind].Keys, key)
		}
	}
	for kind, list := range sought {
		targets, err := s.finders[kind].Referred(ctx, as, *list)
		if err != nil {
			return nil, fmt.Errorf("resolve references: %w", err)
		}
		for i := range refs {
			if refs[i].Kind == kind {
				out[i] = targets[keys[i]]
			}
		}
	}
	if err := s.commits(ctx, as, in, refs, found, out); err != nil {
		return nil, err
	}
	return out, s.mentioned(ctx, as, refs, out)
}
