package snippet

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
)

// MailContent returns what mails say about a snippet of a project. There are none about those of users.
func (s *Service) MailContent(ctx context.Context, ref noteable.Ref) (*noteable.MailContent, error) {
	found, err := s.ByIDs(ctx, authz.System(), []ID{ID(ref.ID)})
	sn := found[ID(ref.ID)]
	if err != nil || sn == nil || sn.ProjectID == nil {
		return nil, err
	}
	projects, err := s.Projects.Load(ctx, []project.ID{*sn.ProjectID})
	p := projects[*sn.ProjectID]
	if err != nil || p == nil {
		return nil, err
	}
	return &noteable.MailContent{Place: p.Place(), URL: s.URLs.Snippet(p.FullPath, ref.ID), Title: sn.Title}, nil
}
