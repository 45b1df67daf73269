package rest

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/milestone"
	"tenon/internal/core/project"
	"tenon/internal/transport/rest/api"
)

// milestoneEntity is a milestone of a project or group.
type milestoneEntity struct {
	ID          milestone.ID       `json:"id"`
	IID         milestone.IID      `json:"iid"`
	ProjectID   *project.ID        `json:"project_id,omitempty"` // this or the next
	GroupID     *authz.NamespaceID `json:"group_id,omitempty"`
	Title       string             `json:"title"`
	Description *string            `json:"description"`
	State       milestone.State    `json:"state"`
	CreatedAt   api.Time           `json:"created_at"`
	UpdatedAt   api.Time           `json:"updated_at"`
	DueDate     *string            `json:"due_date"`
	StartDate   *string            `json:"start_date"`
	Expired     bool               `json:"expired"`
	WebURL      string             `json:"web_url"`
}

// milestoneOf renders a milestone, nil for nil.
func (s *Server) milestoneOf(m *milestone.Milestone) *milestoneEntity {
	if m == nil {
		return nil
	}
	e := milestoneEntity{
		ID: m.ID, IID: m.IID, ProjectID: m.ProjectID, Title: m.Title, Description: m.Description, State: m.State,
		CreatedAt: api.Time(m.CreatedAt.Time), UpdatedAt: api.Time(m.UpdatedAt.Time), DueDate: m.DueDate, StartDate: m.StartDate,
		Expired: m.Expired(s.Now()),
	}
	if m.ProjectID != nil {
		e.WebURL = s.URLs.ProjectMilestone(m.Path, int64(m.IID))
	} else {
		e.GroupID, e.WebURL = &m.NamespaceID, s.URLs.GroupMilestone(m.Path, int64(m.IID))
	}
	return &e
}

// milestonesOf renders the milestones with these ids, nil ones left out, in one look.
func (s *Server) milestonesOf(ctx context.Context, as authz.Actor, ids ...*milestone.ID) (map[milestone.ID]*milestoneEntity, error) {
	var wanted []milestone.ID
	for _, id := range ids {
		if id != nil {
			wanted = append(wanted, *id)
		}
	}
	found, err := s.Milestones.ByIDs(ctx, as, wanted)
	if err != nil {
		return nil, err
	}
	return s.milestoneEntities(found), nil
}

func (s *Server) milestoneEntities(list map[milestone.ID]*milestone.Milestone) map[milestone.ID]*milestoneEntity {
	out := make(map[milestone.ID]*milestoneEntity, len(list))
	for id, m := range list {
		out[id] = s.milestoneOf(m)
	}
	return out
}

// burndownEntity is one step of the issues of a milestone.
type burndownEntity struct {
	CreatedAt api.Time `json:"created_at"`
	Weight    *int64   `json:"weight"`
	Action    string   `json:"action"`
}
