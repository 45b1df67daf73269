package issue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// LinkID identifies a link between two issues.
type LinkID int64

// LinkType says how an issue relates to another.
type LinkType string

// The types of links. A link that is stored has one of the first two.
const (
	RelatesTo LinkType = "relates_to"
	Blocks    LinkType = "blocks"
	BlockedBy LinkType = "is_blocked_by"
)

// maxLinks bounds the links of one issue.
const maxLinks = 100

// Link relates two issues that the actor may read.
type Link struct {
	ID             LinkID
	Type           LinkType // as seen from Source
	Source, Target *Issue
	CreatedAt      time.Time
	UpdatedAt      time.Time
}

// linkRow is a link as it is stored.
type linkRow struct {
	ID        LinkID   `db:"id"`
	SourceID  ID       `db:"source_id"`
	TargetID  ID       `db:"target_id"`
	Type      LinkType `db:"link_type"`
	CreatedAt db.Time  `db:"created_at"`
	UpdatedAt db.Time  `db:"updated_at"`
}

// link makes the link of a row.
func (r *linkRow) link(source, target *Issue) *Link {
	return &Link{ID: r.ID, Type: r.Type, Source: source, Target: target, CreatedAt: r.CreatedAt.Time, UpdatedAt: r.UpdatedAt.Time}
}

// Links lists the links of an issue with others that the actor may read, the oldest first.
// Source is always the issue itself, and Type says how it relates to Target.
func (s *Service) Links(ctx context.Context, as authz.Actor, p *project.Project, iid IID) ([]Link, error) {
	i, err := s.Find(ctx, as, p, iid)
	if err != nil {
		return nil, err
	}
	rows, err := db.Select[linkRow](ctx, s.db, "SELECT "+db.Columns[linkRow]("l")+` FROM issue_links l
		WHERE l.source_id = ? OR l.target_id = ? ORDER BY l.created_at, l.id LIMIT ?`, i.ID, i.ID, 2*maxLinks)
	if err != nil {
		return nil, fmt.Errorf("list links of issue: %w", err)
	}
	ids := make([]ID, len(rows))
	for n, r := range rows {
		if ids[n] = r.TargetID; r.TargetID == i.ID {
			ids[n] = r.SourceID
		}
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
		l := rows[n].link(i, other)
		if rows[n].Type == Blocks && rows[n].TargetID == i.ID {
			l.Type = BlockedBy
		}
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
	r, err := db.Get[linkRow](ctx, s.db, "SELECT "+db.Columns[linkRow]("l")+` FROM issue_links l
		WHERE l.id = ? AND (l.source_id = ? OR l.target_id = ?)`, id, i.ID, i.ID)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.Missing("")
	}
	if err != nil {
		return nil, fmt.Errorf("find link of issue: %w", err)
	}
	other := r.TargetID
	if other == i.ID {
		other = r.SourceID
	}
	found, err := s.ByIDs(ctx, as, []ID{other})
	switch {
	case err != nil:
		return nil, err
	case found[other] == nil:
		return nil, errs.Missing("")
	case other == r.TargetID:
		return r.link(i, found[other]), nil
	}
	return r.link(found[other], i), nil
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
	if err := s.policy.Require(ctx, as, authz.LinkIssue, i.subject(as, p)); err != nil {
		return nil, err
	}
	op, err := s.projects.Find(ctx, as, with.Project)
	if err != nil {
		return nil, err
	}
	other, err := s.Find(ctx, as, op, with.IID)
	if err != nil {
		return nil, err
	}
	may, err := s.policy.Can(ctx, as, authz.LinkIssue, other.subject(as, op))
	switch {
	case err != nil:
		return nil, err
	case !may:
		return nil, &errs.Error{Kind: errs.NotFound, Bare: true, Message: "No matching issue found. Make sure that you are adding a valid issue URL."}
	case other.ID == i.ID:
		return nil, &errs.Error{Kind: errs.Unprocessable, Bare: true, Message: i.IID.Reference() + " cannot be added: cannot be related to itself"}
	}
	source, target := i, other
	if kind == BlockedBy {
		source, target, kind = other, i, Blocks
	}
	now := db.At(s.now())
	r := linkRow{SourceID: source.ID, TargetID: target.ID, Type: kind, CreatedAt: now, UpdatedAt: now}
	err = s.db.InTx(ctx, func(ctx context.Context) error {
		if err := s.roomForLink(ctx, i.ID, other.ID); err != nil {
			return err
		}
		r.ID = 0
		id, err := db.Insert(ctx, s.db, "issue_links", &r)
		if err != nil {
			return err
		}
		r.ID = LinkID(id)
		stamp := as.Stamp(now.Time)
		return s.bus.Publish(ctx, Linked{
			Stamp: stamp, Type: kind, Source: *source, Target: *target,
			SourceProject: either(source == i, p, op), TargetProject: either(target == i, p, op),
		})
	})
	if errors.Is(err, db.ErrDuplicate) {
		return nil, errAssigned
	}
	if err != nil {
		return nil, fmt.Errorf("link issues: %w", err)
	}
	return r.link(source, target), nil
}

// errAssigned refuses a second link between two issues.
var errAssigned = errs.New(errs.Conflict, "Issue(s) already assigned")

// either gives the first where ok, otherwise the second.
func either(ok bool, first, second *project.Project) *project.Project {
	if ok {
		return first
	}
	return second
}

// roomForLink locks two issues, the one with the smaller id first, and refuses a link between
// them where there is one already, or where one has as many as it may have.
func (s *Service) roomForLink(ctx context.Context, a, b ID) error {
	for _, id := range []ID{min(a, b), max(a, b)} {
		type key struct {
			ID ID `db:"id"`
		}
		if _, err := db.ForUpdate[key](ctx, s.db, db.Row{Table: "issues", ID: id}); errors.Is(err, db.ErrNotFound) {
			return errs.Missing("")
		} else if err != nil {
			return err
		}
	}
	type row struct {
		A    int64 `db:"a"`
		B    int64 `db:"b"`
		Both int64 `db:"pair"`
	}
	const of = "(SELECT COUNT(*) FROM issue_links WHERE source_id = ?) + (SELECT COUNT(*) FROM issue_links WHERE target_id = ?)"
	n, err := db.Get[row](ctx, s.db, "SELECT "+of+" AS a, "+of+` AS b, (SELECT COUNT(*) FROM issue_links
		WHERE source_id = ? AND target_id = ? OR source_id = ? AND target_id = ?) AS pair`, a, a, b, b, a, b, b, a)
	switch {
	case err != nil:
		return err
	case n.Both > 0:
		return errAssigned
	case n.A >= maxLinks || n.B >= maxLinks:
		return &errs.Error{Kind: errs.Unprocessable, Bare: true, Message: "This issue would exceed the maximum number of linked items."}
	}
	return nil
}

// Unlink removes a link of an issue and returns it. It requires LinkIssue on both issues;
// where the actor has it on the first alone, the link is not found.
func (s *Service) Unlink(ctx context.Context, as authz.Actor, p *project.Project, iid IID, id LinkID) (*Link, error) {
	i, err := s.Find(ctx, as, p, iid)
	if err != nil {
		return nil, err
	}
	if err := s.policy.Require(ctx, as, authz.LinkIssue, i.subject(as, p)); err != nil {
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
	op, err := s.projects.FindByID(ctx, as, other.ProjectID)
	if err != nil {
		return nil, err
	}
	may, err := s.policy.Can(ctx, as, authz.LinkIssue, other.subject(as, op))
	if err != nil {
		return nil, err
	}
	if !may {
		return nil, errNoLink
	}
	err = s.db.InTx(ctx, func(ctx context.Context) error {
		if err := as.Unmodified(ctx, s.db, "SELECT updated_at FROM issue_links WHERE id = ?", l.ID); err != nil {
			return err
		}
		n, err := s.db.Exec(ctx, "DELETE FROM issue_links WHERE id = ?", l.ID)
		if err != nil {
			return err
		}
		if n == 0 {
			return errNoLink
		}
		return s.bus.Publish(ctx, Unlinked{
			Stamp: as.Stamp(s.now()), Type: l.Type, Source: *l.Source, Target: *l.Target,
			SourceProject: either(l.Source == i, p, op), TargetProject: either(l.Target == i, p, op),
		})
	})
	if err != nil {
		return nil, fmt.Errorf("unlink issues: %w", err)
	}
	return l, nil
}

var errNoLink = &errs.Error{Kind: errs.NotFound, Bare: true, Message: "No Issue Link found"}
