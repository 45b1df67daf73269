package issue

import (
	"context"
	"time"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/link"
	"tenon/internal/core/project"
)

// LinkID identifies a link between two issues.
type LinkID int64

// LinkType says how an issue relates to another.
type LinkType = link.Type

// The types of links.
const (
	RelatesTo = link.RelatesTo
	Blocks    = link.Blocks
	BlockedBy = link.BlockedBy
)

var links = link.Table[ID]{
	Links: "issue_links", Targets: "issues",
	Assigned: errs.New(errs.Conflict, "Issue(s) already assigned"),
	Full:     "This issue would exceed the maximum number of linked items.",
	Missing:  errNoLink,
}

var errNoLink = &errs.Error{Kind: errs.NotFound, Bare: true, Message: "No Issue Link found"}

// Link relates two issues that the actor may read.
type Link struct {
	ID             LinkID
	Type           LinkType // as seen from Source
	Source, Target *Issue
	CreatedAt      time.Time
	UpdatedAt      time.Time
}

// newLink makes the link of a row.
func newLink(r *link.Row[ID], source, target *Issue) *Link {
	return &Link{ID: LinkID(r.ID), Type: r.Type, Source: source, Target: target, CreatedAt: r.CreatedAt.Time, UpdatedAt: r.UpdatedAt.Time}
}

// Links lists the links of an issue with others that the actor may read, the oldest first.
// Source is always the issue itself, and Type says how it relates to Target.
func (s *Service) Links(ctx context.Context, as authz.Actor, p *project.Project, iid IID) ([]Link, error) {
	i, err := s.Find(ctx, as, p, iid)
	if err != nil {
		return nil, err
	}
	rows, err := links.Of(ctx, s.DB, i.ID)
	if err != nil {
		return nil, err
	}
	ids := make([]ID, len(rows))
	for n := range rows {
		ids[n] = rows[n].Other(i.ID)
	}
	others, err := s.ByIDs(ctx, as, ids)
	if err != nil {
		return nil, err
	}
	var out []Link
	for n := range rows {
		other := others[ids[n]]
		if other == nil {
			continue
		}
		l := newLink(&rows[n], i, other)
		l.Type = rows[n].SeenFrom(i.ID)
		out = append(out, *l)
	}
	return out, nil
}

// FindLink returns a link of an issue with another that the actor may read, as it is stored.
func (s *Service) FindLink(ctx context.Context, as authz.Actor, p *project.Project, iid IID, id LinkID) (*Link, error) {
	i, err := s.Find(ctx, as, p, iid)
	if err != nil {
		return nil, err
	}
	return s.findLink(ctx, as, i, id)
}

func (s *Service) findLink(ctx context.Context, as authz.Actor, i *Issue, id LinkID) (*Link, error) {
	r, err := links.Find(ctx, s.DB, int64(id), i.ID, errs.Missing(""))
	if err != nil {
		return nil, err
	}
	other := r.Other(i.ID)
	found, err := s.ByIDs(ctx, as, []ID{other})
	switch {
	case err != nil:
		return nil, err
	case found[other] == nil:
		return nil, errs.Missing("")
	case other == r.TargetID:
		return newLink(r, i, found[other]), nil
	}
	return newLink(r, found[other], i), nil
}

// Other names an issue of another project, or of the same.
type Other struct {
	Project string // id or path
	IID     IID
}

// Link links an issue with another. It requires LinkIssue on both; where the actor has it on
// the first alone, the other is not found. A link in either direction is a Conflict.
func (s *Service) Link(ctx context.Context, as authz.Actor, p *project.Project, iid IID, with Other, kind LinkType) (*Link, error) {
	i, err := s.Find(ctx, as, p, iid)
	if err != nil {
		return nil, err
	}
	if err := s.Policy.Require(ctx, as, authz.LinkIssue, i.subject(as, p)); err != nil {
		return nil, err
	}
	op, err := s.Projects.Find(ctx, as, with.Project)
	if err != nil {
		return nil, err
	}
	other, err := s.Find(ctx, as, op, with.IID)
	if err != nil {
		return nil, err
	}
	may, err := s.Policy.Can(ctx, as, authz.LinkIssue, other.subject(as, op))
	switch {
	case err != nil:
		return nil, err
	case !may:
		return nil, &errs.Error{Kind: errs.NotFound, Bare: true, Message: "No matching issue found. Make sure that you are adding a valid issue URL."}
	case other.ID == i.ID:
		return nil, &errs.Error{Kind: errs.Unprocessable, Bare: true, Message: i.IID.Reference() + " cannot be added: cannot be related to itself"}
	}
	now := s.Now()
	r := link.New(i.ID, other.ID, kind, now)
	source, target := i, other
	if r.SourceID == other.ID {
		source, target = other, i
	}
	err = links.Add(ctx, s.DB, &r, func(ctx context.Context) error {
		return s.Bus.Publish(ctx, Linked{
			Stamp: as.Stamp(now), Type: r.Type, Source: *source, Target: *target,
			SourceProject: either(source == i, p, op), TargetProject: either(target == i, p, op),
		})
	})
	if err != nil {
		return nil, err
	}
	return newLink(&r, source, target), nil
}

// either returns the first where ok, otherwise the second.
func either(ok bool, first, second *project.Project) *project.Project {
	if ok {
		return first
	}
	return second
}

// Unlink removes a link of an issue and returns it. It requires LinkIssue on both issues;
// where the actor has it on the first alone, the link is not found.
func (s *Service) Unlink(ctx context.Context, as authz.Actor, p *project.Project, iid IID, id LinkID) (*Link, error) {
	i, err := s.Find(ctx, as, p, iid)
	if err != nil {
		return nil, err
	}
	if err := s.Policy.Require(ctx, as, authz.LinkIssue, i.subject(as, p)); err != nil {
		return nil, err
	}
	l, err := s.findLink(ctx, as, i, id)
	if err != nil {
		return nil, err
	}
	other := l.Target
	if other.ID == i.ID {
		other = l.Source
	}
	op, err := s.Projects.FindByID(ctx, as, other.ProjectID)
	if err != nil {
		return nil, err
	}
	may, err := s.Policy.Can(ctx, as, authz.LinkIssue, other.subject(as, op))
	if err != nil {
		return nil, err
	}
	if !may {
		return nil, errNoLink
	}
	err = links.Remove(ctx, as, s.DB, int64(l.ID), func(ctx context.Context) error {
		return s.Bus.Publish(ctx, Unlinked{
			Stamp: as.Stamp(s.Now()), Type: l.Type, Source: *l.Source, Target: *l.Target,
			SourceProject: either(l.Source == i, p, op), TargetProject: either(l.Target == i, p, op),
		})
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}
