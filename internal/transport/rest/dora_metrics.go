package rest

import (
	"context"
	"time"

	"tenon/internal/core"
	"tenon/internal/core/authz"
	"tenon/internal/core/deploy"
	"tenon/internal/core/stats"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("dora_metrics", (*Server).doraRoutes)

func (s *Server) doraRoutes() []*api.Route {
	h := doraHandlers{s, core.Part[*stats.Service](s.Services)}
	return api.Scoped(nil,
		api.Get("/projects/:id/dora/metrics", h.ofProject).Doc("Get a DORA metric of a project").Needs(authz.ReadDORAMetrics),
		api.Get("/groups/:id/dora/metrics", h.ofGroup).Doc("Get a DORA metric of a group").Needs(authz.ReadDORAMetrics),
	)
}

type doraHandlers struct {
	server *Server
	stats  *stats.Service
}

type doraPoint struct {
	Date  *api.Date `json:"date"`
	Value *float64  `json:"value"`
}

type doraParams struct {
	Metric   string      `param:"metric,required" doc:"deployment_frequency, lead_time_for_changes, time_to_restore_service, or change_failure_rate"`
	Start    api.Date    `param:"start_date" doc:"First day, YYYY-MM-DD; defaults to three months ago"`
	End      api.Date    `param:"end_date" doc:"Last day, YYYY-MM-DD; defaults to today"`
	Interval string      `param:"interval" default:"daily" doc:"all, monthly, or daily"`
	Tier     deploy.Tier `param:"environment_tier" doc:"Deprecated: use environment_tiers"`
	Tiers    api.Strings `param:"environment_tiers" doc:"Tiers of the environments; defaults to production"`
}

// query is what the parameters select.
func (p *doraParams) query() stats.Query {
	out := stats.Query{Metric: stats.Metric(p.Metric), Start: midnightOf(p.Start), End: midnightOf(p.End), Interval: stats.Interval(p.Interval)}
	for _, tier := range p.Tiers {
		out.Tiers = append(out.Tiers, deploy.Tier(tier))
	}
	if p.Tier != "" {
		out.Tiers = append(out.Tiers, p.Tier)
	}
	return out
}

// midnightOf is when the day of a parameter begins, zero where it was left out.
func midnightOf(d api.Date) time.Time {
	at, err := time.Parse(time.DateOnly, string(d))
	if err != nil {
		return time.Time{}
	}
	return at
}

type projectDORAParams struct {
	projectPath
	doraParams
}

func (h doraHandlers) ofProject(ctx context.Context, as authz.Actor, in projectDORAParams) ([]doraPoint, error) {
	p, err := h.server.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	return doraPoints(h.stats.DORA(ctx, as, p.Place(), in.query()))
}

type groupDORAParams struct {
	groupPath
	doraParams
}

func (h doraHandlers) ofGroup(ctx context.Context, as authz.Actor, in groupDORAParams) ([]doraPoint, error) {
	g, err := h.server.Namespaces.Find(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	return doraPoints(h.stats.DORA(ctx, as, g.Place(), in.query()))
}

func doraPoints(list []stats.Point, err error) ([]doraPoint, error) {
	if err != nil {
		return nil, err
	}
	out := make([]doraPoint, len(list))
	for i, p := range list {
		if p.Date != nil {
			out[i].Date = new(api.Date(p.Date.Format(time.DateOnly)))
		}
		out[i].Value = p.Value
	}
	return out, nil
}
