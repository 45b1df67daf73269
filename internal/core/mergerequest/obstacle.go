package mergerequest

import (
	"context"
	"fmt"

	"tenon/internal/core/project"
)

// Requirement is something outside of this package that a merge waits for.
type Requirement interface {
	// Unmet tells which of some open merge requests it keeps from being merged. It
	// reads in the transaction of ctx where there is one. Projects has those of all requests.
	Unmet(ctx context.Context, page []*MergeRequest, projects map[project.ID]*project.Project) (map[ID]Obstacle, error)
}

// Obstacle says how a requirement keeps a merge request from being merged.
type Obstacle struct {
	Condition ConditionName
	Status    string   // in the words of detailed_merge_status
	Reason    string   // what the refusal of a merge says
	Names     []string // of what it waits for; empty where that has no names
}

// readObstacles fills Obstacles of the open requests of a page.
func (s *Service) readObstacles(ctx context.Context, page []*MergeRequest, projects map[project.ID]*project.Project) error {
	var open []*MergeRequest
	for _, m := range page {
		m.Obstacles = nil
		if (m.State == StateOpened || m.State == StateLocked) && projects[m.ProjectID] != nil {
			open = append(open, m)
		}
	}
	if len(open) == 0 {
		return nil
	}
	for _, c := range s.above.Requirements {
		unmet, err := c.Unmet(ctx, open, projects)
		if err != nil {
			return fmt.Errorf("requirements of a merge: %w", err)
		}
		for _, m := range open {
			if o, ok := unmet[m.ID]; ok {
				m.Obstacles = append(m.Obstacles, o)
			}
		}
	}
	return nil
}

// obstacle returns what is in the way of a condition, the zero value for nothing.
func (m *MergeRequest) obstacle(name ConditionName) Obstacle {
	for _, o := range m.Obstacles {
		if o.Condition == name {
			return o
		}
	}
	return Obstacle{}
}

// readObstacle is readObstacles for one request of p that has changed meanwhile, and counts
// what blocks it.
func (s *Service) readObstacle(ctx context.Context, p *project.Project, m *MergeRequest) error {
	m.Unruled = false // as far as is known
	if err := s.readBlockers(ctx, m); err != nil {
		return err
	}
	return s.readObstacles(ctx, []*MergeRequest{m}, map[project.ID]*project.Project{p.ID: p})
}
