package pushrule

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/project"
	"tenon/internal/core/tree"
)

// Writers says how the push rule of a project is imported. One that the project has from a group stays.
func (s *Service) Writers() []tree.Writer {
	return []tree.Writer{tree.Write("push_rule", s.importRule)}
}

func (s *Service) importRule(ctx context.Context, w *tree.Writing, rows []*tree.Row[exported]) error {
	there, err := db.Get[bool](ctx, s.DB, "SELECT EXISTS (SELECT 1 FROM push_rules WHERE project_id = ?)", w.At.ID)
	if err != nil {
		return fmt.Errorf("look for push rule: %w", err)
	}
	for _, r := range rows {
		if there {
			r.Lose("the push rule of the group stays")
			continue
		}
		v := r.Value
		rule := Rule{ProjectID: new(project.ID(w.At.ID)), CreatedAt: w.Now, UpdatedAt: w.Now, Terms: Terms{
			MessageRegex: v.MessageRegex, MessageNegative: v.MessageNegative, BranchRegex: v.BranchRegex, EmailRegex: v.EmailRegex, FileRegex: v.FileRegex,
			MaxFileSize: v.MaxFileSize, DenyDeleteTag: v.DenyDeleteTag, MemberCheck: v.MemberCheck, PreventSecrets: v.PreventSecrets, CommitterCheck: v.CommitterCheck,
			RejectUnsigned: v.RejectUnsigned, RejectWithoutDCO: v.RejectWithoutDCO,
		}}
		if err := rule.validate(); err != nil {
			r.Fail(err.Error())
			continue
		}
		if err := db.Create(ctx, s.DB, "push_rules", &rule); err != nil {
			return fmt.Errorf("insert push rule: %w", err)
		}
		there = true
	}
	return nil
}
