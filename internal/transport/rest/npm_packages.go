package rest

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"tenon/internal/base/errs"
	"tenon/internal/core"
	"tenon/internal/core/authz"
	"tenon/internal/core/packages"
	"tenon/internal/core/packages/npm"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("npm_packages", (*Server).npmPackageRoutes)

// publicNPM is the registry that requests are forwarded to.
const publicNPM = "https://registry.npmjs.org"

const (
	npmAdvisories = "/-/npm/v1/security/advisories/bulk"
	npmAudits     = "/-/npm/v1/security/audits/quick"
)

func (s *Server) npmPackageRoutes() []*api.Route {
	h := npmHandlers{s, core.Part[*packages.Service](s.Services), core.Part[*npm.Service](s.Services), nil}
	ofProject, ofGroup, ofAll := h, h, h
	ofProject.find, ofGroup.find, ofAll.find = h.project, h.group, h.everywhere
	const project, group, all = "/projects/:id/packages/npm", "/groups/:id/-/packages/npm", "/packages/npm"
	read := []authz.Ability{authz.ReadPackage, authz.ReadPrivatePackage}
	below := slices.Concat([]authz.Ability{authz.ReadGroupPackage, authz.ReadPrivateGroupPackage}, read)
	return slices.Concat(ofProject.placed(project, " of a project", read), ofGroup.placed(group, " of a group", below), ofAll.unplaced(all, read), ofProject.files(project, read))
}

// npmHandlers answer requests for the packages of a place.
type npmHandlers struct {
	server   *Server
	packages *packages.Service
	npm      *npm.Service
	find     func(ctx context.Context, as authz.Actor, id string) (npm.Where, error)
}

func (h npmHandlers) project(ctx context.Context, as authz.Actor, id string) (npm.Where, error) {
	p, err := h.packages.Project(ctx, as, id)
	return npm.Where{Project: p}, err
}

func (h npmHandlers) group(ctx context.Context, as authz.Actor, id string) (npm.Where, error) {
	g, err := h.server.Namespaces.Find(ctx, as, id)
	if err != nil {
		return npm.Where{}, err
	}
	place := g.Place()
	return npm.Where{Group: &place}, nil
}

func (h npmHandlers) everywhere(context.Context, authz.Actor, string) (npm.Where, error) {
	return npm.Where{}, nil
}

// placed are the routes of a project or group.
func (h npmHandlers) placed(at, noun string, read []authz.Ability) []*api.Route {
	r := npmRoutes{
		get: api.Get(at+"/*package_name", func(ctx context.Context, as authz.Actor, in npmPlacedMetadata) (api.Raw, error) {
			return h.metadata(ctx, as, in.ID, in.npmMetadataParams)
		}),
		tags: api.Get(at+npmTags, func(ctx context.Context, as authz.Actor, in npmPlacedName) (npmTagMap, error) {
			return h.tags(ctx, as, in.ID, in.npmName)
		}),
		set: api.Put(at+npmTags+"/:tag", func(ctx context.Context, as authz.Actor, in npmPlacedNewTag) (api.None, error) {
			return h.setTag(ctx, as, in.ID, in.npmNewTag)
		}),
		drop: api.Delete(at+npmTags+"/:tag", func(ctx context.Context, as authz.Actor, in npmPlacedTag) (api.None, error) {
			return h.deleteTag(ctx, as, in.ID, in.npmTag)
		}),
	}
	for _, path := range []string{npmAdvisories, npmAudits} {
		r.audits = append(r.audits, api.Post(at+path, func(ctx context.Context, as authz.Actor, in npmPlacedAudit) (api.Raw, error) {
			return h.audit(ctx, as, in.ID, path)
		}))
	}
	return r.described(at, noun, read, read[:2])
}

// unplaced are the routes of the whole server.
func (h npmHandlers) unplaced(at string, read []authz.Ability) []*api.Route {
	r := npmRoutes{
		get: api.Get(at+"/*package_name", func(ctx context.Context, as authz.Actor, in npmMetadataParams) (api.Raw, error) {
			return h.metadata(ctx, as, "", in)
		}),
		tags: api.Get(at+npmTags, func(ctx context.Context, as authz.Actor, in npmName) (npmTagMap, error) {
			return h.tags(ctx, as, "", in)
		}),
		set: api.Put(at+npmTags+"/:tag", func(ctx context.Context, as authz.Actor, in npmNewTag) (api.None, error) {
			return h.setTag(ctx, as, "", in)
		}),
		drop: api.Delete(at+npmTags+"/:tag", func(ctx context.Context, as authz.Actor, in npmTag) (api.None, error) {
			return h.deleteTag(ctx, as, "", in)
		}),
	}
	for _, path := range []string{npmAdvisories, npmAudits} {
		r.audits = append(r.audits, api.Post(at+path, func(ctx context.Context, as authz.Actor, _ npmAudit) (api.Raw, error) {
			return h.audit(ctx, as, "", path)
		}))
	}
	return r.described(at, " by its scope", read, nil)
}

// npmFile is the path of a tarball.
const npmFile = "/:package_name/-/*file_name"

// npmTags is the path of the tags of a package.
const npmTags = "/-/package/:package_name/dist-tags"

// npmRoutes are the routes of a place.
type npmRoutes struct {
	get, tags, set, drop *api.Route
	audits               []*api.Route
}

// described adds what the routes of all places have in common.
func (r npmRoutes) described(at, noun string, read, audits []authz.Ability) []*api.Route {
	scoped := strings.Replace(at+npmTags, ":package_name", ":scope/:package_name", 1)
	r.get.Doc("Get the metadata of an npm package"+noun).Needs(read...).Gives("application/json", nil)
	r.tags.Doc("List the distribution tags of an npm package" + noun).Needs(read...).Alias(scoped)
	for _, reads := range []*api.Route{r.get, r.tags} {
		reads.Public().Scope(authz.ScopeReadPackages, authz.ScopeWritePackages)
	}
	r.set.Doc("Set a distribution tag of an npm package" + noun).Alias(scoped + "/:tag")
	r.drop.Doc("Delete a distribution tag of an npm package" + noun).Alias(scoped + "/:tag")
	for _, writes := range []*api.Route{r.set, r.drop} {
		writes.Needs(slices.Concat(read, []authz.Ability{authz.CreatePackage})...).Scope(authz.ScopeWritePackages)
	}
	for i, audit := range r.audits {
		audit.Doc([]string{"List advisories for npm packages", "Audit npm packages"}[i]+noun+"; there are none").Needs(audits...).AnyScope().Public().Always().Status(http.StatusOK).
			Gives("application/json", nil)
	}
	list := append([]*api.Route{r.get, r.tags, r.set, r.drop}, r.audits...)
	for _, route := range list {
		route.Basic()
	}
	return list
}

// files are the routes of a project alone.
func (h npmHandlers) files(at string, read []authz.Ability) []*api.Route {
	return []*api.Route{
		api.Get(at+npmFile, h.download).Alias(at+"/:scope"+npmFile).Doc("Download the tarball of an npm package").
			Needs(read...).Public().Basic().Scope(authz.ScopeReadPackages, authz.ScopeWritePackages).Gives("application/octet-stream", nil),
		api.Put(at+"/:package_name", h.put).Alias(at+"/:scope/:package_name").Doc("Publish an npm package, or deprecate versions of it").
			Needs(authz.CreatePackage, authz.DestroyPackage).Basic().Scope(authz.ScopeWritePackages).MaxBodyNow(h.maxBody),
	}
}

func (h npmHandlers) maxBody() int64 {
	most := h.npm.MaxFile()
	return roomFor(most, most/3*4-most+h.npm.MaxDocument()+2<<20) // a tarball is in the document as base64
}

type npmPlaced struct {
	ID string `param:"id" doc:"ID or URL-encoded path of the {place}"`
}

// npmName is the name of a package, whose scope is a part of the path of its own where its slash is not escaped.
type npmName struct {
	Scope string `param:"scope" doc:"Scope of the package, where its slash is not escaped"`
	Name  string `param:"package_name,required" doc:"Name of the package"`
}

func (n *npmName) name() string {
	if n.Scope != "" {
		return n.Scope + "/" + n.Name
	}
	return n.Name
}

type npmPlacedName struct {
	npmPlaced
	npmName
}

type npmMetadataParams struct {
	Name   string `param:"package_name,required,free" doc:"Name of the package"`
	Accept string `header:"Accept" doc:"application/vnd.npm.install-v1+json for what installers read"`
	Known  string `header:"If-None-Match" doc:"ETag of the metadata that the client has"`
}

type npmPlacedMetadata struct {
	npmPlaced
	npmMetadataParams
}

// npmSummary is the type of metadata for installers.
const npmSummary = "application/vnd.npm.install-v1+json"

func (h npmHandlers) metadata(ctx context.Context, as authz.Actor, id string, in npmMetadataParams) (api.Raw, error) {
	at, err := h.find(ctx, as, id)
	if err != nil {
		return api.Raw{}, err
	}
	known := false
	q := npm.Query{Name: in.Name, Summary: strings.Contains(in.Accept, npmSummary)}
	q.Known = func(tag string) bool {
		known = api.Matches(in.Known, `"`+tag+`"`)
		return known
	}
	m, err := h.npm.Find(ctx, as, at, q)
	if errs.Is(err, errs.NotFound) && h.npm.Forwards() {
		return npmForward(http.StatusFound, "/"+url.PathEscape(in.Name)), nil
	}
	if err != nil {
		return api.Raw{}, err
	}
	out := api.Raw{Type: "application/json", Bytes: []byte(m.Text), Header: http.Header{"Etag": {`W/"` + m.Tag + `"`}, "Vary": {"Accept"}, "X-Content-Type-Options": {"nosniff"}}}
	if q.Summary {
		out.Type = npmSummary
	}
	if known {
		out.Status = http.StatusNotModified
	}
	return out, nil
}

// npmForward sends a caller to the public registry.
func npmForward(status int, path string) api.Raw {
	return api.Raw{Status: status, Type: "text/plain", Header: http.Header{"Location": {publicNPM + path}}}
}

// npmTagMap are the versions of tags.
type npmTagMap map[string]string

func (h npmHandlers) tags(ctx context.Context, as authz.Actor, id string, in npmName) (npmTagMap, error) {
	at, err := h.find(ctx, as, id)
	if err != nil {
		return nil, err
	}
	return h.npm.Tags(ctx, as, at, in.name())
}

type npmTag struct {
	npmName
	Tag string `param:"tag,required" doc:"Distribution tag"`
}

type npmPlacedTag struct {
	npmPlaced
	npmTag
}

type npmNewTag struct {
	npmTag
	Body api.RawBody `doc:"The version, a JSON string"`
}

type npmPlacedNewTag struct {
	npmPlaced
	npmNewTag
}

func (h npmHandlers) setTag(ctx context.Context, as authz.Actor, id string, in npmNewTag) (api.None, error) {
	at, err := h.find(ctx, as, id)
	if err != nil {
		return api.None{}, err
	}
	body, err := io.ReadAll(io.LimitReader(in.Body, 1<<10))
	if err != nil {
		return api.None{}, err
	}
	var version string
	if json.Unmarshal(body, &version) != nil {
		version = "" // which no package has
	}
	return api.None{}, h.npm.SetTag(ctx, as, at, npm.Tag{Package: in.name(), Name: in.Tag, Version: version})
}

func (h npmHandlers) deleteTag(ctx context.Context, as authz.Actor, id string, in npmTag) (api.None, error) {
	at, err := h.find(ctx, as, id)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, h.npm.DeleteTag(ctx, as, at, npm.Tag{Package: in.name(), Name: in.Tag})
}

type npmAudit struct {
	Body api.RawBody `doc:"Names and versions of packages"`
}

type npmPlacedAudit struct {
	npmPlaced
	npmAudit
}

func (h npmHandlers) audit(ctx context.Context, as authz.Actor, id, path string) (api.Raw, error) {
	at, err := h.find(ctx, as, id)
	if err == nil {
		err = h.npm.Audit(ctx, as, at)
	}
	if err != nil {
		return api.Raw{}, err
	}
	if h.npm.Forwards() {
		return npmForward(http.StatusTemporaryRedirect, path), nil
	}
	return api.Raw{Type: "application/json", Bytes: []byte("[]")}, nil
}

type npmFilePath struct {
	npmPlacedName
	File string `param:"file_name,required,free" doc:"Name of the tarball"`
}

func (h npmHandlers) download(ctx context.Context, as authz.Actor, in npmFilePath) (api.Content, error) {
	p, err := h.packages.Project(ctx, as, in.ID)
	if err != nil {
		return api.Content{}, err
	}
	return packageContent(h.npm.Open(ctx, as, p, in.name(), in.File))
}

type npmPutParams struct {
	npmPlacedName
	Body api.RawBody `doc:"The package document"`
}

// npmDone is the answer to a package document.
type npmDone struct {
	OK bool `json:"ok"`
}

func (h npmHandlers) put(ctx context.Context, as authz.Actor, in npmPutParams) (npmDone, error) {
	p, err := h.packages.Project(ctx, as, in.ID)
	if err != nil {
		return npmDone{}, err
	}
	return npmDone{true}, h.npm.Put(ctx, as, p, in.name(), in.Body)
}
