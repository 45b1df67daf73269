package rest

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"tenon/internal/core"
	"tenon/internal/core/authz"
	"tenon/internal/core/packages"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("debian_distributions", (*Server).distributionRoutes)

func (s *Server) distributionRoutes() []*api.Route {
	service := core.Part[*packages.Service](s.Services)
	routes := func(m mount, alias string) []*api.Route {
		h := distributionHandlers{m, service}
		read := []authz.Ability{m.ability(authz.ReadPackage, authz.ReadGroupPackage), m.ability(authz.ReadPrivatePackage, authz.ReadPrivateGroupPackage)}
		write, destroy := m.ability(authz.CreatePackage, authz.CreateGroupPackage), m.ability(authz.DestroyPackage, authz.DestroyGroupPackage)
		one := m.path + "/:codename"
		list := []*api.Route{
			api.Get(m.path, h.list).Doc("List the Debian distributions of a "+m.noun).Needs(read...).Scope(authz.ScopeReadPackages, authz.ScopeWritePackages).Public(),
			api.Post(m.path, h.create).Doc("Create a Debian distribution of a " + m.noun).Needs(write).Scope(authz.ScopeWritePackages),
			api.Get(one, h.get).Doc("Get a Debian distribution of a "+m.noun).Needs(read...).Scope(authz.ScopeReadPackages, authz.ScopeWritePackages).Public(),
			api.Get(one+"/key.asc", h.key).Doc("Get the public key of a Debian distribution of a "+m.noun).Needs(read...).
				Scope(authz.ScopeReadPackages, authz.ScopeWritePackages).Public().Gives("text/plain", nil),
			api.Put(one, h.update).Timed().Doc("Update a Debian distribution of a " + m.noun).Needs(write).Scope(authz.ScopeWritePackages),
			api.Delete(one, h.delete).Timed().Doc("Delete a Debian distribution of a " + m.noun).Needs(destroy).Scope(authz.ScopeWritePackages).Status(http.StatusAccepted),
		}
		if alias != "" {
			for _, r := range list {
				r.Alias(strings.Replace(r.Info().Path, m.path, alias, 1))
			}
		}
		return list
	}
	return slices.Concat(
		routes(s.below("project", "debian_distributions"), ""),
		routes(s.below("group", "-/deb_distributions"), "/groups/:id/-/debian_distributions"),
	)
}

type distributionHandlers struct {
	mount

	packages *packages.Service
}

// at finds the project or group; a project with a public registry is found by everybody.
func (h distributionHandlers) at(ctx context.Context, as authz.Actor, ref string) (authz.Place, error) {
	if h.group {
		return h.place(ctx, as, ref)
	}
	p, err := h.packages.Project(ctx, as, ref)
	if err != nil {
		return authz.Place{}, err
	}
	return p.Place(), nil
}

type distributionEntity struct {
	ID            packages.DistributionID `json:"id"`
	Codename      string                  `json:"codename"`
	Suite         *string                 `json:"suite"`
	Origin        *string                 `json:"origin"`
	Label         *string                 `json:"label"`
	Version       *string                 `json:"version"`
	Description   *string                 `json:"description"`
	ValidTime     *int64                  `json:"valid_time_duration_seconds"`
	Components    []string                `json:"components"`
	Architectures []string                `json:"architectures"`
}

func distributionOf(d *packages.Distribution) distributionEntity {
	return distributionEntity{d.ID, d.Codename, d.Suite, d.Origin, d.Label, d.Version, d.Description, d.ValidTime, d.Components, d.Architectures}
}

func distributionFound(d *packages.Distribution, err error) (distributionEntity, error) {
	if err != nil {
		return distributionEntity{}, err
	}
	return distributionOf(d), nil
}

type listDistributionsParams struct {
	placePath
	api.Page
	Codename      *string     `param:"codename" doc:"Codename of the distribution"`
	Suite         *string     `param:"suite" doc:"Suite of the distribution"`
	Origin        *string     `param:"origin" doc:"Origin of the distribution"`
	Label         *string     `param:"label" doc:"Label of the distribution"`
	Version       *string     `param:"version" doc:"Version of the distribution"`
	Description   *string     `param:"description" doc:"Description of the distribution"`
	ValidTime     *int64      `param:"valid_time_duration_seconds" doc:"Seconds that a Release file of the distribution is valid"`
	Components    api.Strings `param:"components" doc:"Components that the distribution has"`
	Architectures api.Strings `param:"architectures" doc:"Architectures that the distribution has"`
}

func (h distributionHandlers) list(ctx context.Context, as authz.Actor, in listDistributionsParams) (api.List[distributionEntity], error) {
	none := api.List[distributionEntity]{}
	at, err := h.at(ctx, as, in.ID)
	if err != nil {
		return none, err
	}
	list, err := h.packages.Distributions(ctx, as, at, packages.DistributionFilter{
		Codename: in.Codename, Suite: in.Suite, Origin: in.Origin, Label: in.Label, Version: in.Version, Description: in.Description,
		ValidTime: in.ValidTime, Components: in.Components, Architectures: in.Architectures, Range: in.Range(),
	})
	if err != nil {
		return none, err
	}
	return api.ListOf(list, distributionOf), nil
}

type distributionPath struct {
	placePath
	Codename string `param:"codename,required" doc:"Codename of the distribution"`
}

func (h distributionHandlers) get(ctx context.Context, as authz.Actor, in distributionPath) (distributionEntity, error) {
	at, err := h.at(ctx, as, in.ID)
	if err != nil {
		return distributionEntity{}, err
	}
	return distributionFound(h.packages.Distribution(ctx, as, at, in.Codename))
}

func (h distributionHandlers) key(ctx context.Context, as authz.Actor, in distributionPath) (api.Raw, error) {
	at, err := h.at(ctx, as, in.ID)
	if err != nil {
		return api.Raw{}, err
	}
	d, key, err := h.packages.DistributionKey(ctx, as, at, in.Codename)
	if err != nil {
		return api.Raw{}, err
	}
	header := http.Header{"Content-Disposition": {"attachment; filename*=UTF-8''" + url.PathEscape(d.Codename) + ".asc"}, "X-Content-Type-Options": {"nosniff"}}
	return api.Raw{Type: "text/plain", Header: header, Bytes: []byte(key)}, nil
}

// distributionParams are the attributes of a distribution besides its codename.
type distributionParams struct {
	Suite         api.Opt[string]      `param:"suite" doc:"Suite of the distribution"`
	Origin        api.Opt[string]      `param:"origin" doc:"Origin of the distribution"`
	Label         api.Opt[string]      `param:"label" doc:"Label of the distribution"`
	Version       api.Opt[string]      `param:"version" doc:"Version of the distribution"`
	Description   api.Opt[string]      `param:"description" doc:"Description of the distribution"`
	ValidTime     api.Opt[int64]       `param:"valid_time_duration_seconds" doc:"Seconds that a Release file is valid, at least 86400"`
	Components    api.Opt[api.Strings] `param:"components" doc:"Components of the distribution; defaults to main"`
	Architectures api.Opt[api.Strings] `param:"architectures" doc:"Architectures of the distribution; defaults to amd64. The architecture all is always added"`
}

func (p *distributionParams) changes() packages.DistributionChanges {
	text := func(o api.Opt[string]) packages.Text {
		if o.Value == "" { // clears it
			return packages.Text{Set: o.Set}
		}
		return packages.Text{Set: o.Set, Value: &o.Value}
	}
	names := func(o api.Opt[api.Strings]) []string {
		if !o.Set || o.Null {
			return nil
		}
		return append([]string{}, o.Value...)
	}
	return packages.DistributionChanges{
		Suite: text(p.Suite), Origin: text(p.Origin), Label: text(p.Label), Version: text(p.Version), Description: text(p.Description),
		ValidTime: p.ValidTime.Ptr(), NoValidTime: p.ValidTime.Set && p.ValidTime.Null,
		Components: names(p.Components), Architecture: names(p.Architectures),
	}
}

type createDistributionParams struct {
	distributionPath
	distributionParams
}

func (h distributionHandlers) create(ctx context.Context, as authz.Actor, in createDistributionParams) (distributionEntity, error) {
	at, err := h.at(ctx, as, in.ID)
	if err != nil {
		return distributionEntity{}, err
	}
	return distributionFound(h.packages.CreateDistribution(ctx, as, at, in.Codename, in.changes()))
}

type updateDistributionParams struct {
	distributionPath
	distributionParams
}

func (h distributionHandlers) update(ctx context.Context, as authz.Actor, in updateDistributionParams) (distributionEntity, error) {
	at, err := h.at(ctx, as, in.ID)
	if err != nil {
		return distributionEntity{}, err
	}
	return distributionFound(h.packages.UpdateDistribution(ctx, as, at, in.Codename, in.changes()))
}

func (h distributionHandlers) delete(ctx context.Context, as authz.Actor, in distributionPath) (accepted, error) {
	at, err := h.at(ctx, as, in.ID)
	if err != nil {
		return accepted{}, err
	}
	return accepted{"202 Accepted"}, h.packages.DeleteDistribution(ctx, as, at, in.Codename)
}
