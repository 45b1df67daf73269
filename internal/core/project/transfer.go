package project

import (
	"context"
	"errors"

	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
)

// CodeNotTransferred is a project that does not go where it was to go.
const CodeNotTransferred errs.Code = "project_not_transferred"

func notTransferred(why string) error { return errs.Broken(CodeNotTransferred, "new_namespace", why) }

// Transfer puts a project into the group or personal namespace that target names, by
// number or path. The actor owns the project and may create projects there.
func (s *Service) Transfer(ctx context.Context, as authz.Actor, ref, target string) (*Project, error) {
	p, err := s.Find(ctx, as, ref)
	if err != nil {
		return nil, err
	}
	if err := s.Policy.Require(ctx, as, authz.TransferProject, p.Subject()); err != nil {
		return nil, err
	}
	into, err := s.Namespaces.FindNamespace(ctx, as, target)
	if err != nil {
		return nil, err
	}
	if into.ID == p.ParentID {
		return nil, notTransferred("Project is already in this namespace.")
	}
	if err := s.requireReceive(ctx, as, into); err != nil {
		return nil, err
	}
	var fields errs.Fields
	if err := s.checkFree(ctx, &fields, p, into, p.NamespaceID); err != nil {
		return nil, err
	}
	if len(fields) > 0 {
		return nil, notTransferred("Project with same name or path in target namespace already exists")
	}
	level := p.Level
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		if _, err := s.holdNetwork(ctx, p.ID); err != nil {
			return err
		}
		if err := notReceived(s.personalRoom(ctx, as, into.ID, s.DB.Room)); err != nil {
			return err
		}
		out, err := s.update(ctx, as, p.ID, func(ctx context.Context, p *Project) error {
			if p.ParentID == into.ID {
				return notTransferred("Project is already in this namespace.")
			}
			p.Level, p.LevelKnown = level, true
			if err := s.Policy.Require(ctx, as, authz.TransferProject, p.Subject()); err != nil {
				return err
			}
			p.ParentID, p.FullPath, p.FullName = into.ID, into.FullPath+"/"+p.Path, into.FullName+" / "+p.Name
			return s.Namespaces.Move(ctx, p.NamespaceID, &into.ID)
		})
		if err != nil {
			return err
		}
		if err := s.lowerForks(ctx, p.NamespaceID); err != nil {
			return err
		}
		return s.Bus.Publish(ctx, Transferred{s.fact(as, &out)})
	})
	switch {
	case errors.Is(err, namespace.ErrTaken), errors.Is(err, namespace.ErrNameTaken):
		return nil, notTransferred("Project with same name or path in target namespace already exists")
	case err != nil:
		return nil, errs.Wrap(err, "transfer project")
	}
	return s.FindByID(ctx, as, p.ID)
}

// mayReceive checks that the actor may transfer or fork projects into a namespace.
func (s *Service) mayReceive(ctx context.Context, as authz.Actor, into *namespace.Namespace) error {
	if into.Kind == namespace.UserKind {
		return s.requirePersonal(ctx, as, into)
	}
	if err := s.requireGroup(ctx, as, &Input{}, into); err != nil {
		return err
	}
	return s.Policy.Require(ctx, as, authz.TransferInto, authz.Subject{Noun: "Namespace", Namespace: into.ID, Visibility: into.Visibility})
}

// requireReceive is mayReceive with the answers of a transfer.
func (s *Service) requireReceive(ctx context.Context, as authz.Actor, into *namespace.Namespace) error {
	return notReceived(s.mayReceive(ctx, as, into))
}

func notReceived(err error) error {
	if errs.Is(err, errs.Forbidden) || errs.Is(err, errs.Invalid) {
		return notTransferred("You don't have permission to transfer projects into that namespace.")
	}
	return err
}

// ShareLocations lists the groups of the actor that may be invited into a project.
func (s *Service) ShareLocations(ctx context.Context, as authz.Actor, ref string, f namespace.GroupFilter) (page.Page[namespace.Group], error) {
	p, err := s.Find(ctx, as, ref)
	if err != nil {
		return page.None[namespace.Group](f.Range), err
	}
	if err := s.Policy.Require(ctx, as, authz.ShareProject, p.Subject().Reading()); err != nil {
		return page.None[namespace.Group](f.Range), err
	}
	f.MemberOnly = !as.Admin
	if some, err := s.Namespaces.Invitable(ctx, p.NamespaceID, &f); err != nil || !some {
		return page.None[namespace.Group](f.Range), err
	}
	return s.Namespaces.List(ctx, as, f)
}

// Locations lists the groups that a project may be transferred to.
func (s *Service) Locations(ctx context.Context, as authz.Actor, ref string, f namespace.GroupFilter) (page.Page[namespace.Group], error) {
	p, err := s.Find(ctx, as, ref)
	if err != nil {
		return page.None[namespace.Group](f.Range), err
	}
	if err := s.Policy.Require(ctx, as, authz.TransferProject, p.Subject().Reading()); err != nil {
		return page.None[namespace.Group](f.Range), err
	}
	f.Receiver, f.But = authz.Maintainer, &p.ParentID
	return s.Namespaces.List(ctx, as, f)
}
