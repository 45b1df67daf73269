// Package upload keeps the files that people attach to texts: each has an address in its
// project or group that no user can guess, and is shown to callers who may see that place.
package upload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"tenon/internal/base/blob"
	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/job"
	"tenon/internal/base/media"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/core/quota"
	"tenon/internal/core/setting"
)

// ID identifies an upload.
type ID int64

// Upload is one file.
type Upload struct {
	ID          ID            `db:"id"`
	NamespaceID namespace.ID  `db:"namespace_id"`            // of the project or group
	Secret      string        `db:"secret" change:",secret"` // 32 hex digits of its address
	Name        string        `db:"name"`                    // of the file, fit for addresses
	Size        int64         `db:"size"`
	UserID      *authz.UserID `db:"user_id"` // who uploaded it; nil where that user is gone
	CreatedAt   db.Time       `db:"created_at"`
}

// Content is an upload that is open for reading.
type Content struct {
	Upload
	io.ReadSeekCloser
	Type   string // as what it is sent
	Inline bool   // a browser may show it in its place
}

// Headers keep browsers from taking the file for anything but what it is.
func (c *Content) Headers() map[string]string {
	disposition := "attachment"
	if c.Inline {
		disposition = "inline"
	}
	if url.PathEscape(c.Name) == c.Name {
		disposition += `; filename="` + c.Name + `"`
	} else {
		disposition += "; filename*=UTF-8''" + url.PathEscape(c.Name)
	}
	return map[string]string{
		"Content-Type":            c.Type,
		"Content-Disposition":     disposition,
		"Content-Security-Policy": "default-src 'none'; sandbox",
		"X-Content-Type-Options":  "nosniff",
		"Cache-Control":           "private, max-age=0, must-revalidate",
	}
}

// Deleted says that a file was deleted.
type Deleted struct{ change.Of[Upload] }

// Audit is what the audit trail records of it.
func (Deleted) Audit() []change.Entry {
	return change.RecordTarget("", "upload_deleted", "Deleted the uploaded file {title}")
}

// Deps are what the service is built on.
type Deps struct {
	DB       *db.DB
	Policy   *authz.Policy
	Bus      *event.Bus
	Settings *setting.Store
	Projects *project.Service
	Objects  *blob.Store
	Quota    *quota.Service
	Log      *slog.Logger
	Now      func() time.Time
}

// Service keeps uploads. It is safe for concurrent use.
type Service struct {
	Deps
}

// New builds the service.
func New(d Deps) *Service {
	return &Service{Deps: d}
}

// MaxSize is how many bytes a file may have now.
func (s *Service) MaxSize() int64 { return int64(s.Settings.Current().MaxAttachmentSize) << 20 }

// Create takes a file: in a project from signed-in users who see it, in a group
// from its members. One that is too large, or that a limit leaves no room for, is TooLarge.
func (s *Service) Create(ctx context.Context, as authz.Actor, at authz.Place, name string, from io.Reader) (*Upload, error) {
	ability := authz.UploadFile
	if at.Group {
		ability = authz.UploadGroupFile
	}
	if err := s.Policy.Require(ctx, as, ability, at.Subject); err != nil {
		return nil, err
	}
	staged, err := s.Objects.Stage(ctx, from, blob.Wanted{Limit: max(s.MaxSize(), 1)})
	if errors.Is(err, blob.ErrTooLarge) {
		return nil, errs.New(errs.TooLarge, "")
	}
	if err != nil {
		return nil, err
	}
	defer staged.Discard()
	storing := quota.Storing{As: as, Subject: at.Subject, Namespace: at.Namespace, Bytes: staged.Size}
	if !at.Group {
		storing.Project = project.ID(at.ID)
	}
	release, err := s.Quota.Reserve(ctx, storing)
	if err != nil {
		return nil, err
	}
	defer release()
	u := Upload{
		NamespaceID: at.Namespace, Secret: blob.Random(), Name: blob.CleanName(name), Size: staged.Size, CreatedAt: db.At(s.Now()),
	}
	if as.SignedIn() {
		u.UserID = &as.UserID
	}
	// What has no row yet is removed by Sweep, later than this takes.
	if err := staged.Keep(ctx, u.key()); err != nil {
		return nil, err
	}
	if err := db.Create(ctx, s.DB, "uploads", &u); err != nil {
		return nil, fmt.Errorf("record upload: %w", err)
	}
	return &u, nil
}

func (u *Upload) key() string { return fmt.Sprintf("upload/%d/%s", u.NamespaceID, u.Secret) }

// List returns the uploads of a place, the newest first.
func (s *Service) List(ctx context.Context, as authz.Actor, at authz.Place, r page.Range) (page.Page[Upload], error) {
	if err := s.Policy.Require(ctx, as, authz.ReadUploads, at.Subject); err != nil {
		return page.Page[Upload]{}, err
	}
	q := page.Query{Columns: db.Columns[Upload](""), From: "uploads", Order: page.Order{page.ID("id").Desc()}}
	q.Where.And("namespace_id = ?", at.Namespace)
	list, err := page.Select[Upload](ctx, s.DB, q, r)
	if err != nil {
		return list, fmt.Errorf("list uploads: %w", err)
	}
	return list, nil
}

// Address names an upload in its place: by number, or as links do.
type Address struct {
	ID     ID
	Secret string
	Name   string
}

func (s *Service) find(ctx context.Context, at namespace.ID, a Address) (*Upload, error) {
	var w db.Where
	w.And("namespace_id = ?", at)
	if a.Secret != "" || a.ID == 0 {
		w.And("secret = ?", a.Secret)
		w.And("name = ?", a.Name)
	} else {
		w.And("id = ?", a.ID)
	}
	u, err := db.Get[Upload](ctx, s.DB, "SELECT "+db.Columns[Upload]("")+" FROM uploads"+w.SQL(), w.Args()...)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.Missing("")
	}
	if err != nil {
		return nil, fmt.Errorf("find upload: %w", err)
	}
	return &u, nil
}

// Open opens an upload: by its link for a user who sees the place, by its number for those
// who may list them.
func (s *Service) Open(ctx context.Context, as authz.Actor, at authz.Place, a Address) (*Content, error) {
	ability := authz.ReadUploads
	switch {
	case a.Secret == "":
	case at.Group:
		ability = authz.ReadGroup
	default:
		ability = authz.ReadProject
	}
	if err := s.Policy.Require(ctx, as, ability, at.Subject); err != nil {
		return nil, err
	}
	u, err := s.find(ctx, at.Namespace, a)
	if err != nil {
		return nil, err
	}
	return s.open(ctx, u)
}

func (s *Service) open(ctx context.Context, u *Upload) (*Content, error) {
	o, err := s.Objects.Open(ctx, u.key())
	if errors.Is(err, blob.ErrNotFound) {
		s.Log.Error("an upload is recorded and is not there", "upload_id", u.ID)
		return nil, errs.Missing("")
	}
	if err != nil {
		return nil, err
	}
	head := make([]byte, min(o.Size, sniffed))
	_, err = io.ReadFull(o, head)
	if err == nil {
		_, err = o.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read upload: %w", err), o.Close())
	}
	c := &Content{Upload: *u, ReadSeekCloser: o}
	c.Type, c.Inline = contentType(u.Name, head)
	return c, nil
}

// OpenByLink opens a picture, film or sound for a user who knows its link, where the project
// it is in shows such uploads without looking at who asks. It asks for no permission.
// belongs is told the project that the link must lead to.
func (s *Service) OpenByLink(ctx context.Context, a Address, belongs func(*project.Project) bool) (*Content, error) {
	if a.Secret == "" || media.Of(a.Name) == media.None {
		return nil, errs.Missing("")
	}
	id, err := db.Get[project.ID](ctx, s.DB, `SELECT p.id FROM projects p JOIN uploads u ON u.namespace_id = p.namespace_id
		WHERE u.secret = ? AND u.name = ?`, a.Secret, a.Name)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.Missing("")
	}
	if err != nil {
		return nil, fmt.Errorf("find project of upload: %w", err)
	}
	all, err := s.Projects.Load(ctx, []project.ID{id})
	if err != nil {
		return nil, err
	}
	p := all[id]
	if p == nil || p.Settings().EnforceAuthChecksOnUploads || !belongs(p) {
		return nil, errs.Missing("")
	}
	u, err := s.find(ctx, p.NamespaceID, a)
	if err != nil {
		return nil, err
	}
	return s.open(ctx, u)
}

// Delete deletes an upload.
func (s *Service) Delete(ctx context.Context, as authz.Actor, at authz.Place, a Address) error {
	if err := s.Policy.Require(ctx, as, authz.DeleteUpload, at.Subject); err != nil {
		return err
	}
	u, err := s.find(ctx, at.Namespace, a)
	if err != nil {
		return err
	}
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		if gone, err := s.remove(ctx, as, u); err != nil || !gone {
			return err // or another request was first
		}
		return s.Bus.Publish(ctx, Deleted{change.Deleted(as, s.Now(), at, u)})
	})
}

// remove deletes the row in the caller's transaction, and the file after it. It reports whether
// there was one.
func (s *Service) remove(ctx context.Context, as authz.Actor, u *Upload) (bool, error) {
	_, err := db.Delete[Upload](ctx, s.DB, db.Row{Table: "uploads", ID: u.ID, If: as.UnmodifiedAt}, nil)
	if errors.Is(err, db.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, errs.Wrap(err, "delete upload")
	}
	s.DB.AfterCommit(ctx, func() {
		if err := s.Objects.Delete(context.WithoutCancel(ctx), u.key()); err != nil {
			s.Log.Warn("delete upload", "upload_id", u.ID, "error", err) // Sweep tries again
		}
	})
	return true, nil
}

// load reads the row of an upload in any place.
func (s *Service) load(ctx context.Context, id ID) (*Upload, error) {
	u, err := db.Get[Upload](ctx, s.DB, "SELECT "+db.Columns[Upload]("")+" FROM uploads WHERE id = ?", id)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.Missing("")
	}
	if err != nil {
		return nil, fmt.Errorf("load upload: %w", err)
	}
	return &u, nil
}

// Load opens an upload. It asks for no permission and is for core.
func (s *Service) Load(ctx context.Context, id ID) (*Content, error) {
	u, err := s.load(ctx, id)
	if err != nil {
		return nil, err
	}
	return s.open(ctx, u)
}

// Drop deletes an upload that belongs to something that is deleted, and is no error where it
// is gone. It asks for no permission and is for core.
func (s *Service) Drop(ctx context.Context, id ID) error {
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		u, err := s.load(ctx, id)
		if errs.Is(err, errs.NotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		_, err = s.remove(ctx, authz.Actor{}, u)
		return err
	})
}

// Sizes returns how many bytes the uploads of places have; those without are missing. It
// asks for no permission.
func (s *Service) Sizes(ctx context.Context, places []namespace.ID) (map[namespace.ID]int64, error) {
	out := make(map[namespace.ID]int64, len(places))
	if len(places) == 0 {
		return out, nil
	}
	type row struct {
		ID   namespace.ID `db:"namespace_id"`
		Size int64        `db:"size"`
	}
	marks, args := db.Marks(places)
	rows, err := db.Select[row](ctx, s.DB, "SELECT namespace_id, CAST(SUM(size) AS BIGINT) AS size FROM uploads WHERE namespace_id IN ("+marks+
		") GROUP BY namespace_id", args...)
	if err != nil {
		return nil, fmt.Errorf("measure uploads: %w", err)
	}
	for _, r := range rows {
		out[r.ID] = r.Size
	}
	return out, nil
}

// Sweep is the periodic job that removes files which no row names.
type Sweep struct{}

// Kind names the job.
func (Sweep) Kind() string { return "upload_sweep" }

// RegisterJobs has objects that no row names deleted each day.
func (s *Service) RegisterJobs(r *job.Registry) {
	job.Register(r, s.Sweep, job.On(job.Maintenance), job.Unique(), job.Low(), job.Timeout(time.Hour))
	job.Every(r, 24*time.Hour, Sweep{})
}

// Sweep removes the files of places that are gone, and what a crash left. Doing it twice
// is harmless.
func (s *Service) Sweep(ctx context.Context, _ Sweep) error {
	return s.Objects.SweepUnnamed(ctx, blob.Unnamed{Prefix: "upload", Before: s.Now().Add(-24 * time.Hour), Named: s.named})
}

// named returns those of the keys that belong to an upload: a key ends in its secret.
func (s *Service) named(ctx context.Context, keys []string) ([]string, error) {
	of := make(map[string][]string, len(keys))
	for _, key := range keys {
		secret := key[strings.LastIndexByte(key, '/')+1:]
		of[secret] = append(of[secret], key)
	}
	var w db.Where
	w.In("secret", slices.Collect(maps.Keys(of)))
	secrets, err := db.Select[string](ctx, s.DB, "SELECT secret FROM uploads"+w.SQL(), w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("look for uploads: %w", err)
	}
	var named []string
	for _, secret := range secrets {
		named = append(named, of[secret]...)
	}
	return named, nil
}

// About names it for events.
func (u Upload) About() change.Subject {
	return change.Subject{Type: "Upload", ID: int64(u.ID), Title: u.Name}
}
