package rest

import (
	"context"
	"strconv"

	"tenon/internal/core"
	"tenon/internal/core/authz"
	"tenon/internal/core/featureflag"
	"tenon/internal/core/project"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("unleash", (*Server).unleashRoutes)

// unleashRoutes are for clients of Unleash, whose credential is the instance ID of the project.
func (s *Server) unleashRoutes() []*api.Route {
	h := flagHandlers{s, core.Part[*featureflag.Service](s.Services)}
	const path = "/feature_flags/unleash/:project_id"
	return api.Scoped(nil,
		api.Get(path, h.admit).Status(200).Doc("Say that an Unleash client has found the server").Public(),
		api.Get(path+"/features", h.features).Doc("List the feature flags for an Unleash client, by the former path").Public(),
		api.Get(path+"/client/features", h.features).Doc("List the feature flags for an Unleash client").Public(),
		api.Post(path+"/client/register", h.admit).Status(200).Doc("Register an Unleash client; nothing is kept").Public(),
		api.Post(path+"/client/metrics", h.admit).Status(200).Doc("Receive the metrics of an Unleash client; nothing is kept").Public(),
	)
}

type unleashParams struct {
	ProjectID   project.ID `param:"project_id" doc:"ID of the project"`
	InstanceID  string     `param:"instance_id" header:"UNLEASH-INSTANCEID" doc:"Instance ID of the clients of the project"`
	Environment string     `param:"app_name" header:"UNLEASH-APPNAME" doc:"Environment of the application"`
}

// admit says whether the client has the instance ID of the project; what it reports is not kept.
func (h flagHandlers) admit(ctx context.Context, _ authz.Actor, in unleashParams) (api.None, error) {
	return api.None{}, h.flags.Admit(ctx, in.ProjectID, in.InstanceID)
}

// unleashFeatures is what a client of Unleash gets.
type unleashFeatures struct {
	Version  int                      `json:"version"`
	Features []featureflag.ClientFlag `json:"features"`
}

func (h flagHandlers) features(ctx context.Context, _ authz.Actor, in unleashParams) (unleashFeatures, error) {
	list, err := h.flags.Features(ctx, in.ProjectID, in.InstanceID, in.Environment)
	return unleashFeatures{1, list}, err
}

// flagsClient is what clients of feature flags are set up with.
type flagsClient struct {
	APIURL        string `json:"api_url"`
	InstanceIDSet bool   `json:"instance_id_set"`
}

// newFlagsClient has the instance ID, which is not shown again.
type newFlagsClient struct {
	APIURL     string `json:"api_url"`
	InstanceID string `json:"instance_id"`
}

func (h flagHandlers) apiURL(p *project.Project) string {
	return h.server.URLs.API("feature_flags", "unleash", strconv.FormatInt(int64(p.ID), 10))
}

func (h flagHandlers) client(ctx context.Context, as authz.Actor, in projectPath) (flagsClient, error) {
	p, err := h.project(ctx, as, in.ID)
	if err != nil {
		return flagsClient{}, err
	}
	there, err := h.flags.HasClient(ctx, as, p)
	return flagsClient{h.apiURL(p), there}, err
}

func (h flagHandlers) renewClient(ctx context.Context, as authz.Actor, in projectPath) (newFlagsClient, error) {
	p, err := h.project(ctx, as, in.ID)
	if err != nil {
		return newFlagsClient{}, err
	}
	token, err := h.flags.RenewClient(ctx, as, p)
	return newFlagsClient{h.apiURL(p), token}, err
}

func (h flagHandlers) deleteClient(ctx context.Context, as authz.Actor, in projectPath) (api.None, error) {
	p, err := h.project(ctx, as, in.ID)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, h.flags.DeleteClient(ctx, as, p)
}
