package packages

import (
	"context"
	"errors"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/project"
)

// ID identifies a package.
type ID int64

// Kind is the format of a package.
type Kind string

// The kinds of which packages are published here.
const (
	Generic Kind = "generic"
	Debian  Kind = "debian"
	PyPI    Kind = "pypi"
	Maven   Kind = "maven"
	NPM     Kind = "npm"
)

// Status says whether lists show a package.
type Status string

// The statuses.
const (
	Default     Status = "default"
	Hidden      Status = "hidden"     // shown where it is asked for
	Deprecated  Status = "deprecated" // as Default, with a message that tells users of it to choose another version
	Processing  Status = "processing"
	Failed      Status = "error"
	Destruction Status = "pending_destruction" // a job deletes it
)

// Installable are the statuses of what clients find and install.
func Installable() []Status { return []Status{Default, Deprecated} }

// Package is one version of a package of a project.
type Package struct {
	ID               ID            `db:"id"`
	ProjectID        project.ID    `db:"project_id"`
	Kind             Kind          `db:"kind"`
	Name             string        `db:"name" fold:"name_fold"`
	Version          *string       `db:"version"`
	Status           Status        `db:"status"`
	StatusMessage    *string       `db:"status_message"` // why publication failed, or the package is deprecated
	CreatorID        *authz.UserID `db:"creator_id"`     // nil for a deploy token, and a user who was deleted
	LastDownloadedAt *db.Time      `db:"last_downloaded_at"`
	CreatedAt        db.Time       `db:"created_at"`
	UpdatedAt        db.Time       `db:"updated_at"`
}

// About names it for events.
func (p Package) About() change.Subject {
	return change.Subject{Type: "Packages::Package", ID: int64(p.ID), Title: p.Name}
}

// Published is published when a project has a new package, which is a new version of a name.
type Published struct{ change.Of[Package] }

// Deleted is published when a package is marked for deletion: nothing finds it any more.
type Deleted struct{ change.Of[Package] }

// Audit is what the audit trail records of it.
func (Deleted) Audit() []change.Entry {
	return change.Record("package_deleted", "Deleted package {title}")
}

var (
	packageColumns = db.Columns[Package]("k")
	errNoPackage   = errs.Missing("Package")
)

// Find returns a package of a project.
func (s *Service) Find(ctx context.Context, as authz.Actor, p *project.Project, id ID) (*Package, error) {
	if err := s.MayRead(ctx, as, p.Place()); err != nil {
		return nil, err
	}
	return s.find(ctx, p, id)
}

func (s *Service) find(ctx context.Context, p *project.Project, id ID) (*Package, error) {
	k, err := db.Get[Package](ctx, s.DB, "SELECT "+packageColumns+" FROM packages k WHERE k.project_id = ? AND k.id = ? AND k.status <> ?", p.ID, id, Destruction)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errNoPackage
	}
	if err != nil {
		return nil, errs.Wrap(err, "find package")
	}
	return &k, nil
}

// Delete marks a package for deletion. Its files are deleted by a job.
func (s *Service) Delete(ctx context.Context, as authz.Actor, p *project.Project, id ID) error {
	if err := s.Require(ctx, as, authz.DestroyPackage, p.Place()); err != nil {
		return err
	}
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		out, err := db.Update(ctx, s.DB, s.packageRow(as, p, id), func(ctx context.Context, k *Package) error {
			if err := s.mayDelete(ctx, as, p, k); err != nil {
				return err
			}
			k.Status = Destruction
			return nil
		})
		if err != nil {
			return err
		}
		if err := s.Jobs.Enqueue(ctx, destroy{id}); err != nil {
			return err
		}
		if err := s.republishOf(ctx, id); err != nil {
			return err
		}
		return s.Bus.Publish(ctx, Deleted{change.Deleted(as, s.Now(), p.Place(), &out.Before)})
	})
	return errs.Wrap(err, "delete package")
}

func (s *Service) packageRow(as authz.Actor, p *project.Project, id ID) db.Row {
	r := db.Row{Table: "packages", ID: id, Now: s.Now, If: as.UnmodifiedAt, Missing: errNoPackage}
	r.And.And("project_id = ?", p.ID)
	r.And.And("status <> ?", Destruction)
	return r
}
