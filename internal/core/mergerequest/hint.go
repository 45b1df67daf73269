package mergerequest

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// PushHint gives what a person reads who pushed branches of a project: where each one's
// open request is, or where to open one (facts-3 §31.2). It is empty where the project
// takes no requests from the actor.
func (s *Service) PushHint(ctx context.Context, as authz.Actor, p *project.Project, branches []string) (string, error) {
	may, err := s.policy.Can(ctx, as, authz.CreateMergeRequestFrom, p.Subject())
	if err != nil || !may || p.Features[authz.MergeRequests] == authz.FeatureDisabled {
		return "", err
	}
	marks, args := db.Marks(branches)
	type row struct {
		Branch string `db:"source_branch"`
		IID    IID    `db:"iid"`
	}
	rows, err := db.Select[row](ctx, s.db, `SELECT source_branch, iid FROM merge_requests
		WHERE source_project_id = ? AND target_project_id = ? AND state = 'opened' AND source_branch IN (`+marks+`)
		ORDER BY id`, append([]any{p.ID, p.ID}, args...)...)
	if err != nil {
		return "", fmt.Errorf("requests of pushed branches: %w", err)
	}
	open := make(map[string]IID, len(rows))
	for _, r := range rows {
		open[r.Branch] = r.IID
	}
	var out strings.Builder
	base := s.baseURL + "/" + p.FullPath + "/-/merge_requests/"
	for _, branch := range branches {
		if iid, ok := open[branch]; ok {
			fmt.Fprintf(&out, "\nView merge request for %s:\n  %s%d\n", branch, base, iid)
			continue
		}
		query := url.Values{"merge_request[source_branch]": {branch}}
		fmt.Fprintf(&out, "\nTo create a merge request for %s, visit:\n  %snew?%s\n", branch, base, query.Encode())
	}
	out.WriteString("\n")
	return out.String(), nil
}
