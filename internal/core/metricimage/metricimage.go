// Package metricimage keeps the images of metrics that people attach to incidents.
package metricimage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/picture"
	"tenon/internal/core/authz"
	"tenon/internal/core/issue"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/upload"
)

// ID identifies an image.
type ID int64

const (
	// MaxSize is how many bytes the file of an image has at most.
	MaxSize = 1 << 20

	maxImages = 100 // of one incident
	maxURL    = 255 // characters
	maxText   = 128 // characters
)

// Image is one image of an incident.
type Image struct {
	ID        ID        `db:"id"`
	IssueID   issue.ID  `db:"issue_id"`
	UploadID  upload.ID `db:"upload_id"`
	Name      string    `db:"name"`     // of the file
	URL       *string   `db:"url"`      // where there is more about the metric; nil for nowhere
	URLText   *string   `db:"url_text"` // what the link or the image is called; nil for none
	CreatedAt db.Time   `db:"created_at"`
	UpdatedAt db.Time   `db:"updated_at"`
}

// Input is what a new image is made of.
type Input struct {
	Name string // of the file
	From io.Reader
	Changes
}

// Changes are those of Update; nil leaves alone, "" takes away.
type Changes struct {
	URL     *string
	URLText *string
}

// Deps are what the service is built on.
type Deps struct {
	DB       *db.DB
	Policy   *authz.Policy
	Issues   *issue.Service
	Projects *project.Service
	Uploads  *upload.Service
	Now      func() time.Time
}

// Service keeps images. It is safe for concurrent use.
type Service struct {
	Deps

	cleaner *picture.Cleaner
}

// New builds the service.
func New(d Deps) *Service {
	return &Service{Deps: d, cleaner: picture.NewCleaner()}
}

// Subscribe removes the images of incidents that are deleted.
func (s *Service) Subscribe(b *event.Bus) {
	event.On(b, "metric images", func(ctx context.Context, e issue.Deleted) error {
		all, err := s.of(ctx, e.Row().ID)
		if err != nil {
			return err
		}
		for i := range all {
			if err := s.drop(ctx, e.By, &all[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// incident finds an issue for an actor who has the ability there.
func (s *Service) incident(ctx context.Context, as authz.Actor, p *project.Project, iid issue.IID, ability authz.Ability) (*issue.Issue, error) {
	t, err := s.Issues.Locate(ctx, as, p.Place(), noteable.Key{Number: int64(iid)})
	if err != nil {
		return nil, err
	}
	if err := s.Policy.Require(ctx, as, ability, t.Subject); err != nil {
		return nil, err
	}
	return s.Issues.Find(ctx, as, p, iid)
}

// of reads the images of an issue, the oldest first.
func (s *Service) of(ctx context.Context, id issue.ID) ([]Image, error) {
	all, err := db.Select[Image](ctx, s.DB, "SELECT "+db.Columns[Image]("")+" FROM metric_images WHERE issue_id = ? ORDER BY id LIMIT ?", id, maxImages)
	if err != nil {
		return nil, fmt.Errorf("metric images: %w", err)
	}
	return all, nil
}

// List returns the images of an incident that the actor may read, the oldest first.
func (s *Service) List(ctx context.Context, as authz.Actor, p *project.Project, iid issue.IID) ([]Image, error) {
	i, err := s.incident(ctx, as, p, iid, authz.ReadIssue)
	if err != nil {
		return nil, err
	}
	return s.of(ctx, i.ID)
}

// Create attaches an image to an incident. It requires UpdateIssue; other issues have no
// images. Metadata is cut out of the file.
func (s *Service) Create(ctx context.Context, as authz.Actor, p *project.Project, iid issue.IID, in Input) (*Image, error) {
	i, err := s.incident(ctx, as, p, iid, authz.UpdateIssue)
	if err != nil {
		return nil, err
	}
	if i.Type != issue.Incident {
		return nil, errs.Denied("Not allowed!")
	}
	if err := in.validate(); err != nil {
		return nil, err
	}
	clean, err := s.cleaner.Clean(in.From, MaxSize)
	switch {
	case errors.Is(err, picture.ErrTooBig):
		return nil, errs.Bad("File is too large")
	case errors.Is(err, picture.ErrFormat):
		var f errs.Fields
		f.Add("file", "does not have a supported format. Only png, jpeg, gif and webp are supported")
		return nil, f.Err()
	case err != nil:
		return nil, err
	}
	file, err := s.Uploads.Create(ctx, as, p.Place(), named(in.Name, clean.Format), bytes.NewReader(clean.Content))
	if err != nil {
		return nil, err
	}
	now := db.At(s.Now())
	m := Image{IssueID: i.ID, UploadID: file.ID, Name: file.Name, URL: orNil(in.URL), URLText: orNil(in.URLText), CreatedAt: now, UpdatedAt: now}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		most := db.Bound{Table: "metric_images", Most: maxImages, Full: errs.Bad(fmt.Sprintf("An incident has at most %d metric images", maxImages))}
		most.Of.And("issue_id = ?", i.ID)
		return db.Create(ctx, s.DB, "metric_images", &m, most)
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("attach metric image: %w", err), s.Uploads.Drop(context.WithoutCancel(ctx), file.ID))
	}
	return &m, nil
}

// named gives a file the ending of its format where it has another.
func named(name string, format picture.Format) string {
	if ext := strings.ToLower(path.Ext(name)); slices.Contains(format.Exts(), ext) {
		return name
	}
	return name + format.Exts()[0]
}

func orNil(s *string) *string {
	if s == nil || *s == "" {
		return nil
	}
	return s
}

func (c Changes) validate() error {
	var f errs.Fields
	if c.URL != nil && *c.URL != "" {
		u, err := url.Parse(*c.URL)
		f.Check(err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https"), "url", "must be a valid URL")
		f.Check(utf8.RuneCountInString(*c.URL) <= maxURL, "url", "is too long (maximum is 255 characters)")
	}
	if c.URLText != nil {
		f.Check(utf8.RuneCountInString(*c.URLText) <= maxText, "url_text", "is too long (maximum is 128 characters)")
	}
	return f.Err()
}

// one reads an image of an issue.
func (s *Service) one(ctx context.Context, on issue.ID, id ID) (*Image, error) {
	m, err := db.Get[Image](ctx, s.DB, "SELECT "+db.Columns[Image]("")+" FROM metric_images WHERE issue_id = ? AND id = ?", on, id)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.Missing("")
	}
	if err != nil {
		return nil, fmt.Errorf("metric image: %w", err)
	}
	return &m, nil
}

// Update changes where an image leads. It requires UpdateIssue.
func (s *Service) Update(ctx context.Context, as authz.Actor, p *project.Project, iid issue.IID, id ID, c Changes) (*Image, error) {
	i, err := s.incident(ctx, as, p, iid, authz.UpdateIssue)
	if err != nil {
		return nil, err
	}
	if err := c.validate(); err != nil {
		return nil, err
	}
	m, err := s.one(ctx, i.ID, id)
	if err != nil {
		return nil, err
	}
	out, err := db.Update(ctx, s.DB, db.Row{Table: "metric_images", ID: m.ID, Now: s.Now, If: as.UnmodifiedAt, Missing: errs.Missing("")}, func(_ context.Context, m *Image) error {
		if c.URL != nil {
			m.URL = orNil(c.URL)
		}
		if c.URLText != nil {
			m.URLText = orNil(c.URLText)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("update metric image: %w", err)
	}
	return &out.After, nil
}

// Delete removes an image and its file. It requires UpdateIssue.
func (s *Service) Delete(ctx context.Context, as authz.Actor, p *project.Project, iid issue.IID, id ID) error {
	i, err := s.incident(ctx, as, p, iid, authz.UpdateIssue)
	if err != nil {
		return err
	}
	m, err := s.one(ctx, i.ID, id)
	if err != nil {
		return err
	}
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		return s.drop(ctx, as, m)
	})
}

// drop removes the row of an image and its file in the caller's transaction.
func (s *Service) drop(ctx context.Context, as authz.Actor, m *Image) error {
	_, err := db.Delete[Image](ctx, s.DB, db.Row{Table: "metric_images", ID: m.ID, If: as.UnmodifiedAt, Missing: errs.Missing("")}, nil)
	if err != nil {
		return errs.Wrap(err, "delete metric image")
	}
	return s.Uploads.Drop(ctx, m.UploadID)
}

// Open opens the file of an image by its number and name for an actor who may read the
// incident.
func (s *Service) Open(ctx context.Context, as authz.Actor, id ID, name string) (*upload.Content, error) {
	type place struct {
		Project project.ID `db:"project_id"`
		IID     issue.IID  `db:"iid"`
		Upload  upload.ID  `db:"upload_id"`
	}
	at, err := db.Get[place](ctx, s.DB, `SELECT i.project_id, i.iid, m.upload_id FROM metric_images m JOIN issues i ON i.id = m.issue_id
		WHERE m.id = ? AND m.name = ?`, id, name)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.Missing("")
	}
	if err != nil {
		return nil, fmt.Errorf("find metric image: %w", err)
	}
	p, err := s.Projects.FindByID(ctx, as, at.Project)
	if err != nil {
		return nil, err
	}
	if _, err := s.incident(ctx, as, p, at.IID, authz.ReadIssue); err != nil {
		return nil, err
	}
	return s.Uploads.Load(ctx, at.Upload)
}
