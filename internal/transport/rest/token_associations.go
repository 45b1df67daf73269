package rest

import (
	"context"

	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/transport/rest/api"
)

// associatedGroup is a group as the holder of a token sees that it is reached.
type associatedGroup struct {
	ID             namespace.ID  `json:"id"`
	WebURL         string        `json:"web_url"`
	Name           string        `json:"name"`
	ParentID       *namespace.ID `json:"parent_id"`
	OrganizationID int64         `json:"organization_id"`
	Level          authz.Level   `json:"access_levels"`
	Visibility     string        `json:"visibility"`
}

// associatedProject is the same for a project.
type associatedProject struct {
	ID                project.ID       `json:"id"`
	Description       *string          `json:"description"`
	Name              string           `json:"name"`
	NameWithNamespace string           `json:"name_with_namespace"`
	Path              string           `json:"path"`
	PathWithNamespace string           `json:"path_with_namespace"`
	CreatedAt         api.Time         `json:"created_at"`
	Levels            associatedLevels `json:"access_levels"`
	Visibility        string           `json:"visibility"`
	WebURL            string           `json:"web_url"`
	Namespace         projectNamespace `json:"namespace"`
}

type associatedLevels struct {
	Project *authz.Level `json:"project_access_level"`
	Group   *authz.Level `json:"group_access_level"`
}

type tokenAssociationsEntity struct {
	Groups   []associatedGroup   `json:"groups"`
	Projects []associatedProject `json:"projects"`
}

type tokenAssociationsParams struct {
	api.Page
	MinLevel int `param:"min_access_level" default:"10" values:"5,10,15,20,25,30,40,50" doc:"Minimum access level of the token's user"`
}

// tokenAssociations returns one page of the groups and the same of the projects.
func (s *Server) tokenAssociations(ctx context.Context, as authz.Actor, p tokenAssociationsParams) (tokenAssociationsEntity, error) {
	out := tokenAssociationsEntity{Groups: []associatedGroup{}, Projects: []associatedProject{}}
	if p.Keyset() { // two lists at once have no cursor
		return out, api.NoKeyset()
	}
	part := p.Range()
	part.Uncounted = true
	if _, err := s.Tokens.Own(ctx, as); err != nil {
		return out, err
	}
	least := authz.Level(p.MinLevel)
	groups, err := s.Namespaces.List(ctx, as, namespace.GroupFilter{MinLevel: least, Levels: true, Part: true, OrderBy: "id", Range: part})
	if err != nil {
		return out, err
	}
	for i := range groups.Items {
		g := &groups.Items[i]
		out.Groups = append(out.Groups, associatedGroup{
			ID: g.ID, WebURL: s.URLs.Group(g.FullPath), Name: g.Name, ParentID: g.ParentID, OrganizationID: 1, Level: g.Level,
			Visibility: g.Visibility.String(),
		})
	}
	projects, err := s.Projects.List(ctx, as, project.Filter{MinLevel: least, Part: true, Asc: true, Range: part})
	if err != nil {
		return out, err
	}
	places, twins := make([]namespace.ID, len(projects.Items)), make([]namespace.ID, len(projects.Items))
	for i, found := range projects.Items {
		places[i], twins[i] = found.ParentID, found.NamespaceID
	}
	parents, owners, err := s.Projects.Parents(ctx, places)
	if err != nil {
		return out, err
	}
	direct, above, err := s.Namespaces.Direct(ctx, as, twins)
	if err != nil {
		return out, err
	}
	for _, found := range projects.Items {
		e := associatedProject{
			ID: found.ID, Description: found.Description, Name: found.Name, NameWithNamespace: found.FullName, Path: found.Path,
			PathWithNamespace: found.FullPath, CreatedAt: api.Time(found.CreatedAt.Time), Visibility: found.Visibility.String(),
			WebURL: s.URLs.Project(found.FullPath), Levels: associatedLevels{direct[found.NamespaceID].Level.OrNil(), above[found.NamespaceID].Level.OrNil()},
		}
		if parent := parents[found.ParentID]; parent != nil {
			e.Namespace = s.projectNamespace(parent, ownerOf(parent, owners))
		}
		out.Projects = append(out.Projects, e)
	}
	return out, nil
}

// ownerOf returns the user that a personal namespace belongs to, nil for groups.
func ownerOf(n *namespace.Namespace, users map[authz.UserID]*account.Summary) *account.Summary {
	if n.OwnerID == nil {
		return nil
	}
	return users[*n.OwnerID]
}
