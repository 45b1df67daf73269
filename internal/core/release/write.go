package release

import (
	"context"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/project"
)

// textProtected is what those read who may not change the release of a protected tag.
const textProtected = "Access Denied"

// changeable finds a release that the actor may change.
func (s *Service) changeable(ctx context.Context, as authz.Actor, p *project.Project, ability authz.Ability, tag string) (*Release, error) {
	if err := s.require(ctx, as, p, ability); err != nil {
		return nil, err
	}
	r, err := s.find(ctx, p, tag)
	if err != nil {
		return nil, err
	}
	return r, s.requireTag(ctx, as, p, tag, textProtected)
}

// Changeable returns the release of a tag to an actor who may change it.
func (s *Service) Changeable(ctx context.Context, as authz.Actor, p *project.Project, tag string) (*Release, error) {
	return s.changeable(ctx, as, p, authz.UpdateRelease, tag)
}

// absent tells a release that is not there from one whose tag is not there either.
func (s *Service) absent(ctx context.Context, p *project.Project, tag string, err error) error {
	if !errs.Is(err, errs.NotFound) {
		return err
	}
	_, err = s.Repos.TagCommit(ctx, p, tag)
	switch {
	case errs.Is(err, errs.NotFound):
		return bare(errs.NotFound, "Tag does not exist")
	case err == nil:
		return bare(errs.NotFound, "Release does not exist")
	}
	return err
}

// Update changes a release.
func (s *Service) Update(ctx context.Context, as authz.Actor, p *project.Project, tag string, c Changes) (*Release, error) {
	if err := s.require(ctx, as, p, authz.UpdateRelease); err != nil {
		return nil, err
	}
	r, err := s.changeable(ctx, as, p, authz.UpdateRelease, tag)
	if err != nil {
		return nil, s.absent(ctx, p, tag, err)
	}
	if c.Name == nil && c.Description == nil && c.ReleasedAt == nil && c.Milestones.none() {
		return nil, errs.Plain("params is empty")
	}
	milestones, err := s.milestones(ctx, p, c.Milestones)
	if err != nil {
		return nil, err
	}
	var out db.Change[Release]
	err = s.DB.InTx(ctx, func(ctx context.Context) (err error) {
		out, err = db.Update(ctx, s.DB, s.row(as, r.ID), func(_ context.Context, r *Release) error {
			c.apply(r)
			return invalid(r.check())
		})
		if err != nil {
			return err
		}
		if !c.Milestones.none() {
			if _, err := s.DB.Exec(ctx, "DELETE FROM release_milestones WHERE release_id = ?", r.ID); err != nil {
				return err
			}
			if err := s.link(ctx, r.ID, milestones); err != nil {
				return err
			}
		}
		if !out.Any() && c.Milestones.none() {
			return nil
		}
		if out.Before.ReleasedAt != out.After.ReleasedAt {
			if err := s.schedule(ctx, &out.After); err != nil {
				return err
			}
		}
		return s.Bus.Publish(ctx, Updated{change.Updated(as, s.Now(), p.Place(), &out)})
	})
	if err != nil {
		return nil, errs.Wrap(err, "update release")
	}
	return &out.After, nil
}

// apply writes the changes into r.
func (c Changes) apply(r *Release) {
	if c.Name != nil {
		if r.Name = *c.Name; strings.TrimSpace(r.Name) == "" {
			r.Name = r.Tag
		}
	}
	if c.Description != nil {
		r.Description = c.Description
	}
	if c.ReleasedAt != nil {
		r.ReleasedAt = db.At(*c.ReleasedAt)
	}
}

// Delete deletes a release and returns its view as it was. The tag stays.
func (s *Service) Delete(ctx context.Context, as authz.Actor, p *project.Project, tag string) (*View, error) {
	r, err := s.changeable(ctx, as, p, authz.DeleteRelease, tag)
	if err != nil {
		return nil, err
	}
	was, err := s.View(ctx, as, p, r)
	if err != nil {
		return nil, err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		deleted, err := db.Delete[Release](ctx, s.DB, s.row(as, r.ID), nil)
		if err != nil {
			return err
		}
		return s.Bus.Publish(ctx, Deleted{change.Deleted(as, s.Now(), p.Place(), &deleted)})
	})
	if err != nil {
		return nil, errs.Wrap(err, "delete release")
	}
	return was, nil
}

// Subscribe registers the reactions.
func (s *Service) Subscribe(b *event.Bus) { event.On(b, "releases", s.pushed) }

// Depart is the account.Executor of releases: those of a departing user become the ghost's.
func (s *Service) Depart(ctx context.Context, e account.Estate) (bool, error) {
	n, err := s.DB.Exec(ctx, "UPDATE releases SET author_id = ? WHERE id IN (SELECT id FROM releases WHERE author_id = ? ORDER BY id LIMIT ?)",
		e.Ghost, e.UserID, account.Batch)
	return n == account.Batch, errs.Wrap(err, "hand over releases")
}
