package rest

import (
	"context"
	"net/http"

	"tenon/internal/core/authz"
	"tenon/internal/core/issue"
	"tenon/internal/core/project"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("issue links", (*Server).issueLinkRoutes)

func (s *Server) issueLinkRoutes() []*api.Route {
	const path = "/projects/:id/issues/:issue_iid/links"
	return api.Scoped(nil,
		api.Get(path, s.issueLinks).Doc("List issue links").Public().Needs(authz.ReadIssue),
		api.Post(path, s.createIssueLink).Doc("Create an issue link").Needs(authz.LinkIssue, authz.ReadIssue),
		api.Get(path+"/:issue_link_id", s.issueLink).Doc("Get an issue link").Public().Needs(authz.ReadIssue),
		api.Delete(path+"/:issue_link_id", s.deleteIssueLink).Timed().Doc("Delete an issue link").
			Status(http.StatusOK).Needs(authz.LinkIssue, authz.ReadIssue),
	)
}

// relatedIssue is an issue that is linked with the one that was asked about.
type relatedIssue struct {
	issueEntity
	LinkID        issue.LinkID   `json:"issue_link_id"`
	LinkType      issue.LinkType `json:"link_type"`
	LinkCreatedAt api.Time       `json:"link_created_at"`
	LinkUpdatedAt api.Time       `json:"link_updated_at"`
}

type issueLinkEntity struct {
	ID     issue.LinkID   `json:"id"`
	Source issueEntity    `json:"source_issue"`
	Target issueEntity    `json:"target_issue"`
	Type   issue.LinkType `json:"link_type"`
}

// linkedEntities renders issues of any projects, each in its place; one whose project is gone
// by now is left out.
func (s *Server) linkedEntities(ctx context.Context, as authz.Actor, from *project.Project, issues ...issue.Issue) (map[issue.ID]issueEntity, error) {
	list, err := s.issueEntities(ctx, as, issues, issueShape{from: from.FullPath}, issue.ViewOptions{})
	if err != nil {
		return nil, err
	}
	out := make(map[issue.ID]issueEntity, len(list))
	for _, e := range list {
		out[e.ID] = e
	}
	return out, nil
}

func (s *Server) issueLinks(ctx context.Context, as authz.Actor, in issuePath) ([]relatedIssue, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	links, err := s.Issues.Links(ctx, as, p, in.IID)
	if err != nil {
		return nil, err
	}
	others := make([]issue.Issue, len(links))
	for i, l := range links {
		others[i] = *l.Target
	}
	entities, err := s.linkedEntities(ctx, as, p, others...)
	if err != nil {
		return nil, err
	}
	out := make([]relatedIssue, 0, len(links))
	for _, l := range links {
		if e, ok := entities[l.Target.ID]; ok {
			out = append(out, relatedIssue{
				issueEntity: e, LinkID: l.ID, LinkType: l.Type, LinkCreatedAt: api.Time(l.CreatedAt), LinkUpdatedAt: api.Time(l.UpdatedAt),
			})
		}
	}
	return out, nil
}

// oneLink renders a link that its caller has just read or written.
func (s *Server) oneLink(ctx context.Context, as authz.Actor, p *project.Project, l *issue.Link, err error) (issueLinkEntity, error) {
	if err != nil {
		return issueLinkEntity{}, err
	}
	both, err := s.linkedEntities(ctx, as, p, *l.Source, *l.Target)
	return issueLinkEntity{ID: l.ID, Source: both[l.Source.ID], Target: both[l.Target.ID], Type: l.Type}, err
}

type createIssueLinkParams struct {
	issuePath
	TargetProject string         `param:"target_project_id,required" doc:"ID or path of the project of the other issue; null for the same project"`
	TargetIID     issue.IID      `param:"target_issue_iid,required" doc:"Internal ID of the other issue"`
	Type          issue.LinkType `param:"link_type" values:"relates_to,blocks,is_blocked_by" default:"relates_to" doc:"relates_to, blocks or is_blocked_by"`
}

func (s *Server) createIssueLink(ctx context.Context, as authz.Actor, in createIssueLinkParams) (issueLinkEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return issueLinkEntity{}, err
	}
	other := issue.Other{Project: in.TargetProject, IID: in.TargetIID}
	if other.Project == "" {
		other.Project = in.ID
	}
	l, err := s.Issues.Link(ctx, as, p, in.IID, other, in.Type)
	return s.oneLink(ctx, as, p, l, err)
}

type issueLinkPath struct {
	issuePath
	LinkID issue.LinkID `param:"issue_link_id,required" doc:"ID of the issue link"`
}

func (s *Server) issueLink(ctx context.Context, as authz.Actor, in issueLinkPath) (issueLinkEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return issueLinkEntity{}, err
	}
	l, err := s.Issues.FindLink(ctx, as, p, in.IID, in.LinkID)
	return s.oneLink(ctx, as, p, l, err)
}

func (s *Server) deleteIssueLink(ctx context.Context, as authz.Actor, in issueLinkPath) (issueLinkEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return issueLinkEntity{}, err
	}
	l, err := s.Issues.Unlink(ctx, as, p, in.IID, in.LinkID)
	return s.oneLink(ctx, as, p, l, err)
}

type moveIssueParams struct {
	issuePath
	To project.ID `param:"to_project_id,required" doc:"ID of the project to move to"`
}

func (s *Server) moveIssue(ctx context.Context, as authz.Actor, in moveIssueParams) (issueEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return issueEntity{}, err
	}
	i, to, err := s.Issues.Move(ctx, as, p, in.IID, in.To)
	return s.oneIssue(ctx, as, to, i, err)
}

type cloneIssueParams struct {
	moveIssueParams
	WithNotes bool `param:"with_notes" default:"false" doc:"Clone the notes as well"`
}

func (s *Server) cloneIssue(ctx context.Context, as authz.Actor, in cloneIssueParams) (issueEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return issueEntity{}, err
	}
	i, to, err := s.Issues.Clone(ctx, as, p, in.IID, in.To, issue.Copy{Notes: in.WithNotes})
	return s.oneIssue(ctx, as, to, i, err)
}
