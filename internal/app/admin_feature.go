package app

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"tenon/internal/core"
	"tenon/internal/core/authz"
	"tenon/internal/core/feature"
)

// AdminFeature is a feature as "tenon admin" shows it.
type AdminFeature struct {
	Name    string   `json:"name"`
	State   string   `json:"state"`   // on, off or conditional
	Gates   []string `json:"gates"`   // actors for which a conditional feature is enabled
	Default bool     `json:"default"` // no gate was set
	Known   bool     `json:"known"`   // this release asks for it
}

func (a *App) features() *feature.Service { return core.Part[*feature.Service](a.core) }

func (a *App) adminFeatureList(ctx context.Context, _ struct{}, _ func(string)) ([]AdminFeature, error) {
	set, err := a.features().List(ctx, authz.System())
	if err != nil {
		return nil, err
	}
	out := []AdminFeature{}
	for i := range set {
		out = append(out, adminFeature(&set[i]))
	}
	known, err := a.features().Definitions(ctx, authz.System())
	if err != nil {
		return nil, err
	}
	for _, d := range known {
		if !slices.ContainsFunc(out, func(f AdminFeature) bool { return f.Name == d.Name }) {
			state := map[bool]string{true: feature.On, false: feature.Off}[d.DefaultEnabled]
			out = append(out, AdminFeature{Name: d.Name, State: state, Gates: []string{}, Default: true, Known: true})
		}
	}
	slices.SortFunc(out, func(x, y AdminFeature) int { return cmp.Compare(x.Name, y.Name) })
	return out, nil
}

func adminFeature(f *feature.Feature) AdminFeature {
	out := AdminFeature{Name: f.Name, State: f.State(), Gates: slices.Concat([]string{}, f.Actors, f.Groups), Known: feature.Define(f.Name) != nil}
	for what, part := range map[string]int64{"actors": f.OfActors, "time": f.OfTime} {
		if part > 0 {
			out.Gates = append(out.Gates, fmt.Sprintf("%d%% of %s", part, what))
		}
	}
	slices.Sort(out.Gates)
	return out
}

// FeatureInput sets gates of a feature.
type FeatureInput struct {
	Name     string   `json:"name"`
	Value    string   `json:"value"`    // true, false, a percentage, or default, which takes all gates away
	OfActors bool     `json:"actors"`   // a percentage is one of actors, not of time
	Users    []string `json:"users"`    // for these alone, as the next
	Groups   []string `json:"groups"`   // by path
	Projects []string `json:"projects"` // by path
}

func (a *App) adminFeatureSet(ctx context.Context, in FeatureInput, _ func(string)) (AdminFeature, error) {
	if in.Value == "default" {
		if err := a.features().Delete(ctx, authz.System(), in.Name); err != nil {
			return AdminFeature{}, err
		}
		d := feature.Define(in.Name)
		state := map[bool]string{true: feature.On, false: feature.Off}[d != nil && d.DefaultEnabled]
		return AdminFeature{Name: in.Name, State: state, Gates: []string{}, Default: true, Known: d != nil}, nil
	}
	g := feature.Gates{Value: in.Value, Users: strings.Join(in.Users, ","), Groups: strings.Join(in.Groups, ","), Projects: strings.Join(in.Projects, ",")}
	if in.OfActors {
		g.Key = "percentage_of_actors"
	}
	f, err := a.features().Set(ctx, authz.System(), in.Name, g)
	if err != nil {
		return AdminFeature{}, err
	}
	return adminFeature(f), nil
}
