// Package securefile keeps files that jobs of a project need and that are in no repository,
// such as keys for signing.
package securefile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"tenon/internal/base/blob"
	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/job"
	"tenon/internal/base/page"
	"tenon/internal/base/pattern"
	"tenon/internal/base/secret"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/project"
)

// ID identifies a secure file.
type ID int64

// File is one row.
type File struct {
	ID           ID            `db:"id"`
	ProjectID    project.ID    `db:"project_id"`
	UserID       *authz.UserID `db:"user_id"` // who uploaded it; nil for a user who is gone
	Name         string        `db:"name"`
	Object       string        `db:"object"`   // key in the object store
	Size         int64         `db:"size"`     // bytes
	Checksum     string        `db:"checksum"` // SHA-256 in hex
	MetadataJSON *string       `db:"metadata"` // see Metadata
	ExpiresAt    *db.Time      `db:"expires_at"`
	CreatedAt    db.Time       `db:"created_at"`
	UpdatedAt    db.Time       `db:"updated_at"`
}

// Extension is the ending of the name without its dot, nil for none.
func (f *File) Extension() *string {
	ext := strings.TrimPrefix(path.Ext(f.Name), ".")
	if ext == "" {
		return nil
	}
	return &ext
}

const (
	// MaxSize is how many bytes a file has at most.
	MaxSize = 5 << 20

	maxFiles = 100 // of one project
	maxName  = 255 // characters
)

// Created is published when a project has a new file.
type Created struct{ change.Of[File] }

// Audit is what the audit trail records of it.
func (Created) Audit() []change.Entry {
	return change.Record("ci_secure_file_created", "Added secure file")
}

// Deleted is published when a file is gone.
type Deleted struct{ change.Of[File] }

// Audit is what the audit trail records of it.
func (Deleted) Audit() []change.Entry {
	return change.Record("ci_secure_file_deleted", "Removed secure file")
}

// Deps is what a Service is made of.
type Deps struct {
	DB      *db.DB
	Policy  *authz.Policy
	Bus     *event.Bus
	Objects *blob.Store
	Box     *secret.Box
	Now     func() time.Time
	Log     *slog.Logger
}

// Service keeps files. It is safe for concurrent use.
type Service struct {
	Deps
}

// New builds the service.
func New(d Deps) *Service {
	return &Service{Deps: d}
}

var columns = db.Columns[File]("f")

// List returns the files of a project by id.
func (s *Service) List(ctx context.Context, as authz.Actor, p *project.Project, r page.Range) (page.Page[File], error) {
	if err := s.Policy.Require(ctx, as, authz.ReadSecureFiles, p.Subject()); err != nil {
		return page.Page[File]{}, err
	}
	var w db.Where
	w.And("f.project_id = ?", p.ID)
	list, err := page.Select[File](ctx, s.DB, page.Query{Columns: columns, From: "secure_files f", Where: w, Order: page.Order{page.ID("f.id")}}, r)
	if err != nil {
		return list, fmt.Errorf("list secure files: %w", err)
	}
	return list, nil
}

// Find returns a file of a project.
func (s *Service) Find(ctx context.Context, as authz.Actor, p *project.Project, id ID) (*File, error) {
	if err := s.Policy.Require(ctx, as, authz.ReadSecureFiles, p.Subject()); err != nil {
		return nil, err
	}
	return s.find(ctx, p, id)
}

func (s *Service) find(ctx context.Context, p *project.Project, id ID) (*File, error) {
	f, err := db.Get[File](ctx, s.DB, "SELECT "+columns+" FROM secure_files f WHERE f.project_id = ? AND f.id = ?", p.ID, id)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.Missing("")
	}
	if err != nil {
		return nil, fmt.Errorf("find secure file: %w", err)
	}
	return &f, nil
}

// Read returns a file of a project with its content.
func (s *Service) Read(ctx context.Context, as authz.Actor, p *project.Project, id ID) (_ *File, content []byte, err error) {
	if err := s.Policy.Require(ctx, as, authz.ReadSecureFiles, p.Subject()); err != nil {
		return nil, nil, err
	}
	f, err := s.find(ctx, p, id)
	if err != nil {
		return nil, nil, err
	}
	o, err := s.Objects.Open(ctx, f.Object)
	if err != nil {
		return nil, nil, fmt.Errorf("open secure file %d: %w", id, err)
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	sealed, err := io.ReadAll(io.LimitReader(o, 2*MaxSize))
	if err != nil {
		return nil, nil, fmt.Errorf("read secure file %d: %w", id, err)
	}
	text, err := s.Box.Open(f.Object, string(sealed))
	if err != nil {
		return nil, nil, fmt.Errorf("open secure file %d: %w", id, err)
	}
	return f, []byte(text), nil
}

// nameText holds what names of files consist of: a job writes them into a folder.
var nameText = pattern.New(`\A[a-zA-Z0-9_@+=(). -]+\z`)

func checkName(name string) error {
	var f errs.Fields
	f.Check(name != "", "name", "can't be blank")
	f.Check(utf8.RuneCountInString(name) <= maxName, "name", fmt.Sprintf("is too long (maximum is %d characters)", maxName))
	f.Check(name == "" || nameText().MatchString(name) && strings.Trim(name, ".") != "", "name",
		"can contain only letters, digits, spaces and any of _-.@+=()")
	return f.Err()
}

// Create keeps a file of a project under a name of its own. One of more than MaxSize bytes is
// TooLarge.
func (s *Service) Create(ctx context.Context, as authz.Actor, p *project.Project, name string, from io.Reader) (*File, error) {
	if err := s.Policy.Require(ctx, as, authz.AdminSecureFiles, p.Subject()); err != nil {
		return nil, err
	}
	if err := checkName(name); err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(from, MaxSize+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read secure file: %w", err)
	case len(content) > MaxSize:
		return nil, errs.New(errs.TooLarge, "")
	case len(content) == 0:
		var f errs.Fields
		f.Add("file", "can't be blank")
		return nil, f.Err()
	}
	sum, now := sha256.Sum256(content), db.At(s.Now())
	f := File{
		ProjectID: p.ID, Name: name, Object: fmt.Sprintf("secure_file/%d/%s", p.ID, blob.Random()), Size: int64(len(content)),
		Checksum: hex.EncodeToString(sum[:]), CreatedAt: now, UpdatedAt: now,
	}
	f.describe(content)
	if as.SignedIn() {
		f.UserID = &as.UserID
	}
	// What has no row yet is removed by Sweep, later than this takes.
	if _, err := s.Objects.Put(ctx, f.Object, strings.NewReader(s.Box.Seal(f.Object, string(content))), blob.Wanted{}); err != nil {
		return nil, err
	}
	if err := s.insert(ctx, as, p, &f); err != nil {
		s.drop(ctx, f.Object)
		return nil, err
	}
	return &f, nil
}

func (s *Service) insert(ctx context.Context, as authz.Actor, p *project.Project, f *File) error {
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := db.Create(ctx, s.DB, "secure_files", f, bound(p)); err != nil {
			return err
		}
		return s.Bus.Publish(ctx, Created{change.Created(as, s.Now(), p.Place(), f)})
	})
	if db.Duplicate(err, "secure_files") {
		var taken errs.Fields
		taken.Add("name", "has already been taken")
		return taken.Err()
	}
	return errs.Wrap(err, "create secure file")
}

func bound(p *project.Project) db.Bound {
	full := errs.Broken("", "base", fmt.Sprintf("Maximum number of project ci secure files (%d) exceeded", maxFiles))
	b := db.Bound{Table: "secure_files", Most: maxFiles, Full: full}
	b.Of.And("project_id = ?", p.ID)
	return b
}

// Delete removes a file of a project.
func (s *Service) Delete(ctx context.Context, as authz.Actor, p *project.Project, id ID) error {
	if err := s.Policy.Require(ctx, as, authz.AdminSecureFiles, p.Subject()); err != nil {
		return err
	}
	if _, err := s.find(ctx, p, id); err != nil {
		return err
	}
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		was, err := db.Delete[File](ctx, s.DB, db.Row{Table: "secure_files", ID: id, If: as.UnmodifiedAt, Missing: errs.Missing("")}, nil)
		if err != nil {
			return err
		}
		s.DB.AfterCommit(ctx, func() { s.drop(ctx, was.Object) })
		return s.Bus.Publish(ctx, Deleted{change.Deleted(as, s.Now(), p.Place(), &was)})
	})
	return errs.Wrap(err, "delete secure file")
}

// drop removes an object that no row names any more.
func (s *Service) drop(ctx context.Context, object string) {
	if err := s.Objects.Delete(context.WithoutCancel(ctx), object); err != nil {
		s.Log.Warn("delete secure file", "object", object, "error", err) // Sweep tries again
	}
}

// Sweep is the periodic job that removes objects which no row names.
type Sweep struct{}

// Kind names the job.
func (Sweep) Kind() string { return "secure_file_sweep" }

// RegisterJobs has objects that no row names deleted each day.
func (s *Service) RegisterJobs(r *job.Registry) {
	job.Register(r, s.Sweep, job.On(job.Maintenance), job.Unique(), job.Low(), job.Timeout(time.Hour))
	job.Every(r, 24*time.Hour, Sweep{})
}

// Sweep removes the objects of projects that are gone, and what a crash left. Doing it twice is
// harmless.
func (s *Service) Sweep(ctx context.Context, _ Sweep) error {
	return s.Objects.SweepUnnamed(ctx, blob.Unnamed{
		Prefix: "secure_file", Before: s.Now().Add(-24 * time.Hour),
		Named: func(ctx context.Context, keys []string) ([]string, error) {
			var w db.Where
			w.In("object", keys)
			named, err := db.Select[string](ctx, s.DB, "SELECT object FROM secure_files"+w.SQL(), w.Args()...)
			if err != nil {
				return nil, fmt.Errorf("look for secure files: %w", err)
			}
			return named, nil
		},
	})
}

// About names it for events.
func (f File) About() change.Subject {
	return change.Subject{Type: "Ci::SecureFile", ID: int64(f.ID), Title: f.Name}
}
