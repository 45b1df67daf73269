package issue

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/label"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
)

// MailContent returns what mails say about an issue.
func (s *Service) MailContent(ctx context.Context, ref noteable.Ref) (*noteable.MailContent, error) {
	found, err := s.ByIDs(ctx, authz.System(), []ID{ID(ref.ID)})
	i := found[ID(ref.ID)]
	if err != nil || i == nil {
		return nil, err
	}
	projects, err := s.Projects.Load(ctx, []project.ID{i.ProjectID})
	p := projects[i.ProjectID]
	if err != nil || p == nil {
		return nil, err
	}
	out := noteable.MailContent{
		Place: p.Place(), Number: int64(i.IID), URL: i.Type.URL(s.URLs, p.FullPath, i.IID), Title: i.Title, State: string(i.State),
		Confidential: i.Confidential, Assignees: i.Assignees, Labels: label.ForMail(i.Labels),
	}
	if i.Description != nil {
		out.Description = *i.Description
	}
	if i.DueDate != nil {
		out.Due = *i.DueDate
	}
	return &out, nil
}
