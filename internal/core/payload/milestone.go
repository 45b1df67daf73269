package payload

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/milestone"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
)

// MilestoneBody is the body about a milestone.
type MilestoneBody struct {
	Kind       string              `json:"object_kind"`
	Event      string              `json:"event_type"`
	Project    *ProjectBlock       `json:"project,omitempty"` // of the milestone of a project
	Group      *GroupBlock         `json:"group,omitempty"`   // of that of a group
	Attributes MilestoneAttributes `json:"object_attributes"`
	Action     string              `json:"action"` // create, close, reopen or delete
}

// MilestoneAttributes are those of a milestone.
type MilestoneAttributes struct {
	ID          milestone.ID       `json:"id"`
	IID         milestone.IID      `json:"iid"`
	Title       string             `json:"title"`
	Description *string            `json:"description"`
	State       milestone.State    `json:"state"`
	CreatedAt   string             `json:"created_at"`
	UpdatedAt   string             `json:"updated_at"`
	DueDate     *string            `json:"due_date"`
	StartDate   *string            `json:"start_date"`
	GroupID     *authz.NamespaceID `json:"group_id"`
	ProjectID   *project.ID        `json:"project_id"`
}

// GroupBlock is a group.
type GroupBlock struct {
	Name     string            `json:"group_name"`
	Path     string            `json:"group_path"`
	ID       authz.NamespaceID `json:"group_id"`
	FullPath string            `json:"full_path"`
}

// group reads a group, nil where it no longer exists.
func (s *Service) group(ctx context.Context, id authz.NamespaceID) (*GroupBlock, error) {
	found, err := s.Namespaces.Load(ctx, []namespace.ID{id})
	g := found[id]
	if err != nil || g == nil {
		return nil, err
	}
	return &GroupBlock{g.Name, g.Path, g.ID, g.FullPath}, nil
}

// Milestone builds the body about a milestone of p, or of a group where p is nil. It is nil where the group no longer exists.
func (s *Service) Milestone(ctx context.Context, p *project.Project, m *milestone.Milestone, action string) (*MilestoneBody, error) {
	out := &MilestoneBody{
		Kind: "milestone", Event: "milestone", Action: action,
		Attributes: MilestoneAttributes{
			ID: m.ID, IID: m.IID, Title: m.Title, Description: m.Description, State: m.State, CreatedAt: Stamp(m.CreatedAt), UpdatedAt: Stamp(m.UpdatedAt),
			DueDate: m.DueDate, StartDate: m.StartDate,
		},
	}
	if p == nil {
		g, err := s.group(ctx, m.NamespaceID)
		if err != nil || g == nil {
			return nil, err
		}
		out.Group, out.Attributes.GroupID = g, &m.NamespaceID
		return out, nil
	}
	block, err := s.projectBlock(ctx, p)
	if err != nil {
		return nil, err
	}
	out.Project, out.Attributes.ProjectID, out.Attributes.Description = block, &p.ID, s.images(s.URLs.Project(p.FullPath), m.Description)
	return out, nil
}
