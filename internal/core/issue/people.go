package issue

import (
	"context"
	"fmt"

	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// Participants lists who wrote an issue, works on it or commented on it. Authors of internal
// notes alone count for those who may read internal notes.
func (s *Service) Participants(ctx context.Context, as authz.Actor, p *project.Project, iid IID, r page.Range) (page.Page[authz.UserID], error) {
	i, err := s.Find(ctx, as, p, iid)
	if err != nil {
		return page.Page[authz.UserID]{}, err
	}
	internal, err := s.policy.SeesInternalNotes(ctx, as, p.Subject())
	if err != nil {
		return page.Page[authz.UserID]{}, err
	}
	hidden := " AND NOT n.internal"
	if internal {
		hidden = ""
	}
	q := page.Query{Columns: "u.id", From: "users u", Order: page.Order{page.ID("u.id")}}
	q.Where.And(`(u.id = ?
		OR u.id IN (SELECT a.user_id FROM issue_assignees a WHERE a.issue_id = ?)
		OR u.id IN (SELECT n.author_id FROM notes n WHERE n.noteable_type = 'Issue' AND n.noteable_id = ?
			AND NOT n.system`+hidden+`))`, i.AuthorID, i.ID, i.ID)
	list, err := page.Select[authz.UserID](ctx, s.db, q, r)
	if err != nil {
		return list, fmt.Errorf("list participants of issue: %w", err)
	}
	return list, nil
}

// UserAgent gives the client that made an issue, and its address. It is for administrators.
func (s *Service) UserAgent(ctx context.Context, as authz.Actor, p *project.Project, iid IID) (agent, address string, err error) {
	i, err := s.Find(ctx, as, p, iid)
	if err != nil {
		return "", "", err
	}
	if err := s.policy.Require(ctx, as, authz.ReadUserAgent, i.subject(as, p)); err != nil {
		return "", "", err
	}
	if i.UserAgent == nil || i.UserAddress == nil {
		return "", "", errs.Missing("UserAgentDetail")
	}
	return *i.UserAgent, *i.UserAddress, nil
}
