package approval

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/tree"
)

// Writers says how approvals are imported: an import approves nothing that is open, and what was approved counts once, as the importing
// user's.
func (s *Service) Writers() []tree.Writer {
	return []tree.Writer{
		tree.Write("approvals", s.importAll),
		tree.Write("approval_rules", s.importRules),
		tree.Write("approval_project_rules_protected_branches", s.importRuleBranches),
		tree.Write("approval_project_rules_users", s.importRuleUsers),
		tree.Write("approval_settings", s.importSettings),
	}
}

func (s *Service) importAll(ctx context.Context, w *tree.Writing, rows []*tree.Row[exported]) error {
	type request struct {
		ID   int64  `db:"id"`
		Head string `db:"head_sha"`
	}
	ids := make([]int64, len(rows))
	for i, r := range rows {
		ids[i] = r.Parent
	}
	var where db.Where
	where.And("state IN ('merged', 'closed')")
	where.In("id", ids)
	ended, err := db.Select[request](ctx, s.DB, "SELECT id, head_sha FROM merge_requests"+where.SQL()+" ORDER BY id", where.Args()...)
	if err != nil {
		return fmt.Errorf("approved merge requests: %w", err)
	}
	heads := make(map[int64]string, len(ended))
	for _, m := range ended {
		heads[m.ID] = m.Head
	}
	type approval struct {
		RequestID int64        `db:"merge_request_id"`
		UserID    authz.UserID `db:"user_id"`
		Head      string       `db:"head_sha"`
		CreatedAt db.Time      `db:"created_at"`
	}
	var out []approval
	for _, r := range rows {
		head, ok := heads[r.Parent]
		if !ok {
			r.Lose("an import approves nothing")
			continue
		}
		delete(heads, r.Parent)
		if head == "" {
			r.Lose("its commits are missing")
			continue
		}
		r.Change("it is the importing user's")
		out = append(out, approval{r.Parent, w.As.UserID, head, r.Value.CreatedAt})
	}
	if err := db.InsertRows(ctx, s.DB, "approvals", out, "ON CONFLICT DO NOTHING"); err != nil {
		return fmt.Errorf("insert approvals: %w", err)
	}
	return nil
}
