package account

import (
	"context"
	"fmt"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
)

// Preferences are changes of what the actor likes; nil leaves alone.
type Preferences struct {
	FileByFile     *bool `db:"view_diffs_file_by_file"`
	ShowWhitespace *bool `db:"show_whitespace_in_diffs"`
	PassIdentities *bool `db:"pass_user_identities_to_ci_jwt"`
	PipelineIIDs   *bool `db:"name_pipelines_by_iid"`

	IssuesSort *string `db:"issues_sort"` // one of IssueOrders, "" takes the choice back
}

// IssueOrders are the orders in which users may want to see issues, as lists of issues name them:
// column and direction.
func IssueOrders() []string {
	out := []string{"relative_position_asc"}
	for _, by := range []string{"blocking_issues", "closed_at", "created", "due_date", "health_status", "label_priority", "milestone_due", "popularity", "priority", "severity", "title", "updated", "weight"} {
		out = append(out, by+"_asc", by+"_desc")
	}
	return out
}

// Prefer changes the actor's own preferences and returns the account.
func (s *Service) Prefer(ctx context.Context, as authz.Actor, p Preferences) (*User, error) {
	if err := s.Policy.Require(ctx, as, authz.UpdateOwnUser, authz.Subject{}); err != nil {
		return nil, err
	}
	var f errs.Fields
	f.Check(p.IssuesSort == nil || *p.IssuesSort == "" || slices.Contains(IssueOrders(), *p.IssuesSort), "issues_sort", "is not an order of issues")
	if err := f.Err(); err != nil {
		return nil, err
	}
	row := s.userAt(as.UserID)
	row.Now = nil
	_, err := db.Update(ctx, s.DB, row.Provided(as.UnmodifiedAt), func(_ context.Context, u *userRow) error {
		db.Assign(u, &p)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("change preferences: %w", err)
	}
	return s.load(ctx, "u.id = ?", as.UserID)
}
