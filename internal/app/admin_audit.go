package app

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"tenon/internal/base/page"
	"tenon/internal/core/audit"
	"tenon/internal/core/authz"
)

// AuditInput selects audit events.
type AuditInput struct {
	EntityType string     `json:"entity_type"` // User, Group or Project; "" for all
	EntityID   *int64     `json:"entity_id"`
	After      *time.Time `json:"after"` // inclusive, as the next
	Before     *time.Time `json:"before"`
	Limit      int        `json:"limit"` // 0 for all
}

// AuditExported is how many audit events were written.
type AuditExported struct {
	Events int64 `json:"events"`
}

// adminAuditExport writes audit events as lines of JSON, the newest first.
func (a *App) adminAuditExport(ctx context.Context, in AuditInput, out io.Writer, tell func(string)) (AuditExported, error) {
	tell("on " + a.Target())
	var done AuditExported
	w := bufio.NewWriter(out)
	lines := json.NewEncoder(w)
	lines.SetEscapeHTML(false)
	shown := progress{tell: tell}
	all := int64(0) // the first id, which is the largest: there are hardly fewer events than that
	err := a.core.Audit.Each(ctx, authz.System(), audit.Filter{
		EntityType: in.EntityType, EntityID: in.EntityID, CreatedAfter: in.After, CreatedBefore: in.Before, Range: page.Range{Limit: in.Limit},
	}, func(v audit.View) error {
		all = max(all, int64(v.ID))
		done.Events++
		shown.line(all-int64(v.ID), all, "%d audit events", done.Events)
		return lines.Encode(v)
	})
	if err != nil {
		return done, fmt.Errorf("export audit events: %w", err)
	}
	return done, w.Flush()
}

// AuditSeal is a seal of an earlier run, "" for none.
type AuditSeal struct {
	Seal string `json:"seal"`
}

func (a *App) adminAuditVerify(ctx context.Context, in AuditSeal, tell func(string)) (audit.Report, error) {
	shown := progress{tell: tell}
	return a.core.Audit.Verify(ctx, authz.System(), in.Seal, func(done, all int64) { shown.line(done, all, "%d of %d audit events", done, all) })
}
