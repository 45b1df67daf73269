package issue

import (
	"context"
	"fmt"

	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// Permissions is what an actor may do with an issue that it may read.
type Permissions struct {
	Update   bool // its text and its state
	Metadata bool // all of it
	Link     bool // with other issues and with epics
	Delete   bool
	Comment  bool
}

// Permissions tells what the actor may do with those of the issues with these ids that it may read. It
// takes the statements of ByIDs, and one for the projects.
func (s *Service) Permissions(ctx context.Context, as authz.Actor, ids []ID) (map[ID]Permissions, error) {
	found, err := s.ByIDs(ctx, as, ids)
	if err != nil {
		return nil, err
	}
	var projects []project.ID
	for _, i := range found {
		projects = append(projects, i.ProjectID)
	}
	places, err := s.Projects.ByIDs(ctx, as, projects)
	if err != nil {
		return nil, fmt.Errorf("permissions of issues: %w", err)
	}
	out := make(map[ID]Permissions, len(found))
	for id, i := range found {
		p := places[i.ProjectID]
		if p == nil {
			continue
		}
		var may Permissions
		subject := i.subject(as, p)
		for ability, to := range map[authz.Ability]*bool{
			authz.UpdateIssue: &may.Update, authz.SetIssueMetadata: &may.Metadata, authz.LinkIssue: &may.Link, authz.DeleteIssue: &may.Delete, authz.CreateNote: &may.Comment,
		} {
			if *to, err = s.Policy.Can(ctx, as, ability, subject); err != nil {
				return nil, err
			}
		}
		if may.Comment && i.Locked() {
			if may.Comment, err = s.Policy.Can(ctx, as, authz.CreateNoteLocked, subject); err != nil {
				return nil, err
			}
		}
		out[id] = may
	}
	return out, nil
}
