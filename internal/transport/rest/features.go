package rest

import (
	"context"

	"tenon/internal/core"
	"tenon/internal/core/authz"
	"tenon/internal/core/feature"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("features", (*Server).featureRoutes)

func (s *Server) featureRoutes() []*api.Route {
	h := featureHandlers{core.Part[*feature.Service](s.Services)}
	return api.Scoped(nil,
		api.Get("/features", h.list).Doc("List the features whose gates were set").Needs(authz.ReadFeatures),
		api.Get("/features/definitions", h.definitions).Doc("List the definitions of features").Needs(authz.ReadFeatures),
		api.Post("/features/:name", h.set).Doc("Set the gates of a feature").Needs(authz.AdminFeatures),
		api.Delete("/features/:name", h.delete).Timed().Doc("Delete the gates of a feature").Needs(authz.AdminFeatures),
	)
}

type featureHandlers struct{ features *feature.Service }

// featureDefinition describes a feature that the server asks about.
type featureDefinition struct {
	Name            string  `json:"name"`
	IntroducedByURL *string `json:"introduced_by_url"`
	RolloutIssueURL *string `json:"rollout_issue_url"`
	Milestone       *string `json:"milestone"`
	Type            string  `json:"type"`
	Group           string  `json:"group"`
	DefaultEnabled  bool    `json:"default_enabled"`
	LogStateChanges bool    `json:"log_state_changes"`
}

func newDefinition(d *feature.Definition) featureDefinition {
	return featureDefinition{Name: d.Name, Type: d.Type, Group: d.Group, DefaultEnabled: d.DefaultEnabled}
}

// featureGate is one gate of a feature.
type featureGate struct {
	Key   string `json:"key"`
	Value any    `json:"value"`
}

// featureEntity is a feature with its gates.
type featureEntity struct {
	Name       string             `json:"name"`
	State      string             `json:"state"`
	Gates      []featureGate      `json:"gates"`
	Definition *featureDefinition `json:"definition"`
}

func newFeature(f *feature.Feature) featureEntity {
	out := featureEntity{Name: f.Name, State: f.State(), Gates: []featureGate{{"boolean", f.Enabled}}}
	if len(f.Actors) > 0 {
		out.Gates = append(out.Gates, featureGate{"actors", []string(f.Actors)})
	}
	if len(f.Groups) > 0 {
		out.Gates = append(out.Gates, featureGate{"groups", []string(f.Groups)})
	}
	if f.OfActors > 0 {
		out.Gates = append(out.Gates, featureGate{"percentage_of_actors", f.OfActors})
	}
	if f.OfTime > 0 {
		out.Gates = append(out.Gates, featureGate{"percentage_of_time", f.OfTime})
	}
	if d := feature.Define(f.Name); d != nil {
		out.Definition = new(newDefinition(d))
	}
	return out
}

func (h featureHandlers) list(ctx context.Context, as authz.Actor, _ struct{}) ([]featureEntity, error) {
	list, err := h.features.List(ctx, as)
	if err != nil {
		return nil, err
	}
	out := make([]featureEntity, len(list))
	for i := range list {
		out[i] = newFeature(&list[i])
	}
	return out, nil
}

func (h featureHandlers) definitions(ctx context.Context, as authz.Actor, _ struct{}) ([]featureDefinition, error) {
	list, err := h.features.Definitions(ctx, as)
	if err != nil {
		return nil, err
	}
	out := make([]featureDefinition, len(list))
	for i := range list {
		out[i] = newDefinition(&list[i])
	}
	return out, nil
}

type featurePath struct {
	Name string `param:"name" doc:"Name of the feature"`
}

type setFeatureParams struct {
	featurePath
	Value        string `param:"value,required" doc:"true, false, or an integer as a percentage, of which 100 is true and 0 false"`
	Key          string `param:"key" doc:"What a percentage is of: percentage_of_actors, or percentage_of_time, the default"`
	FeatureGroup string `param:"feature_group" doc:"Name of a feature group; administrators is the only one"`
	User         string `param:"user" doc:"Username of a user, or several separated by commas"`
	Group        string `param:"group" doc:"Path of a group, or several separated by commas"`
	Namespace    string `param:"namespace" doc:"Path of a group or user namespace, or several separated by commas"`
	Project      string `param:"project" doc:"Path of a project, or several separated by commas"`
	Repository   string `param:"repository" doc:"Path of a repository, which is its project, or several separated by commas"`
	Force        bool   `param:"force" doc:"Skip the checks of the name; there are none"`
}

func (h featureHandlers) set(ctx context.Context, as authz.Actor, p setFeatureParams) (featureEntity, error) {
	f, err := h.features.Set(ctx, as, p.Name, feature.Gates{
		Value: p.Value, Key: p.Key, FeatureGroups: p.FeatureGroup, Users: p.User, Groups: p.Group,
		Namespaces: p.Namespace, Projects: p.Project, Repositories: p.Repository,
	})
	if err != nil {
		return featureEntity{}, err
	}
	return newFeature(f), nil
}

func (h featureHandlers) delete(ctx context.Context, as authz.Actor, p featurePath) (api.None, error) {
	return api.None{}, h.features.Delete(ctx, as, p.Name)
}
