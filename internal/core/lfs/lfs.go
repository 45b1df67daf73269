// Package lfs keeps the large objects of Git LFS: their content once for the whole
// instance, and for every project which of them it has. An object belongs to a project
// that a user uploaded it to; knowing its name opens nothing.
package lfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"slices"
	"sync"
	"time"

	"tenon/internal/base/blob"
	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/secret"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/quota"
	"tenon/internal/core/setting"
	"tenon/internal/core/sshkey"
	"tenon/internal/core/token"
)

// Deps are what the service is built on.
type Deps struct {
	DB       *db.DB
	Policy   *authz.Policy
	Settings *setting.Store
	Accounts *account.Service
	Tokens   *token.Service
	Keys     *sshkey.Service
	Objects  *blob.Store
	Quota    *quota.Service
	Signer   *secret.Signer
	Log      *slog.Logger
	Now      func() time.Time
}

// Service keeps large objects and the locks on paths. It is safe for concurrent use.
type Service struct {
	Deps

	// placing is held for reading from the moment an object has its place to the commit
	// that says who has it, and for writing while objects that no project has are removed.
	placing sync.RWMutex
}

// New builds the service.
func New(d Deps) *Service {
	return &Service{Deps: d}
}

// Operation is what a client wants to do with objects.
type Operation string

// The operations of the batch interface.
const (
	Download Operation = "download"
	Upload   Operation = "upload"
)

// What clients read when they may not.
const (
	textForbidden = "Access forbidden. Check your access level."
	textOff       = "Git LFS is not enabled on this server, contact your administrator."
)

// ErrOff is the cause of the error that Require gives where the instance has no LFS.
var ErrOff = errors.New("large files are off")

// Enabled reports whether a project may use LFS; without a service none may.
func (s *Service) Enabled(p *project.Project) bool {
	return s != nil && s.Settings.Current().LFSEnabled && p.LFSEnabled
}

// Require returns nil where the actor may do this with the project's objects and no group above switches them off, NotFound
// where it does not see the code, Forbidden or Unauthorized where it may not do it.
func (s *Service) Require(ctx context.Context, as authz.Actor, p *project.Project, op Operation) error {
	ability := authz.ReadCode
	if op == Upload {
		ability = authz.PushCode
	}
	err := s.Policy.Require(ctx, as, ability, p.Subject())
	switch {
	case errs.Is(err, errs.Forbidden):
		return errs.Denied(textForbidden)
	case err != nil:
		return err
	case !s.Settings.Current().LFSEnabled:
		return &errs.Error{Kind: errs.Unavailable, Message: textOff, Bare: true, Err: ErrOff}
	case !p.LFSEnabled:
		return errs.Denied(textForbidden)
	}
	off, err := db.Get[bool](ctx, s.DB, `SELECT EXISTS (SELECT 1 FROM namespace_ancestors a JOIN groups g ON g.namespace_id = a.ancestor_id
		WHERE a.namespace_id = ? AND NOT g.lfs_enabled)`, p.NamespaceID)
	if err != nil {
		return fmt.Errorf("large files of groups above: %w", err)
	}
	if off {
		return errs.Denied(textForbidden)
	}
	return nil
}

// Has returns which of the objects the project has, by name; what can name none is not
// looked for. It asks for no permission.
func (s *Service) Has(ctx context.Context, id project.ID, oids []string) (map[string]Pointer, error) {
	out := make(map[string]Pointer, len(oids))
	oids = slices.DeleteFunc(slices.Clone(oids), func(oid string) bool { return !Pointer{OID: oid}.Valid() })
	for chunk := range slices.Chunk(oids, db.MaxArgs) {
		var w db.Where
		w.And("l.project_id = ?", id)
		w.In("o.oid", chunk)
		type row struct {
			OID  string `db:"oid"`
			Size int64  `db:"size"`
		}
		rows, err := db.Select[row](ctx, s.DB, "SELECT o.oid, o.size FROM lfs_objects o JOIN lfs_links l ON l.object_id = o.id"+w.SQL(), w.Args()...)
		if err != nil {
			return nil, fmt.Errorf("look for large objects: %w", err)
		}
		for _, r := range rows {
			out[r.OID] = Pointer(r)
		}
	}
	return out, nil
}

// Uses reports whether a project has any object. It asks for no permission.
func (s *Service) Uses(ctx context.Context, id project.ID) (bool, error) {
	uses, err := db.Get[bool](ctx, s.DB, "SELECT EXISTS (SELECT 1 FROM lfs_links WHERE project_id = ?)", id)
	if err != nil {
		return false, fmt.Errorf("look for large objects: %w", err)
	}
	return uses, nil
}

// Sizes returns how many bytes the objects of projects have; those without are missing. It
// asks for no permission.
func (s *Service) Sizes(ctx context.Context, ids []project.ID) (map[project.ID]int64, error) {
	out := make(map[project.ID]int64, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	type row struct {
		ID   project.ID `db:"project_id"`
		Size int64      `db:"size"`
	}
	marks, args := db.Marks(ids)
	rows, err := db.Select[row](ctx, s.DB, `SELECT l.project_id, CAST(SUM(o.size) AS BIGINT) AS size FROM lfs_links l
		JOIN lfs_objects o ON o.id = l.object_id WHERE l.project_id IN (`+marks+") GROUP BY l.project_id", args...)
	if err != nil {
		return nil, fmt.Errorf("measure large objects: %w", err)
	}
	for _, r := range rows {
		out[r.ID] = r.Size
	}
	return out, nil
}

// Open opens an object of the project. It requires what downloading requires; an object
// that others have and this project has not is NotFound.
func (s *Service) Open(ctx context.Context, as authz.Actor, p *project.Project, oid string) (*blob.Object, error) {
	if err := s.Require(ctx, as, p, Download); err != nil {
		return nil, err
	}
	return s.Content(ctx, p.ID, oid)
}

// Content is Open without a question for permission: the caller asked whether the actor
// may read the project's code.
func (s *Service) Content(ctx context.Context, id project.ID, oid string) (*blob.Object, error) {
	has, err := s.Has(ctx, id, []string{oid})
	if err != nil {
		return nil, err
	}
	if _, ok := has[oid]; !ok {
		return nil, errs.Missing("Object")
	}
	o, err := s.Objects.Open(ctx, key(oid))
	if errors.Is(err, blob.ErrNotFound) {
		s.Log.Error("a large object is recorded and is not there", "oid", oid)
		return nil, errs.Missing("Object")
	}
	return o, err
}

// key is where the content of an object lies.
func key(oid string) string { return "lfs/" + oid[:2] + "/" + oid[2:4] + "/" + oid[4:] }

// Store takes the content of an object and gives it to the project, once all of it is
// there and is what the pointer says. That another user uploaded it before saves the
// client nothing: sending it is what proves that the client has it. Where a limit leaves
// no room for it the error is TooLarge.
func (s *Service) Store(ctx context.Context, as authz.Actor, p *project.Project, o Pointer, from io.Reader) error {
	if err := s.Require(ctx, as, p, Upload); err != nil {
		return err
	}
	return s.Place(ctx, as, p, o, from)
}

// Room returns nil where the project may get these objects now, else what Store would
// return. It asks for no permission.
func (s *Service) Room(ctx context.Context, as authz.Actor, p *project.Project, objects []Pointer) error {
	wanted := map[string]int64{}
	oids := make([]string, 0, len(objects))
	for _, o := range objects {
		if o.Valid() {
			wanted[o.OID] = o.Size
			oids = append(oids, o.OID)
		}
	}
	has, err := s.Has(ctx, p.ID, oids)
	if err != nil {
		return err
	}
	bytes := int64(0)
	for oid, size := range wanted {
		if _, there := has[oid]; !there {
			bytes += min(size, math.MaxInt64-bytes)
		}
	}
	release, err := s.reserve(ctx, as, p, bytes)
	release()
	return err
}

func (s *Service) reserve(ctx context.Context, as authz.Actor, p *project.Project, bytes int64) (release func(), err error) {
	return s.Quota.Reserve(ctx, quota.Storing{
		As: as, Subject: p.Subject(), Namespace: p.NamespaceID, Project: p.ID, Large: true, Bytes: bytes,
	})
}

// Place is Store for what an import brings. It asks for no permission.
func (s *Service) Place(ctx context.Context, as authz.Actor, p *project.Project, o Pointer, from io.Reader) error {
	if !o.Valid() {
		return errs.New(errs.Unprocessable, "Invalid object")
	}
	has, err := s.Has(ctx, p.ID, []string{o.OID})
	if err != nil {
		return err
	}
	if _, there := has[o.OID]; !there {
		release, err := s.reserve(ctx, as, p, o.Size)
		if err != nil {
			return err
		}
		defer release()
	}
	var user *authz.UserID
	if as.SignedIn() {
		user = &as.UserID
	}
	staged, err := s.Objects.Stage(ctx, from, blob.Wanted{Size: &o.Size, SHA256: o.OID})
	switch {
	case errors.Is(err, blob.ErrTooLarge), errors.Is(err, blob.ErrMismatch):
		return &errs.Error{Kind: errs.Unprocessable, Message: "The content is not what was announced", Err: err}
	case err != nil:
		return err
	}
	defer staged.Discard()
	s.placing.RLock()
	defer s.placing.RUnlock()
	if err := staged.Keep(ctx, key(o.OID)); err != nil {
		return err
	}
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		now := db.At(s.Now())
		if _, err := db.InsertRow(ctx, s.DB, "lfs_objects", db.Values{"oid": o.OID, "size": o.Size, "created_at": now}, "ON CONFLICT (oid) DO NOTHING"); err != nil {
			return fmt.Errorf("record large object: %w", err)
		}
		if _, err := s.DB.Exec(ctx, `INSERT INTO lfs_links (project_id, object_id, user_id, created_at)
			SELECT CAST(? AS BIGINT), id, CAST(? AS BIGINT), created_at FROM lfs_objects WHERE oid = ? ON CONFLICT (project_id, object_id) DO NOTHING`,
			p.ID, user, o.OID); err != nil {
			return fmt.Errorf("give large object to project: %w", err)
		}
		return nil
	})
}

// Verify confirms that an upload is complete.
func (s *Service) Verify(ctx context.Context, as authz.Actor, p *project.Project, o Pointer) error {
	if err := s.Require(ctx, as, p, Upload); err != nil {
		return err
	}
	has, err := s.Has(ctx, p.ID, []string{o.OID})
	if err != nil {
		return err
	}
	if got, ok := has[o.OID]; !ok || got.Size != o.Size {
		return errs.Missing("Object")
	}
	return nil
}

// LinkAll gives a project all objects that another one has, as when it becomes its fork.
// It asks for no permission and joins the transaction of ctx.
func (s *Service) LinkAll(ctx context.Context, from, to project.ID) error {
	_, err := s.DB.Exec(ctx, `INSERT INTO lfs_links (project_id, object_id, created_at)
		SELECT CAST(? AS BIGINT), object_id, created_at FROM lfs_links WHERE project_id = ?
		ON CONFLICT (project_id, object_id) DO NOTHING`, to, from)
	if err != nil {
		return fmt.Errorf("give large objects to project: %w", err)
	}
	return nil
}

// Link gives a project those of the objects that another one has, as when commits go from
// one to the other. It asks for no permission.
func (s *Service) Link(ctx context.Context, from, to project.ID, oids []string) error {
	for chunk := range slices.Chunk(oids, db.MaxArgs) {
		var w db.Where
		w.And("l.project_id = ?", from)
		w.In("o.oid", chunk)
		_, err := s.DB.Exec(ctx, `INSERT INTO lfs_links (project_id, object_id, created_at)
			SELECT CAST(? AS BIGINT), l.object_id, l.created_at FROM lfs_links l JOIN lfs_objects o ON o.id = l.object_id`+w.SQL()+
			" ON CONFLICT (project_id, object_id) DO NOTHING", append([]any{to}, w.Args()...)...)
		if err != nil {
			return fmt.Errorf("give large objects to project: %w", err)
		}
	}
	return nil
}
