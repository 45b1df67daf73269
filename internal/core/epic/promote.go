package epic

import (
	"context"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/issue"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/reference"
)

// MayPromote reports whether the actor may make epics of issues of a project: it may create epics in
// the group of the project.
func (s *Service) MayPromote(ctx context.Context, as authz.Actor, p *project.Project) (bool, error) {
	g, err := s.Namespaces.FindByID(ctx, as, p.ParentID)
	if errs.Is(err, errs.NotFound) { // the project belongs to a user
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return s.Policy.Can(ctx, as, authz.CreateEpic, g.Subject())
}

// Promote makes an epic of an issue in the group of its project, and closes the issue. The epic
// has the text of the issue, its confidentiality, the labels of groups and, by a reaction, its comments; the
// epic that the issue is in becomes its parent. It requires CreateEpic and SetIssueMetadata.
func (s *Service) Promote(ctx context.Context, as authz.Actor, p *project.Project, iid issue.IID) (*Epic, error) {
	i, err := s.Deps.Issues.Find(ctx, as, p, iid)
	if err != nil {
		return nil, err
	}
	g, err := s.Namespaces.FindByID(ctx, as, p.ParentID)
	if err != nil {
		return nil, err
	}
	ref := noteable.Ref{Kind: noteable.Issue, ID: int64(i.ID)}
	subjects, err := s.Deps.Issues.Subjects(ctx, as, []noteable.Ref{ref})
	if err != nil {
		return nil, err
	}
	if err := s.Policy.Require(ctx, as, authz.SetIssueMetadata, subjects[ref]); err != nil {
		return nil, err
	}
	in := Input{Title: i.Title, Confidential: i.Confidential}
	if i.Description != nil {
		text := reference.NewReader(s.URLs).Moved(*i.Description, p.FullPath)
		in.Description = &text
	}
	for _, l := range i.Labels {
		if l.NamespaceID != p.NamespaceID {
			in.Labels = append(in.Labels, l.Title)
		}
	}
	var e *Epic
	of := Source{Issue: *i, Project: p}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		if _, err := s.Deps.Issues.Update(ctx, as, p, iid, issue.Changes{StateEvent: "close"}); err != nil {
			return err
		}
		if e, err = s.create(ctx, as.Unconditional(), g, in, &of); err != nil {
			return err
		}
		if err := s.Bus.Publish(ctx, Promoted{Stamp: as.Stamp(s.Now()), Source: of, Epic: *e, Group: g}); err != nil {
			return err
		}
		if i.Epic == nil {
			return nil
		}
		return s.adopt(ctx, as, ID(i.Epic.ID), e, g)
	})
	if err != nil {
		return nil, errs.Wrap(err, "promote issue")
	}
	return s.Find(ctx, as, g, e.IID)
}
