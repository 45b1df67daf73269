package rest

import (
	"context"
	"net/http"
	"time"

	"tenon/internal/core"
	"tenon/internal/core/authz"
	"tenon/internal/core/usage"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("usage", (*Server).usageRoutes)

func (s *Server) usageRoutes() []*api.Route {
	h := usageHandlers{core.Part[*usage.Service](s.Services)}
	return api.Scoped(nil,
		api.Get("/application/statistics", h.statistics).Doc("Get the statistics of the instance").Needs(authz.ReadUsage),
		api.Get("/license", h.license).Doc("Get the license of the instance").Needs(authz.ReadUsage),
		api.Post("/license", h.add).Doc("Add a license; every one is refused, because nothing is locked").Needs(authz.AdminLicense),
		api.Get("/licenses", h.licenses).Doc("List the licenses of the instance").Needs(authz.ReadUsage),
		api.Get("/license/:id", h.find).Doc("Get a license of the instance").Needs(authz.ReadUsage),
		api.Delete("/license/:id", h.delete).Doc("Delete a license; that of the server itself stays").Needs(authz.AdminLicense),
		api.Put("/license/:id/refresh_billable_users", h.refresh).Status(http.StatusAccepted).Doc("Refresh the billable users of a license; they are always counted").Needs(authz.AdminLicense),
		api.Get("/geo_nodes", h.nodes).Doc("List the Geo nodes; there is one server").Needs(authz.ReadUsage),
		api.Get("/geo_nodes/status", h.nodes).Doc("List the status of the Geo nodes; there is one server").Needs(authz.ReadUsage),
	)
}

type usageHandlers struct{ usage *usage.Service }

// statisticsOfInstance has numbers, as the published description of the interface and the Go client have them. Other servers answer
// texts with separators of thousands, which that client does not decode.
type statisticsOfInstance struct {
	Forks         int64 `json:"forks"`
	Issues        int64 `json:"issues"`
	MergeRequests int64 `json:"merge_requests"`
	Notes         int64 `json:"notes"`
	Snippets      int64 `json:"snippets"`
	SSHKeys       int64 `json:"ssh_keys"`
	Milestones    int64 `json:"milestones"`
	Users         int64 `json:"users"`
	Groups        int64 `json:"groups"`
	Projects      int64 `json:"projects"`
	ActiveUsers   int64 `json:"active_users"`
}

func (h usageHandlers) statistics(ctx context.Context, as authz.Actor, _ struct{}) (statisticsOfInstance, error) {
	c, err := h.usage.Counts(ctx, as)
	return statisticsOfInstance(c), err
}

// instanceLicense is a license.
type instanceLicense struct {
	ID               int64    `json:"id"`
	Plan             string   `json:"plan"`
	CreatedAt        api.Time `json:"created_at"`
	StartsAt         string   `json:"starts_at"`
	ExpiresAt        *string  `json:"expires_at"` // it does not
	HistoricalMax    int64    `json:"historical_max"`
	MaximumUserCount int64    `json:"maximum_user_count"`
	Expired          bool     `json:"expired"`
	Overage          int64    `json:"overage"`
	UserLimit        int64    `json:"user_limit"` // 0 is any number
	Licensee         struct{} `json:"licensee"`
	AddOns           struct{} `json:"add_ons"`
}

func newLicense(l *usage.License) instanceLicense {
	return instanceLicense{
		ID: l.ID, Plan: "ultimate", CreatedAt: api.Time(l.CreatedAt.Time), StartsAt: l.CreatedAt.Format(time.DateOnly),
		HistoricalMax: l.Users, MaximumUserCount: l.Users,
	}
}

// oneLicense is a license by itself.
type oneLicense struct {
	instanceLicense
	ActiveUsers int64 `json:"active_users"`
}

func (h usageHandlers) license(ctx context.Context, as authz.Actor, _ struct{}) (oneLicense, error) {
	l, err := h.usage.License(ctx, as)
	if err != nil {
		return oneLicense{}, err
	}
	return oneLicense{newLicense(l), l.ActiveUsers}, nil
}

func (h usageHandlers) licenses(ctx context.Context, as authz.Actor, _ struct{}) ([]instanceLicense, error) {
	l, err := h.usage.License(ctx, as)
	if err != nil {
		return nil, err
	}
	return []instanceLicense{newLicense(l)}, nil
}

type licensePath struct {
	ID int64 `param:"id" doc:"ID of the license"`
}

func (h usageHandlers) find(ctx context.Context, as authz.Actor, in licensePath) (oneLicense, error) {
	l, err := h.usage.FindLicense(ctx, as, in.ID)
	if err != nil {
		return oneLicense{}, err
	}
	return oneLicense{newLicense(l), l.ActiveUsers}, nil
}

type addLicenseParams struct {
	License string `param:"license,required" doc:"Text of the license"`
}

func (h usageHandlers) add(ctx context.Context, as authz.Actor, in addLicenseParams) (api.None, error) {
	return api.None{}, h.usage.AddLicense(ctx, as, in.License)
}

func (h usageHandlers) delete(ctx context.Context, as authz.Actor, in licensePath) (api.None, error) {
	return api.None{}, h.usage.DeleteLicense(ctx, as, in.ID)
}

type refreshed struct {
	Success bool `json:"success"`
}

func (h usageHandlers) refresh(ctx context.Context, as authz.Actor, in licensePath) (refreshed, error) {
	err := h.usage.RecountLicense(ctx, as, in.ID)
	return refreshed{err == nil}, err
}

func (h usageHandlers) nodes(ctx context.Context, as authz.Actor, _ struct{}) ([]struct{}, error) {
	return h.usage.Nodes(ctx, as)
}
