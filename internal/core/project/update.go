package project

import (
	"context"
	"fmt"

	"tenon/internal/base/errs"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
)

// Update changes a project, also in the archive: what clients keep of a project they
// write in one call, before they take it out of there. Visibility asks for the owner; a
// default branch must exist. Neither changes in the archive, and nothing changes of a
// project that is marked for deletion, or was archived or marked with its group.
func (s *Service) Update(ctx context.Context, as authz.Actor, ref string, c Changes) (*Project, error) {
	old, err := s.Find(ctx, as, ref)
	if err != nil {
		return nil, err
	}
	if err := s.requireUpdate(ctx, as, old, &c); err != nil {
		return nil, err
	}
	if label := c.Settings.ExternalAuthorizationLabel; label != nil {
		if err := s.checkLabel(ctx, as, label).Err(); err != nil {
			return nil, err
		}
	}
	c.Settings.At = s.Now()
	head := c.DefaultBranch
	if head != nil && (*head == "" || old.DefaultBranch != nil && *head == *old.DefaultBranch) {
		head = nil
	}
	if head != nil { // git is outside of the transaction: whatever else is wrong is found before
		if err := as.Unmodified(ctx, s.DB, "SELECT updated_at FROM projects WHERE id = ?", old.ID); err != nil {
			return nil, err
		}
		as = as.Unconditional()
		p := *old
		if err := s.change(ctx, as, &p, c); err != nil {
			return nil, err
		}
		if err := s.moveHead(ctx, old, *head); err != nil {
			return nil, err
		}
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		if c.Visibility != nil && *c.Visibility != old.Visibility {
			if _, err := s.holdNetwork(ctx, old.ID); err != nil {
				return err
			}
		}
		out, err := s.update(ctx, as, old.ID, func(ctx context.Context, p *Project) error {
			p.Level, p.LevelKnown = old.Level, true
			if err := s.requireUpdate(ctx, as, p, &c); err != nil {
				return err
			}
			if err := s.change(ctx, as, p, c); err != nil {
				return err
			}
			if head != nil {
				p.DefaultBranch = head
			}
			return nil
		})
		if err != nil {
			return err
		}
		changed := changedNames(&out)
		if len(changed) == 0 {
			return nil
		}
		return s.Bus.Publish(ctx, Updated{s.fact(as, &out), changed})
	})
	if f := takenFields(err); f != nil {
		return nil, f.Err()
	}
	if err != nil {
		return nil, errs.Wrap(err, "update project")
	}
	return s.FindByID(ctx, as, old.ID)
}

// requireUpdate asks for what changes of a project need, as it is now.
func (s *Service) requireUpdate(ctx context.Context, as authz.Actor, p *Project, c *Changes) error {
	if err := s.Policy.Require(ctx, as, authz.EditProject, p.Subject()); err != nil {
		return err
	}
	if p.Marked() || p.Archived && !p.ArchivedSelf || c.DefaultBranch != nil {
		if err := s.Policy.Require(ctx, as, authz.AdminProject, p.Subject()); err != nil {
			return err
		}
	}
	if c.Visibility != nil {
		if err := s.Policy.Require(ctx, as, authz.ChangeVisibility, p.Subject()); err != nil {
			return err
		}
	}
	if n := c.Settings.CIDeletePipelinesInSeconds; n != nil && !equal(n.N, p.Settings().CIDeletePipelinesInSeconds) {
		return s.Policy.Require(ctx, as, authz.DeletePipeline, p.Subject())
	}
	return nil
}

// checkLabel asks whether the actor may give a project a classification label; nil is that of the instance.
func (s *Service) checkLabel(ctx context.Context, as authz.Actor, label *string) errs.Fields {
	var f errs.Fields
	if reason := s.Policy.RefusesLabel(ctx, as, label); reason != "" {
		f.Add(authz.LabelSetting, "is unavailable: "+reason)
	}
	return f
}

// equal reports whether two numbers are the same, or both absent.
func equal(a, b *int64) bool { return a == b || a != nil && b != nil && *a == *b }

// change writes changes into a project and checks it.
func (s *Service) change(ctx context.Context, as authz.Actor, p *Project, c Changes) error {
	old := *p
	if err := c.apply(p); err != nil {
		return err
	}
	if c.Storage != nil {
		p.Storage = *c.Storage
	}
	if c.SizeLimit != nil && as.Admin {
		p.RepositorySizeLimit = c.SizeLimit.Bytes
	}
	return s.checkUpdate(ctx, as, p, &old, c.Mirror)
}

func (s *Service) checkUpdate(ctx context.Context, as authz.Actor, p, old *Project, m Mirror) error {
	fields := check(p, old)
	namespace.CheckArtifactsSize(&fields, as, old.Settings().MaxArtifactsSize, p.Settings().MaxArtifactsSize, s.Settings)
	s.checkPipelineAge(&fields, old.Settings().CIDeletePipelinesInSeconds, p.Settings().CIDeletePipelinesInSeconds)
	m.check(&fields, old)
	fields.Check(p.Storage == old.Storage, "repository_storage", "is invalid") // there is no other to move to
	if p.Visibility != old.Visibility || p.Path != old.Path || p.Name != old.Name {
		all, err := s.Namespaces.Load(ctx, []authz.NamespaceID{p.ParentID})
		if err != nil {
			return err
		}
		parent := all[p.ParentID]
		if parent == nil {
			return errs.Missing("Namespace")
		}
		if p.Visibility != old.Visibility {
			s.checkVisibility(&fields, as, p, parent)
		}
		if p.Path != old.Path || p.Name != old.Name {
			if err := s.checkFree(ctx, &fields, p, parent, p.NamespaceID); err != nil {
				return err
			}
		}
	}
	return fields.Err()
}

func (s *Service) moveHead(ctx context.Context, p *Project, branch string) error {
	if !gitstore.ValidBranchName(branch) {
		var f errs.Fields
		f.Add("default_branch", messageBranch)
		return f.Err()
	}
	err := s.above.Heads.SetHead(ctx, p, branch)
	if errs.Is(err, errs.NotFound) {
		var f errs.Fields
		f.Add("base", fmt.Sprintf("Could not change HEAD: branch '%s' does not exist", branch))
		return f.Err()
	}
	if err != nil {
		return fmt.Errorf("change default branch: %w", err)
	}
	return nil
}

// Archive makes a project read-only.
func (s *Service) Archive(ctx context.Context, as authz.Actor, ref string) (*Project, error) {
	return s.archive(ctx, as, ref, Archived{})
}

// Unarchive makes a project writable again.
func (s *Service) Unarchive(ctx context.Context, as authz.Actor, ref string) (*Project, error) {
	return s.archive(ctx, as, ref, Archived{Undone: true})
}

func (s *Service) archive(ctx context.Context, as authz.Actor, ref string, e Archived) (*Project, error) {
	p, err := s.Find(ctx, as, ref)
	if err != nil {
		return nil, err
	}
	if err := s.Policy.Require(ctx, as, authz.ArchiveProject, p.Subject()); err != nil {
		return nil, err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		out, err := s.update(ctx, as, p.ID, func(_ context.Context, p *Project) error {
			if p.MarkedForDeletionOn != nil && e.Undone {
				return errs.Plain("Project is marked for deletion")
			}
			p.ArchivedSelf = !e.Undone
			return nil
		})
		if err != nil || !out.Any() {
			return err
		}
		e.Fact = s.fact(as, &out)
		return s.Bus.Publish(ctx, e)
	})
	if err != nil {
		return nil, errs.Wrap(err, "archive project")
	}
	return s.FindByID(ctx, as, p.ID)
}
