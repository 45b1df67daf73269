package mergerequest

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/label"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
)

// MailContent returns what mails say about a merge request.
func (s *Service) MailContent(ctx context.Context, ref noteable.Ref) (*noteable.MailContent, error) {
	found, err := s.ByIDs(ctx, authz.System(), []ID{ID(ref.ID)})
	m := found[ID(ref.ID)]
	if err != nil || m == nil {
		return nil, err
	}
	projects, err := s.Projects.Load(ctx, []project.ID{m.ProjectID})
	p := projects[m.ProjectID]
	if err != nil || p == nil {
		return nil, err
	}
	return &noteable.MailContent{
		Place: p.Place(), Number: int64(m.IID), URL: s.URLs.MergeRequest(p.FullPath, int64(m.IID)), Title: m.Title, Description: m.Text(),
		State: string(m.State), Assignees: m.Assignees, Reviewers: m.ReviewerIDs(), Labels: label.ForMail(m.Labels),
	}, nil
}
