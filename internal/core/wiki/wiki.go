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

// Place is the project or group whose wiki is meant.
type Place struct {
	project *project.Project
	group   *namespace.Group
}

// OfProject is the place of a project's wiki.
func OfProject(p *project.Project) Place { return Place{project: p} }

// OfGroup is the place of a group's wiki.
func OfGroup(g *namespace.Group) Place { return Place{group: g} }

func (p Place) subject() authz.Subject {
	if p.project != nil {
		return p.project.Subject()
	}
	return p.group.Subject()
}

// path is the full path of the project or group.
func (p Place) path() string {
	if p.project != nil {
		return p.project.FullPath
	}
	return p.group.FullPath
}

// may picks the ability for the kind of the place.
func (p Place) may(ofProject, ofGroup authz.Ability) authz.Ability {
	if p.project != nil {
		return ofProject
	}
	return ofGroup
}

func (p Place) read() authz.Ability   { return p.may(authz.ReadWiki, authz.ReadGroupWiki) }
func (p Place) write() authz.Ability  { return p.may(authz.WriteWiki, authz.WriteGroupWiki) }
func (p Place) remove() authz.Ability { return p.may(authz.DeleteWikiPage, authz.DeleteGroupWikiPage) }

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
	db         *db.DB
	policy     *authz.Policy
	bus        *event.Bus
	jobs       job.Enqueuer
	settings   *setting.Store
	projects   *project.Service
	namespaces *namespace.Service
	repos      *repo.Service
	references *reference.Service
	now        func() time.Time
}

// New builds the service.
func New(d Deps) *Service {
	return &Service{
		db: d.DB, policy: d.Policy, bus: d.Bus, jobs: d.Jobs, settings: d.Settings, projects: d.Projects, namespaces: d.Namespaces,
		repos: d.Repos, references: d.References, now: d.Now,
	}
}

// require asks for an ability. Groups have a setting for who uses their wiki; that of projects
// is among the features.
func (s *Service) require(ctx context.Context, as authz.Actor, at Place, ability authz.Ability) error {
	if err := s.policy.Require(ctx, as, ability, at.subject()); err != nil {
		return err
	}
	if at.project != nil {
		return nil
	}
	switch at.group.Settings().WikiAccessLevel {
	case "disabled":
		return errs.Denied("")
	case "private":
		level, err := s.policy.Level(ctx, as, at.subject())
		if err != nil {
			return err
		}
		if level < authz.Guest && !as.Admin && !as.Auditor {
			return errs.Denied("")
		}
	}
	return nil
}

// find gives the wiki of a place, nil where it has no repository.
func (s *Service) find(ctx context.Context, at Place) (*Wiki, error) {
	var w db.Where
	if at.project != nil {
		w.And("project_id = ?", at.project.ID)
	} else {
		w.And("group_id = ?", at.group.ID)
	}
	found, err := db.Get[Wiki](ctx, s.db, "SELECT "+db.Columns[Wiki]("")+" FROM wikis"+w.SQL(), w.Args()...)
	if errors.Is(err, db.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find wiki: %w", err)
	}
	return &found, nil
}

// known is find where a wiki without a repository lacks what is asked for.
func (s *Service) known(ctx context.Context, at Place, what string) (*Wiki, error) {
	w, err := s.find(ctx, at)
	if err == nil && w == nil {
		err = errs.Missing(what)
	}
	return w, err
}

// ensure gives the wiki of a place with a repository.
func (s *Service) ensure(ctx context.Context, at Place) (*Wiki, error) {
	for try := 0; ; try++ {
		w, err := s.find(ctx, at)
		if w != nil || err != nil {
			return w, err
		}
		w, err = s.create(ctx, at)
		if errors.Is(err, db.ErrDuplicate) && try == 0 {
			continue // another call was faster
		}
		return w, err
	}
}

func (s *Service) create(ctx context.Context, at Place) (*Wiki, error) {
	w := &Wiki{Branch: s.settings.Current().Branch(), CreatedAt: db.At(s.now())}
	if at.project != nil {
		w.ProjectID = &at.project.ID
		if b := at.project.DefaultBranch; b != nil {
			w.Branch = *b
		}
	} else {
		w.GroupID = &at.group.ID
	}
	err := s.db.InTx(ctx, func(ctx context.Context) error {
		var err error
		if w.RepositoryID, err = s.repos.NewAttached(ctx, repo.OfWiki); err != nil {
			return err
		}
		return db.Create(ctx, s.db, "wikis", w)
	})
	if err != nil {
		return nil, fmt.Errorf("create wiki: %w", err)
	}
	return w, nil
}
