package rest

import (
	"context"
	"net/http"

	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/epic"
	"tenon/internal/core/issue"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("epics", (*Server).epicIssueRoutes)

func (s *Server) epicIssueRoutes() []*api.Route {
	const path = "/groups/:id/epics/:epic_iid/issues"
	return api.Scoped(nil,
		api.Get(path, s.epicIssues).Doc("List the issues of an epic").Public().Needs(authz.ReadEpic),
		api.Post(path+"/:issue_id", s.addEpicIssue).Doc("Assign an issue to an epic").Needs(authz.ReadEpic, authz.LinkEpic, authz.LinkIssue),
		api.Put(path+"/:epic_issue_id", s.reorderEpicIssue).Timed().Doc("Reorder an issue of an epic").Needs(authz.ReadEpic, authz.LinkEpic),
		api.Delete(path+"/:epic_issue_id", s.removeEpicIssue).Timed().Doc("Remove an issue from an epic").
			Status(http.StatusOK).Needs(authz.ReadEpic, authz.LinkEpic, authz.LinkIssue),
	)
}

// issueEpic is the epic of an issue.
type issueEpic struct {
	ID      int64             `json:"id"`
	IID     int64             `json:"iid"`
	Title   string            `json:"title"`
	URL     string            `json:"url"` // path of its page
	GroupID authz.NamespaceID `json:"group_id"`
}

// epicOf is the epic of an issue, nil for none.
func (s *Server) epicOf(i *issue.Issue) *issueEpic {
	if i.Epic == nil {
		return nil
	}
	return &issueEpic{ID: i.Epic.ID, IID: i.Epic.IID, Title: i.Epic.Title, URL: s.URLs.EpicPath(i.Epic.Path, i.Epic.IID), GroupID: i.Epic.GroupID}
}

// epicIssue is an issue in the epic that was asked about.
type epicIssue struct {
	issueEntity
	LinkID   int64 `json:"epic_issue_id"`
	Position int64 `json:"relative_position"`
}

// epicMember is an issue in an epic, by its own id.
type epicMember struct {
	ID    epic.LinkID `json:"id"`
	Epic  epicEntity  `json:"epic"`
	Issue issueEntity `json:"issue"`
}

type listEpicIssuesParams struct {
	epicPath
	api.Page
}

func (s *Server) epicIssues(ctx context.Context, as authz.Actor, in listEpicIssuesParams) (api.List[epicIssue], error) {
	g, err := s.Namespaces.Find(ctx, as, in.ID)
	if err != nil {
		return api.List[epicIssue]{}, err
	}
	return s.issuesOfEpic(ctx, as, g, in.IID, in.Range())
}

func (s *Server) issuesOfEpic(ctx context.Context, as authz.Actor, g *namespace.Group, iid epic.IID, r page.Range) (api.List[epicIssue], error) {
	var none api.List[epicIssue]
	list, err := s.Epics.Issues(ctx, as, g, iid, r)
	if err != nil {
		return none, err
	}
	entities, err := s.issueEntities(ctx, as, list.Items, issueShape{from: g.FullPath}, issue.ViewOptions{})
	if err != nil {
		return none, err
	}
	links := make(map[issue.ID]*issue.Epic, len(list.Items))
	for i := range list.Items {
		links[list.Items[i].ID] = list.Items[i].Epic
	}
	out := make([]epicIssue, len(entities))
	for i, e := range entities {
		if out[i].issueEntity = e; links[e.ID] != nil {
			out[i].LinkID, out[i].Position = links[e.ID].LinkID, links[e.ID].Position
		}
	}
	return api.Listed(list, out), nil
}

// oneMember renders an issue in an epic that its caller has just put there or taken out.
func (s *Server) oneMember(ctx context.Context, as authz.Actor, g *namespace.Group, m *epic.Member, err error) (epicMember, error) {
	if err != nil {
		return epicMember{}, err
	}
	e, err := s.oneEpic(ctx, as, g, m.Epic, nil)
	if err != nil {
		return epicMember{}, err
	}
	projects, err := s.Projects.ByIDs(ctx, as, []project.ID{m.Issue.ProjectID})
	if err != nil {
		return epicMember{}, err
	}
	i, err := s.oneIssue(ctx, as, projects[m.Issue.ProjectID], m.Issue, nil)
	return epicMember{ID: m.ID, Epic: e, Issue: i}, err
}

type addEpicIssueParams struct {
	epicPath
	Issue issue.ID `param:"issue_id,required" doc:"ID of the issue"`
}

func (s *Server) addEpicIssue(ctx context.Context, as authz.Actor, in addEpicIssueParams) (epicMember, error) {
	g, err := s.Namespaces.Find(ctx, as, in.ID)
	if err != nil {
		return epicMember{}, err
	}
	m, err := s.Epics.AddIssue(ctx, as, g, in.IID, in.Issue)
	return s.oneMember(ctx, as, g, m, err)
}

type epicIssuePath struct {
	epicPath
	Link epic.LinkID `param:"epic_issue_id,required" doc:"ID of the issue in the epic"`
}

type reorderEpicIssueParams struct {
	epicIssuePath
	Before epic.LinkID `param:"move_before_id" doc:"ID of the issue in the epic that comes before it"`
	After  epic.LinkID `param:"move_after_id" doc:"ID of the issue in the epic that comes after it"`
	api.Page
}

func (s *Server) reorderEpicIssue(ctx context.Context, as authz.Actor, in reorderEpicIssueParams) (api.List[epicIssue], error) {
	g, err := s.Namespaces.Find(ctx, as, in.ID)
	if err == nil {
		err = s.Epics.ReorderIssue(ctx, as, g, in.IID, in.Link, epic.Beside[epic.LinkID]{Before: in.Before, After: in.After})
	}
	if err != nil {
		return api.List[epicIssue]{}, err
	}
	return s.issuesOfEpic(ctx, as, g, in.IID, in.Range())
}

func (s *Server) removeEpicIssue(ctx context.Context, as authz.Actor, in epicIssuePath) (epicMember, error) {
	g, err := s.Namespaces.Find(ctx, as, in.ID)
	if err != nil {
		return epicMember{}, err
	}
	m, err := s.Epics.RemoveIssue(ctx, as, g, in.IID, in.Link)
	return s.oneMember(ctx, as, g, m, err)
}
