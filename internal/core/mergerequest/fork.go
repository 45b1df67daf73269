package mergerequest

import (
	"context"
	"errors"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

var errNotForked = errs.Sentences(errs.Unprocessable, "Source project is not a fork of the target project")

// requireRelated checks that a request can go from source, nil where it is gone, to p.
func requireRelated(source, p *project.Project) error {
	if source == nil || !project.Related(source, p) {
		return errNotForked
	}
	return nil
}

// collaborates reports whether those who may merge a request may be let into its source
// branch: it is in a fork that others see as well, and no rule protects it.
func (s *Service) collaborates(ctx context.Context, as authz.Actor, source, p *project.Project, branch string) (bool, error) {
	if source == nil || source.ID == p.ID || source.Visibility == authz.Private || p.Visibility == authz.Private {
		return false, nil
	}
	access, err := s.Protections.BranchAccess(ctx, as, source, branch)
	return access.Push && !access.Protected, err
}

// maxCollaborations bounds the requests that are looked through for a push by a user
// who is no member.
const maxCollaborations = 500

// Collaborations returns the branches of a project that the actor may push to although
// not a member: those of open requests into other projects of the network whose authors
// allow it, and which the actor may merge.
func (s *Service) Collaborations(ctx context.Context, as authz.Actor, source *project.Project) (map[string]bool, error) {
	if !as.SignedIn() || source.Subject().Closed || source.Visibility == authz.Private {
		return nil, nil
	}
	may, err := s.Policy.Can(ctx, as, authz.ReadCode, source.Subject())
	if err != nil || !may {
		return nil, err
	}
	rows, err := s.rows(ctx, ` WHERE m.source_project_id = ? AND m.target_project_id <> ? AND m.state = 'opened' AND m.allow_collaboration
		ORDER BY m.id DESC LIMIT ?`, source.ID, source.ID, maxCollaborations)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	targets, err := s.Projects.Load(ctx, projectsOf(rows))
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	type into struct {
		project project.ID
		branch  string
	}
	known := map[into]bool{}
	for _, m := range rows {
		p, at := targets[m.ProjectID], into{m.ProjectID, m.TargetBranch}
		if p == nil || p.Visibility == authz.Private || !project.Related(source, p) {
			continue
		}
		merges, asked := known[at]
		if !asked {
			if merges, err = s.CanMerge(ctx, as, p, m); err != nil {
				return nil, err
			}
			known[at] = merges
		}
		if merges {
			out[m.SourceBranch] = true
		}
	}
	return out, nil
}

// OnUnforked closes the open requests between a project that has left its network and the
// other projects in it.
func (s *Service) OnUnforked(ctx context.Context, e project.Unforked) error {
	cond, args := "m.source_project_id = ? AND m.target_project_id <> ?", []any{e.Row().ID, e.Row().ID}
	if !e.Deleted { // those into a project that goes go with it
		cond, args = "("+cond+" OR m.target_project_id = ? AND m.source_project_id <> ?)", append(args, e.Row().ID, e.Row().ID)
	}
	rows, projects, err := s.open(ctx, cond, args...)
	if err != nil {
		return err
	}
	now := db.At(s.Now())
	var by *authz.UserID
	if e.By.SignedIn() {
		by = &e.By.UserID
	}
	for _, m := range rows {
		p := projects[m.ProjectID]
		if p == nil {
			continue
		}
		out, err := db.Update(ctx, s.DB, s.row(m.ID), func(_ context.Context, m *MergeRequest) error {
			if m.State == StateOpened {
				m.State, m.ClosedByID, m.ClosedAt, m.UpdatedAt = StateClosed, by, &now, now
			}
			return nil
		})
		if errors.Is(err, db.ErrNotFound) || err == nil && !out.Any() {
			continue
		}
		if err != nil {
			return fmt.Errorf("close requests between forks: %w", err)
		}
		f, err := s.fact(ctx, e.By, p, out)
		if err != nil {
			return err
		}
		if err := s.Bus.Publish(ctx, Closed{f}); err != nil {
			return err
		}
		if err := s.abort(ctx, e.By, p, m, abortClosed); err != nil {
			return err
		}
	}
	return nil
}

// projectsOf lists the target projects of requests, each once.
func projectsOf(rows []*MergeRequest) []project.ID {
	var ids []project.ID
	seen := map[project.ID]bool{}
	for _, m := range rows {
		if !seen[m.ProjectID] {
			seen[m.ProjectID] = true
			ids = append(ids, m.ProjectID)
		}
	}
	return ids
}
