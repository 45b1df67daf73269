package rest

import (
	"context"

	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/issue"
	"tenon/internal/core/noteable"
	"tenon/internal/transport/rest/api"
)

type reorderIssueParams struct {
	issuePath
	After  issue.ID `param:"move_after_id" doc:"ID of the issue to be after"`
	Before issue.ID `param:"move_before_id" doc:"ID of the issue to be before"`
}

func (s *Server) reorderIssue(ctx context.Context, as authz.Actor, in reorderIssueParams) (issueEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return issueEntity{}, err
	}
	i, err := s.Issues.Reorder(ctx, as, p, in.IID, issue.Move{After: in.After, Before: in.Before})
	return s.oneIssue(ctx, as, p, i, err)
}

type issueListOfParams struct {
	issuePath
	api.Page
}

func (s *Server) issueParticipants(ctx context.Context, as authz.Actor, in issueListOfParams) (api.List[userBasic], error) {
	var none api.List[userBasic]
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return none, err
	}
	i, err := s.Issues.Find(ctx, as, p, in.IID)
	if err != nil {
		return none, err
	}
	return s.participants(ctx, as, noteable.Ref{Kind: noteable.Issue, ID: int64(i.ID)}, p.Subject(), in.Range())
}

// participants lists who takes part in an issue or merge request that was read for the actor.
func (s *Server) participants(ctx context.Context, as authz.Actor, of noteable.Ref, in authz.Subject, r page.Range) (api.List[userBasic], error) {
	var none api.List[userBasic]
	ids, err := s.Subscriptions.Participants(ctx, as, of, in, r)
	if err != nil {
		return none, err
	}
	people, err := s.Accounts.ByIDs(ctx, ids.Items)
	if err != nil {
		return none, err
	}
	out := make([]userBasic, 0, len(ids.Items))
	for _, id := range ids.Items {
		if u := people[id]; u != nil {
			out = append(out, newUserBasic(u))
		}
	}
	return api.Listed(ids, out), nil
}

type userAgentDetail struct {
	UserAgent string `json:"user_agent"`
	Address   string `json:"ip_address"`
	Submitted bool   `json:"akismet_submitted"` // always false: nothing is sent to a spam filter
}

func (s *Server) issueUserAgent(ctx context.Context, as authz.Actor, in issuePath) (userAgentDetail, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return userAgentDetail{}, err
	}
	agent, address, err := s.Issues.UserAgent(ctx, as, p, in.IID)
	return userAgentDetail{UserAgent: agent, Address: address}, err
}
