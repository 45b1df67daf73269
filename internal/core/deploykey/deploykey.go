// Package deploykey says in which projects a deploy key is enabled, and what it may do
// there. The keys themselves stand beside those of users.
package deploykey

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/project"
	"tenon/internal/core/sshkey"
)

// Key is a deploy key as one project has it.
type Key struct {
	*sshkey.Key
	CanPush bool `change:"can_push"`
}

// Grant lets a deploy key into a project.
type Grant struct {
	ID        int64      `db:"id"`
	KeyID     sshkey.ID  `db:"key_id"`
	ProjectID project.ID `db:"project_id"`
	CanPush   bool       `db:"can_push"`
	CreatedAt db.Time    `db:"created_at"`
	UpdatedAt db.Time    `db:"updated_at"`
}

// Input is what a deploy key of a project is made of.
type Input struct {
	sshkey.Input
	CanPush bool
}

// Changes are what a call changes of a key; nil leaves alone.
type Changes struct {
	Title   *string
	CanPush *bool
}

// About names the key.
func (k Key) About() change.Subject {
	return change.Subject{Type: "DeployKey", ID: int64(k.ID), Title: k.Title}
}

// Added is published when a key is enabled in a project.
type Added struct{ change.Of[Key] }

// Updated is published when a key's title, or what it may do in a project, changes.
type Updated struct{ change.Of[Key] }

// Removed is published when a key is not enabled in a project any more.
type Removed struct{ change.Of[Key] }

// PublicAdded is published when a key is made that every project may enable.
type PublicAdded struct{ change.Of[Key] }

// Deps is what a Service is made of.
type Deps struct {
	DB       *db.DB
	Policy   *authz.Policy
	Bus      *event.Bus
	Accounts *account.Service
	Keys     *sshkey.Service
	Projects *project.Service
	Now      func() time.Time
}

// Service enables deploy keys. It is safe for concurrent use.
type Service struct {
	Deps
}

// New builds the service.
func New(d Deps) *Service {
	return &Service{Deps: d}
}

// prefix stands before the attributes of a key of a project in refusals.
const prefix = "deploy_key."

// Create enables a key in a project. One that is enabled there is given as it is; one
// that the actor could enable is enabled; any other is made.
func (s *Service) Create(ctx context.Context, as authz.Actor, p *project.Project, in Input) (*Key, error) {
	if err := s.Policy.Require(ctx, as, authz.AdminDeployKeys, p.Subject()); err != nil {
		return nil, err
	}
	known, err := s.Keys.DeployWith(ctx, in.Key)
	switch {
	case err == nil:
		return s.join(ctx, as, p, known, in.CanPush)
	case !errs.Is(err, errs.NotFound):
		return nil, err
	}
	out, err := s.make(ctx, as, p, in)
	if db.Duplicate(err, "ssh_keys") || errs.Is(err, errs.Invalid) { // perhaps another request was first
		again := s.DB.InTx(ctx, func(ctx context.Context) (err error) { // so that theirs is committed
			known, err = s.Keys.DeployWith(ctx, in.Key)
			return err
		})
		if again == nil {
			return s.join(ctx, as, p, known, in.CanPush)
		}
	}
	return out, refused(err, "create deploy key")
}

// make stores a key that is new and enables it.
func (s *Service) make(ctx context.Context, as authz.Actor, p *project.Project, in Input) (*Key, error) {
	var out *Key
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		k, err := s.Keys.CreateDeploy(ctx, as, sshkey.DeployInput{Input: in.Input})
		if err != nil {
			return err
		}
		out = &Key{k, in.CanPush}
		return s.enable(ctx, as, p, out)
	})
	return out, err
}

// join enables a key that exists already.
func (s *Service) join(ctx context.Context, as authz.Actor, p *project.Project, known *sshkey.Key, push bool) (*Key, error) {
	k, err := s.find(ctx, p, known.ID)
	if !errs.Is(err, errs.NotFound) {
		return k, err
	}
	may, err := s.reachable(ctx, as, known)
	if err != nil {
		return nil, err
	}
	if !may {
		return nil, sshkey.Prefixed(sshkey.ErrTaken(), prefix)
	}
	k = &Key{known, push}
	err = s.DB.InTx(ctx, func(ctx context.Context) error { return s.enable(ctx, as, p, k) })
	if db.Duplicate(err, "deploy_key_projects") { // another user enabled it just now
		err = s.DB.InTx(ctx, func(ctx context.Context) error {
			k, err = s.find(ctx, p, known.ID)
			return err
		})
	}
	return k, refused(err, "enable deploy key")
}

func refused(err error, doing string) error {
	switch {
	case err == nil:
		return nil
	case db.Duplicate(err, "ssh_keys"): // another request was first
		return sshkey.Prefixed(sshkey.ErrTaken(), prefix)
	case errs.KindOf(err) != errs.Internal:
		return sshkey.Prefixed(err, prefix)
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// enable lets a key into a project, in the caller's transaction.
func (s *Service) enable(ctx context.Context, as authz.Actor, p *project.Project, k *Key) error {
	now := db.At(s.Now())
	_, err := db.InsertRow(ctx, s.DB, "deploy_key_projects", Grant{KeyID: k.ID, ProjectID: p.ID, CanPush: k.CanPush, CreatedAt: now, UpdatedAt: now}, "")
	if err != nil {
		return err
	}
	return s.Bus.Publish(ctx, Added{change.Created(as, s.Now(), p.Place(), k)})
}

// Enable lets a key of another project in, to read: a public one, one of a project that
// the actor maintains, or any for administrators.
func (s *Service) Enable(ctx context.Context, as authz.Actor, p *project.Project, id sshkey.ID) (*Key, error) {
	if err := s.Policy.Require(ctx, as, authz.AdminDeployKeys, p.Subject()); err != nil {
		return nil, err
	}
	known, err := s.Keys.FindDeploy(ctx, id)
	if errs.Is(err, errs.NotFound) {
		return nil, errMissing
	}
	if err != nil {
		return nil, err
	}
	may, err := s.reachable(ctx, as, known)
	if err != nil {
		return nil, err
	}
	if !may {
		return nil, errMissing
	}
	return s.join(ctx, as, p, known, false)
}

var errMissing = errs.Missing("Deploy Key")

// reachable reports whether the actor may enable a key in a project of its own.
func (s *Service) reachable(ctx context.Context, as authz.Actor, k *sshkey.Key) (bool, error) {
	if as.Admin || k.Public {
		return true, nil
	}
	reached, args := s.Policy.ReachSQL(as, authz.Maintainer)
	may, err := db.Get[bool](ctx, s.DB, `SELECT EXISTS (SELECT 1 FROM deploy_key_projects d JOIN projects p ON p.id = d.project_id
		WHERE d.key_id = ? AND NOT p.pending_delete AND p.namespace_id IN (`+reached+`))`, append([]any{k.ID}, args...)...)
	if err != nil {
		return false, fmt.Errorf("look for deploy key: %w", err)
	}
	return may, nil
}

// Update changes what a key may do in a project. Its title is everybody's: only its
// maker and administrators change that of a key which is public or enabled elsewhere.
func (s *Service) Update(ctx context.Context, as authz.Actor, p *project.Project, id sshkey.ID, c Changes) (*Key, error) {
	if err := s.Policy.Require(ctx, as, authz.AdminDeployKeys, p.Subject()); err != nil {
		return nil, err
	}
	k, err := s.find(ctx, p, id)
	if err != nil {
		return nil, err
	}
	rename := c.Title != nil && *c.Title != k.Title
	var out *Key
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := as.Unmodified(ctx, s.DB, "SELECT updated_at FROM ssh_keys WHERE id = ?", id); err != nil {
			return err
		}
		if err := as.Unmodified(ctx, s.DB, "SELECT updated_at FROM deploy_key_projects WHERE key_id = ? AND project_id = ?", id, p.ID); err != nil {
			return err
		}
		if rename {
			if err := s.mayRename(ctx, as, k); err != nil {
				return err
			}
			if err := s.Keys.RenameDeploy(ctx, id, *c.Title); err != nil {
				return err
			}
		}
		pushes, err := s.allow(ctx, p, id, c.CanPush)
		if err != nil {
			return err
		}
		if out, err = s.find(ctx, p, id); err != nil || !rename && !pushes {
			return err
		}
		return s.Bus.Publish(ctx, Updated{change.Between(as, s.Now(), p.Place(), k, out)})
	})
	if err != nil {
		return nil, refused(err, "update deploy key")
	}
	return out, nil
}

// allow says whether a key may push to a project, and reports whether that is a change; nil
// leaves it alone.
func (s *Service) allow(ctx context.Context, p *project.Project, id sshkey.ID, push *bool) (bool, error) {
	if push == nil {
		return false, nil
	}
	grant, err := db.Get[int64](ctx, s.DB, "SELECT id FROM deploy_key_projects WHERE key_id = ? AND project_id = ?", id, p.ID)
	if errors.Is(err, db.ErrNotFound) {
		return false, errs.Missing("")
	}
	if err != nil {
		return false, err
	}
	out, err := db.Update(ctx, s.DB, db.Row{Table: "deploy_key_projects", ID: grant, Now: s.Now}, func(_ context.Context, g *Grant) error {
		g.CanPush = *push
		return nil
	})
	return out.Any(), err
}

func (s *Service) mayRename(ctx context.Context, as authz.Actor, k *Key) error {
	if as.Admin || !k.Public && as.Owns(k.MakerID) {
		return nil
	}
	uses, err := db.Get[int](ctx, s.DB, "SELECT COUNT(*) FROM deploy_key_projects WHERE key_id = ?", k.ID)
	if err != nil {
		return fmt.Errorf("count projects of deploy key: %w", err)
	}
	if k.Public || uses > 1 {
		return errs.Denied("")
	}
	return nil
}

// Delete keeps a key out of a project. A key that is enabled nowhere any more is gone,
// unless it is public.
func (s *Service) Delete(ctx context.Context, as authz.Actor, p *project.Project, id sshkey.ID) error {
	if err := s.Policy.Require(ctx, as, authz.AdminDeployKeys, p.Subject()); err != nil {
		return err
	}
	k, err := s.find(ctx, p, id)
	if errs.Is(err, errs.NotFound) {
		return errMissing
	}
	if err != nil {
		return err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := as.Unmodified(ctx, s.DB, "SELECT updated_at FROM ssh_keys WHERE id = ?", id); err != nil {
			return err
		}
		row := db.Row{Table: "deploy_key_projects", Key: "key_id", ID: id, If: as.UnmodifiedAt, Missing: errMissing}
		row.And.And("project_id = ?", p.ID)
		if _, err := db.Delete[Grant](ctx, s.DB, row, nil); err != nil {
			return err
		}
		if err := s.Bus.Publish(ctx, Removed{change.Deleted(as, s.Now(), p.Place(), k)}); err != nil {
			return err
		}
		return s.Keys.DropOrphans(ctx, id)
	})
	if err != nil {
		return fmt.Errorf("delete deploy key: %w", err)
	}
	return nil
}

// Clear keeps all keys out of a project that is deleted, in the caller's transaction.
func (s *Service) Clear(ctx context.Context, id project.ID) error {
	keys, err := db.Select[sshkey.ID](ctx, s.DB, "SELECT key_id FROM deploy_key_projects WHERE project_id = ? ORDER BY key_id", id)
	if err != nil {
		return fmt.Errorf("deploy keys of project: %w", err)
	}
	if len(keys) == 0 {
		return nil
	}
	if _, err := s.DB.Exec(ctx, "DELETE FROM deploy_key_projects WHERE project_id = ?", id); err != nil {
		return fmt.Errorf("remove deploy keys of project: %w", err)
	}
	return s.Keys.DropOrphans(ctx, keys...)
}

// CreatePublic makes a key that every project may enable. Only administrators may.
func (s *Service) CreatePublic(ctx context.Context, as authz.Actor, in sshkey.Input) (*sshkey.Key, error) {
	if err := s.Policy.Require(ctx, as, authz.CreateDeployKey, authz.Subject{}); err != nil {
		return nil, err
	}
	var out *sshkey.Key
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		var err error
		if out, err = s.Keys.CreateDeploy(ctx, as, sshkey.DeployInput{Input: in, Public: true}); err != nil {
			return err
		}
		return s.Bus.Publish(ctx, PublicAdded{change.Created(as, s.Now(), authz.Place{}, &Key{Key: out})})
	})
	if db.Duplicate(err, "ssh_keys") {
		return nil, sshkey.ErrTaken()
	}
	if err != nil {
		return nil, fmt.Errorf("create deploy key: %w", err)
	}
	return out, nil
}
