package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"tenon/internal/app"
	"tenon/internal/base/logging"
	"tenon/internal/core/audit"
)

// adminAudit are the commands about the audit trail.
func (f *flags) adminAudit() *cobra.Command {
	return group("audit", "The audit trail", f.auditList("list", "Print the newest audit events, one JSON object per line", 20,
		"  tenon admin audit list\n  tenon admin audit list --entity-type Project --entity-id 7 --limit 100"),
		f.auditList("export", "Print all audit events, one JSON object per line, the newest first", 0,
			"  tenon admin audit export --after 2026-01-01T00:00:00Z > audit.ndjson"), f.auditVerify())
}

func (f *flags) auditList(name, short string, limit int, example string) *cobra.Command {
	var in app.AuditInput
	var entity int64
	var after, before string
	c := &cobra.Command{
		Use: name, Short: short, Args: cobra.NoArgs, Example: example,
		RunE: func(c *cobra.Command, _ []string) error {
			if c.Flags().Changed("entity-id") {
				if in.EntityID = &entity; in.EntityType == "" {
					return usageError{errors.New("--entity-id needs --entity-type")}
				}
			}
			switch in.EntityType {
			case "", audit.User, audit.Group, audit.Project:
			default:
				return usageError{fmt.Errorf("--entity-type is User, Group or Project, not %q", in.EntityType)}
			}
			if in.Limit < 0 {
				return usageError{errors.New("--limit is 0 or more")}
			}
			for text, at := range map[*string]**time.Time{&after: &in.After, &before: &in.Before} {
				if *text == "" {
					continue
				}
				moment, err := time.Parse(time.RFC3339, *text)
				if err != nil {
					return usageError{fmt.Errorf("%q is no time such as 2026-01-31T12:00:00Z", *text)}
				}
				*at = &moment
			}
			config, err := f.load()
			if err != nil {
				return err
			}
			log := logging.New(f.progress, config.Log.Format, max(config.Log.Level, slog.LevelWarn))
			var done app.AuditExported
			err = app.Administer(c.Context(), config, log, build(), app.Order{Command: app.AdminAuditExport, Args: in, Result: &done, Out: os.Stdout, Tell: f.tell})
			f.progress.clear()
			return err
		},
	}
	c.Flags().StringVar(&in.EntityType, "entity-type", "", "only events of entities of this `type`: User, Group or Project")
	c.Flags().Int64Var(&entity, "entity-id", 0, "only events of this entity")
	c.Flags().StringVar(&after, "after", "", "only events at or after this `time`, such as 2026-01-31T12:00:00Z")
	c.Flags().StringVar(&before, "before", "", "only events at or before this `time`")
	c.Flags().IntVar(&in.Limit, "limit", limit, "events at most; 0 for all")
	return c
}

// errAudit reports a trail that is not as it was written.
var errAudit = errors.New("the audit trail is broken")

func (f *flags) auditVerify() *cobra.Command {
	var in app.AuditSeal
	c := &cobra.Command{
		Use: "verify", Short: "Look for audit events that were changed, inserted or taken away, and print the last seal", Args: cobra.NoArgs,
		Long: "Read all audit events and compare them with their seals. The last seal is printed: keep it elsewhere and give it to a later " +
			"verify, which then also finds that the whole trail was replaced. The exit code is 1 where something is broken.",
		Example: "  tenon admin audit verify\n  tenon admin audit verify --seal \"$(cat /safe/last-seal)\"",
		RunE: func(c *cobra.Command, _ []string) error {
			r, err := ask(c.Context(), f, app.AdminAuditVerify, in, printReport)
			if err == nil && !r.Valid {
				err = errAudit
			}
			return err
		},
	}
	c.Flags().StringVar(&in.Seal, "seal", "", "the `seal` that an earlier verify has printed")
	return c
}

func printReport(w io.Writer, r *audit.Report) error {
	if up := r.SealedUpTo; up != nil {
		if _, err := fmt.Fprintf(w, "sealed up to event %d of %s\nseal %s\n", up.ID, up.CreatedAt.Format(time.RFC3339), up.Seal); err != nil {
			return err
		}
	}
	b := r.FirstBroken
	switch {
	case b == nil:
		_, err := fmt.Fprintln(w, "no audit event was changed, inserted or taken away")
		return err
	case b.ID == nil:
		_, err := fmt.Fprintln(w, "broken after that event: "+b.Reason)
		return err
	}
	_, err := fmt.Fprintf(w, "broken: event %d: %s\n", *b.ID, b.Reason)
	return err
}
