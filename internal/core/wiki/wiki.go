// Package wiki holds the wikis of projects and groups: pages in folders, kept as files of a
// git repository.
package wiki

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/job"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/core/reference"
	"tenon/internal/core/repo"
	"tenon/internal/core/setting"
)

// ID identifies a wiki that has a repository.
type ID int64

// PageID identifies a page of a default branch. A page that gets another title or format keeps
// its id.
type PageID int64

func read(p authz.Place) authz.Ability  { return p.Ability(authz.ReadWiki, authz.ReadGroupWiki) }
func write(p authz.Place) authz.Ability { return p.Ability(authz.WriteWiki, authz.WriteGroupWiki) }
func remove(p authz.Place) authz.Ability {
	return p.Ability(authz.DeleteWikiPage, authz.DeleteGroupWikiPage)
}

// Wiki is the row of a wiki that has a repository.
type Wiki struct {
	ID           ID                 `db:"id"`
	RepositoryID repo.AttachedID    `db:"repository"`
	ProjectID    *project.ID        `db:"project_id"` // nil for the wiki of a group
	GroupID      *authz.NamespaceID `db:"group_id"`   // nil for that of a project
	Branch       string             `db:"branch"`     // that has the pages
	CommitID     string             `db:"commit_id"`  // that the rows of pages were read from; "" for none
	CreatedAt    db.Time            `db:"created_at"`
}

// Changed is published when pages were written, by a call or a push.
type Changed struct {
	authz.Stamp
	Place authz.Place // the project; zero for the wiki of a group, and where the project is gone
	Wiki  Wiki
	Pages []PageChange
}

// PageChange says what became of a page.
type PageChange struct {
	ID     PageID
	Path   string // of the file, as it is now or was
	Action string // created, updated or deleted
}

// Title is that of the page.
func (c PageChange) Title() string { return titleOf(c.Path) }

// Slug is that of the page.
func (c PageChange) Slug() string { return slugOf(c.Path) }

// Format is that of the page.
func (c PageChange) Format() Format { return formatOf(c.Path) }

// Deps are what the service is built on.
type Deps struct {
	DB         *db.DB
	Policy     *authz.Policy
	Bus        *event.Bus
	Jobs       job.Enqueuer
	Settings   *setting.Store
	Projects   *project.Service
	Namespaces *namespace.Service
	Repos      *repo.Service
	References *reference.Service
	Now        func() time.Time
}

// Service reads and changes wikis.
type Service struct {
	Deps
}

// New builds the service.
func New(d Deps) *Service {
	return &Service{Deps: d}
}

// require asks for an ability. Groups have a setting for who uses their wiki; that of projects
// is among the features.
func (s *Service) require(ctx context.Context, as authz.Actor, at authz.Place, ability authz.Ability) error {
	if err := s.Policy.Require(ctx, as, ability, at.Subject); err != nil {
		return err
	}
	if at.IsProject() {
		return nil
	}
	switch namespace.Of(at).Settings().WikiAccessLevel {
	case "disabled":
		return errs.Denied("")
	case "private":
		level, err := s.Policy.Level(ctx, as, at.Subject)
		if err != nil {
			return err
		}
		if level < authz.Guest && !as.Admin && !as.Auditor {
			return errs.Denied("")
		}
	}
	return nil
}

// find returns the wiki of a place, nil where it has no repository.
func (s *Service) find(ctx context.Context, at authz.Place) (*Wiki, error) {
	var w db.Where
	if at.IsProject() {
		w.And("project_id = ?", at.ID)
	} else {
		w.And("group_id = ?", at.ID)
	}
	found, err := db.Get[Wiki](ctx, s.DB, "SELECT "+db.Columns[Wiki]("")+" FROM wikis"+w.SQL(), w.Args()...)
	if errors.Is(err, db.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find wiki: %w", err)
	}
	return &found, nil
}

// known is find where a wiki without a repository lacks what is asked for.
func (s *Service) known(ctx context.Context, at authz.Place, what string) (*Wiki, error) {
	w, err := s.find(ctx, at)
	if err == nil && w == nil {
		err = errs.Missing(what)
	}
	return w, err
}

// ensure returns the wiki of a place with a repository.
func (s *Service) ensure(ctx context.Context, at authz.Place) (*Wiki, error) {
	for try := 0; ; try++ {
		w, err := s.find(ctx, at)
		if w != nil || err != nil {
			return w, err
		}
		w, err = s.create(ctx, at)
		if db.Duplicate(err, "wikis") && try == 0 {
			continue // another call was faster
		}
		return w, err
	}
}

func (s *Service) create(ctx context.Context, at authz.Place) (*Wiki, error) {
	w := &Wiki{Branch: s.Settings.Current().Branch(), CreatedAt: db.At(s.Now())}
	if at.IsProject() {
		w.ProjectID = project.IDOf(at)
		if b := project.Of(at).DefaultBranch; b != nil {
			w.Branch = *b
		}
	} else {
		w.GroupID = &at.Namespace
	}
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		var err error
		if w.RepositoryID, err = s.Repos.NewAttached(ctx, repo.OfWiki); err != nil {
			return err
		}
		return db.Create(ctx, s.DB, "wikis", w)
	})
	if err != nil {
		return nil, fmt.Errorf("create wiki: %w", err)
	}
	return w, nil
}
