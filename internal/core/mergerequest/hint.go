package mergerequest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// PushHint returns what a person reads who pushed branches of a project: where each one's
// open request is, or where to open one. It is empty where the project
// takes no requests from the actor.
func (s *Service) PushHint(ctx context.Context, as authz.Actor, p *project.Project, branches []string) (string, error) {
	may, err := s.Policy.Can(ctx, as, authz.CreateMergeRequestFrom, p.Subject())
	if err != nil || !may || p.MergeRequestsAccess == authz.FeatureDisabled {
		return "", err
	}
	marks, args := db.Marks(branches)
	type row struct {
		Branch string `db:"source_branch"`
		IID    IID    `db:"iid"`
		Path   string `db:"path"` // of the target, which may be another project of the network
	}
	seen, more := s.Policy.VisibleProjectsSQL(as, "n")
	rows, err := db.Select[row](ctx, s.DB, `SELECT m.source_branch, m.iid, r.path FROM merge_requests m
		JOIN projects p ON p.id = m.target_project_id JOIN namespaces n ON n.id = p.namespace_id
		JOIN routes r ON r.namespace_id = p.namespace_id
		WHERE m.source_project_id = ? AND m.state = 'opened' AND m.source_branch IN (`+marks+`) AND `+seen+`
		ORDER BY m.id`, slices.Concat([]any{p.ID}, args, more)...)
	if err != nil {
		return "", fmt.Errorf("requests of pushed branches: %w", err)
	}
	open := make(map[string]row, len(rows))
	for _, r := range rows {
		open[r.Branch] = r
	}
	var out strings.Builder
	for _, branch := range branches {
		if r, ok := open[branch]; ok {
			fmt.Fprintf(&out, "\nView merge request for %s:\n  %s\n", branch, s.URLs.MergeRequest(r.Path, int64(r.IID)))
			continue
		}
		fmt.Fprintf(&out, "\nTo create a merge request for %s, visit:\n  %s\n", branch, s.URLs.NewMergeRequest(p.FullPath, branch))
	}
	out.WriteString("\n")
	return out.String(), nil
}
