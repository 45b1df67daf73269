package graphql

import (
	"context"
	"strings"
	"time"

	"tenon/internal/base/errs"
	"tenon/internal/core"
	"tenon/internal/core/authz"
	"tenon/internal/core/deploy"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/core/stats"
	"tenon/internal/transport/graphql/exec"
)

// doraOf is a project or group whose DORA metrics are asked for.
type doraOf struct{ at authz.Place }

// doraArgs select a metric.
type doraArgs struct {
	Metric             string
	StartDate, EndDate *string
	Interval           *string
	EnvironmentTier    *string
	EnvironmentTiers   []string
}

func (a *doraArgs) query() stats.Query {
	q := stats.Query{
		Metric: stats.Metric(strings.ToLower(a.Metric)), Interval: stats.Daily, Start: midnight(a.StartDate), End: midnight(a.EndDate), Tiers: lower[deploy.Tier](a.EnvironmentTiers),
	}
	if a.Interval != nil {
		q.Interval = stats.Interval(strings.ToLower(*a.Interval))
	}
	if a.EnvironmentTier != nil {
		q.Tiers = append(q.Tiers, deploy.Tier(strings.ToLower(*a.EnvironmentTier)))
	}
	return q
}

// midnight is when a day begins, zero for none.
func midnight(day *string) time.Time {
	at, err := time.Parse(time.DateOnly, zeroOr(day))
	if err != nil {
		return time.Time{}
	}
	return at
}

// dora binds the DORA metrics of projects and groups.
func (b *binder) dora() {
	doraIn(b, "Project", (*project.Project).Place)
	doraIn(b, "Group", (*namespace.Group).Place)
	exec.Batch(b.Schema, "Dora.metrics", func(ctx context.Context, c *exec.Call[doraArgs], of []*doraOf) ([][]stats.Point, error) {
		return forEach(ctx, b, c, of, func(ctx context.Context, d *doraOf) ([]stats.Point, error) {
			list, err := core.Part[*stats.Service](b.Services).DORA(ctx, c.As, d.at, c.Args.query())
			if errs.Is(err, errs.Invalid) || errs.Is(err, errs.BadRequest) {
				err = argumentError(err.Error())
			}
			return list, err
		})
	}, exec.Costly)
	value(b, "DoraMetric.date", func(p stats.Point) *string {
		if p.Date == nil {
			return nil
		}
		return new(p.Date.Format(time.DateOnly))
	})
	value(b, "DoraMetric.value", func(p stats.Point) *float64 { return p.Value })
}

// doraIn binds the DORA metrics of a type of places.
func doraIn[P any](b *binder, typ string, place func(of P) authz.Place) {
	exec.Batch(b.Schema, typ+".dora", func(ctx context.Context, c *exec.Call[exec.None], of []P) ([]*doraOf, error) {
		return forEach(ctx, b, c, of, func(ctx context.Context, p P) (*doraOf, error) {
			at := place(p)
			if err := core.Part[*stats.Service](b.Services).Readable(ctx, c.As, at); err != nil {
				return nil, err
			}
			return &doraOf{at}, nil
		})
	})
}
