package epic

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/label"
	"tenon/internal/core/namespace"
	"tenon/internal/core/noteable"
)

// MailContent returns what mails say about an epic.
func (s *Service) MailContent(ctx context.Context, ref noteable.Ref) (*noteable.MailContent, error) {
	found, err := s.ByIDs(ctx, authz.System(), []ID{ID(ref.ID)})
	e := found[ID(ref.ID)]
	if err != nil || e == nil {
		return nil, err
	}
	groups, err := s.Namespaces.Load(ctx, []namespace.ID{e.GroupID})
	g := groups[e.GroupID]
	if err != nil || g == nil {
		return nil, err
	}
	out := noteable.MailContent{
		Place: g.Place(), Number: int64(e.IID), URL: s.URLs.Epic(e.Path, int64(e.IID)), Title: e.Title, State: string(e.State),
		Confidential: e.Confidential, Labels: label.ForMail(e.Labels),
	}
	if e.Description != nil {
		out.Description = *e.Description
	}
	return &out, nil
}
