package rest

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"tenon/internal/base/blob"
	"tenon/internal/base/page"
	"tenon/internal/core"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/packages"
	"tenon/internal/core/project"
	"tenon/internal/transport/httpkit"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("packages", (*Server).packageRoutes)

func (s *Server) packageRoutes() []*api.Route {
	h := packageHandlers{s, core.Part[*packages.Service](s.Services)}
	const list, one = "/projects/:id/packages", "/projects/:id/packages/:package_id"
	const files, file = one + "/package_files", one + "/package_files/:package_file_id"
	read := []authz.Ability{authz.ReadPackage, authz.ReadPrivatePackage}
	return api.Scoped(nil,
		api.Get(list, h.list).Doc("List the packages of a project").Needs(read...).Public(),
		api.Get(one, h.get).Doc("Get a package").Needs(read...).Public(),
		api.Delete(one, h.delete).Timed().Doc("Delete a package").Needs(authz.DestroyPackage),
		api.Get(files, h.files).Doc("List the files of a package").Needs(read...).Public(),
		api.Delete(file, h.deleteFile).Timed().Doc("Delete a file of a package").Needs(authz.DestroyPackage),
		api.Get(file+"/download", h.download).Doc("Download a file of a package").Needs(read...).Public(),
		api.Get(one+"/pipelines", h.pipelines).Doc("List the pipelines of a package").Needs(read...).Public(),
		api.Get("/groups/:id/packages", h.ofGroup).Doc("List the packages of a group").Needs(authz.ReadGroupPackage, authz.ReadPrivateGroupPackage).Public(),
	)
}

type packageHandlers struct {
	server   *Server
	packages *packages.Service
}

type packageLinks struct {
	WebPath    string `json:"web_path"`
	DeletePath string `json:"delete_api_path,omitempty"`
}

type packageTag struct {
	ID        int64       `json:"id"`
	PackageID packages.ID `json:"package_id"`
	Name      string      `json:"name"`
	CreatedAt api.Time    `json:"created_at"`
	UpdatedAt api.Time    `json:"updated_at"`
}

// packageEntity is a package in lists.
type packageEntity struct {
	ID           packages.ID     `json:"id"`
	Name         string          `json:"name"`
	Version      *string         `json:"version"`
	Kind         packages.Kind   `json:"package_type"`
	Status       packages.Status `json:"status"`
	Message      string          `json:"status_message,omitempty"`
	Links        packageLinks    `json:"_links"`
	CreatedAt    api.Time        `json:"created_at"`
	DownloadedAt *api.Time       `json:"last_downloaded_at"`
	ProjectID    project.ID      `json:"project_id"`
	ProjectPath  string          `json:"project_path"`
	Tags         []packageTag    `json:"tags"`

	Pipeline *packagePipeline `json:"pipeline,omitempty"` // absent for none, and for who may not read it
}

// packagePipeline is a pipeline whose job uploaded files of a package.
type packagePipeline struct {
	ID        ci.PipelineID `json:"id"`
	IID       int64         `json:"iid"`
	ProjectID project.ID    `json:"project_id"`
	SHA       string        `json:"sha"`
	Ref       string        `json:"ref"`
	Status    ci.State      `json:"status"`
	Source    ci.Source     `json:"source"`
	CreatedAt api.Time      `json:"created_at"`
	UpdatedAt api.Time      `json:"updated_at"`
	WebURL    string        `json:"web_url"`
	User      *userBasic    `json:"user"`
}

func (h packageHandlers) pipeline(p *project.Project, of *ci.Pipeline, by *account.Summary) *packagePipeline {
	return &packagePipeline{
		of.ID, of.IID, of.ProjectID, of.SHA, of.Ref, of.State, of.Source, api.Time(of.CreatedAt.Time), api.Time(of.UpdatedAt.Time),
		h.server.URLs.Pipeline(p.FullPath, int64(of.ID)), h.server.user(by),
	}
}

type packageVersion struct {
	ID        packages.ID  `json:"id"`
	Version   *string      `json:"version"`
	CreatedAt api.Time     `json:"created_at"`
	Tags      []packageTag `json:"tags"`

	Pipeline *packagePipeline `json:"pipeline,omitempty"` // as of packageEntity
}

type packageFull struct {
	packageEntity
	Versions []packageVersion `json:"versions"`
}

func packageTags(tags []packages.Tag) []packageTag {
	out := make([]packageTag, 0, len(tags))
	for _, t := range tags {
		out = append(out, packageTag{t.ID, t.PackageID, t.Name, api.Time(t.CreatedAt.Time), api.Time(t.UpdatedAt.Time)})
	}
	return out
}

func (h packageHandlers) entity(k *packages.View, tags []packages.Tag) packageEntity {
	e := packageEntity{
		ID: k.ID, Name: k.Name, Version: k.Version, Kind: k.Kind, Status: k.Status, CreatedAt: api.Time(k.CreatedAt.Time),
		DownloadedAt: api.TimePtr(k.LastDownloadedAt.Ptr()), ProjectID: k.ProjectID, ProjectPath: k.Project.FullPath, Tags: packageTags(tags),
	}
	e.Links.WebPath = h.server.URLs.Path(h.server.URLs.Package(k.Project.FullPath, int64(k.ID)))
	if k.StatusMessage != nil {
		e.Message = *k.StatusMessage
	}
	if k.Pipeline != nil {
		e.Pipeline = h.pipeline(k.Project, k.Pipeline, k.User)
	}
	if k.Deletes {
		e.Links.DeletePath = fmt.Sprintf("%s%s/projects/%d/packages/%d", h.server.URLs.Root(), api.Prefix, k.ProjectID, k.ID)
	}
	return e
}

type packageFilterParams struct {
	OrderBy     string  `param:"order_by" values:"created_at,name,version,type" default:"created_at" doc:"Column to order by"`
	Sort        string  `param:"sort" values:"asc,desc" default:"asc" doc:"asc or desc"`
	Kind        string  `param:"package_type" values:"maven,npm,conan,nuget,pypi,composer,generic,golang,debian,rubygems,helm,terraform_module,rpm,ml_model,cargo" doc:"Type of the packages"`
	Name        string  `param:"package_name" doc:"Text in the name of the packages"`
	Version     *string `param:"package_version" doc:"Version of the packages"`
	Versionless bool    `param:"include_versionless" doc:"Return packages without a version as well"`
	Status      string  `param:"status" values:"default,hidden,processing,error,pending_destruction,deprecated" doc:"Status of the packages; without it those with default, deprecated and error are returned"`
}

func (p *packageFilterParams) filter(r page.Range) packages.Filter {
	return packages.Filter{
		Kind: packages.Kind(p.Kind), Name: p.Name, Version: p.Version, Versionless: p.Versionless, Status: packages.Status(p.Status),
		OrderBy: p.OrderBy, Desc: p.Sort == "desc", Range: r,
	}
}

type listPackagesParams struct {
	projectPath
	api.Page
	packageFilterParams
}

func (h packageHandlers) list(ctx context.Context, as authz.Actor, in listPackagesParams) (api.List[packageEntity], error) {
	none := api.List[packageEntity]{}
	p, err := h.packages.Project(ctx, as, in.ID)
	if err != nil {
		return none, err
	}
	list, err := h.packages.List(ctx, as, p, in.filter(in.Range()))
	if err != nil {
		return none, err
	}
	return h.page(ctx, as, map[project.ID]*project.Project{p.ID: p}, list)
}

// page is a page of packages as the caller sees them. Projects are those that were read before; nil reads them.
func (h packageHandlers) page(ctx context.Context, as authz.Actor, projects map[project.ID]*project.Project, list page.Page[packages.Package]) (api.List[packageEntity], error) {
	views, err := h.packages.Views(ctx, as, list.Items, packages.ViewOptions{Projects: projects, Pipeline: true})
	if err != nil {
		return api.List[packageEntity]{}, err
	}
	ids := make([]packages.ID, len(views))
	for i := range views {
		ids[i] = views[i].ID
	}
	tags, err := h.packages.Tags(ctx, ids)
	if err != nil {
		return api.List[packageEntity]{}, err
	}
	items := make([]packageEntity, len(views))
	for i := range views {
		items[i] = h.entity(&views[i], tags[views[i].ID])
	}
	return api.Listed(list, items), nil
}

type listGroupPackagesParams struct {
	ID string `param:"id" doc:"ID or URL-encoded path of the group"`
	api.Page
	OrderBy     string  `param:"order_by" values:"created_at,name,version,type,project_path" default:"created_at" doc:"Column to order by"`
	Sort        string  `param:"sort" values:"asc,desc" default:"asc" doc:"asc or desc"`
	Kind        string  `param:"package_type" values:"maven,npm,conan,nuget,pypi,composer,generic,golang,debian,rubygems,helm,terraform_module,rpm,ml_model,cargo" doc:"Type of the packages"`
	Name        string  `param:"package_name" doc:"Text in the name of the packages"`
	Version     *string `param:"package_version" doc:"Version of the packages"`
	Versionless bool    `param:"include_versionless" doc:"Return packages without a version as well"`
	Status      string  `param:"status" values:"default,hidden,processing,error,pending_destruction,deprecated" doc:"Status of the packages; without it those with default, deprecated and error are returned"`
	Direct      bool    `param:"exclude_subgroups" doc:"Leave out packages of subgroups"`
}

func (h packageHandlers) ofGroup(ctx context.Context, as authz.Actor, in listGroupPackagesParams) (api.List[packageEntity], error) {
	none := api.List[packageEntity]{}
	g, err := h.server.Namespaces.Find(ctx, as, in.ID)
	if err != nil {
		return none, err
	}
	like := packageFilterParams{in.OrderBy, in.Sort, in.Kind, in.Name, in.Version, in.Versionless, in.Status}
	filter := like.filter(in.Range())
	filter.Direct = in.Direct
	list, err := h.packages.ListOfGroup(ctx, as, g.Place(), filter)
	if err != nil {
		return none, err
	}
	return h.page(ctx, as, nil, list)
}

type packagePath struct {
	projectPath
	PackageID packages.ID `param:"package_id" doc:"ID of the package"`
}

// mostVersions is how many other versions are shown beside a package.
const mostVersions = 100

func (h packageHandlers) get(ctx context.Context, as authz.Actor, in packagePath) (packageFull, error) {
	p, err := h.packages.Project(ctx, as, in.ID)
	if err != nil {
		return packageFull{}, err
	}
	k, err := h.packages.Find(ctx, as, p, in.PackageID)
	if err != nil {
		return packageFull{}, err
	}
	others, err := h.packages.Versions(ctx, k, page.Range{Limit: mostVersions, Uncounted: true})
	if err != nil {
		return packageFull{}, err
	}
	list := append([]packages.Package{*k}, others.Items...)
	views, err := h.packages.Views(ctx, as, list, packages.ViewOptions{Projects: map[project.ID]*project.Project{p.ID: p}, Pipeline: true})
	if err != nil {
		return packageFull{}, err
	}
	ids := make([]packages.ID, len(views))
	for i := range views {
		ids[i] = views[i].ID
	}
	tags, err := h.packages.Tags(ctx, ids)
	if err != nil {
		return packageFull{}, err
	}
	out := packageFull{Versions: []packageVersion{}}
	for i := range views {
		e := h.entity(&views[i], tags[views[i].ID])
		if i == 0 {
			out.packageEntity = e
			continue
		}
		out.Versions = append(out.Versions, packageVersion{e.ID, e.Version, e.CreatedAt, e.Tags, e.Pipeline})
	}
	return out, nil
}

func (h packageHandlers) delete(ctx context.Context, as authz.Actor, in packagePath) (api.None, error) {
	p, err := h.packages.Project(ctx, as, in.ID)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, h.packages.Delete(ctx, as, p, in.PackageID)
}

type packageFileEntity struct {
	ID        packages.FileID `json:"id"`
	PackageID packages.ID     `json:"package_id"`
	CreatedAt api.Time        `json:"created_at"`
	Name      string          `json:"file_name"`
	Size      int64           `json:"size"`
	MD5       string          `json:"file_md5"`
	SHA1      string          `json:"file_sha1"`
	SHA256    string          `json:"file_sha256"`

	Pipelines []*packagePipeline `json:"pipelines,omitempty"`
}

func packageFileOf(f *packages.File) packageFileEntity {
	return packageFileEntity{f.ID, f.PackageID, api.Time(f.CreatedAt.Time), f.Name, f.Size, f.MD5, f.SHA1, f.SHA256, nil}
}

type listPackageFilesParams struct {
	packagePath
	api.Page
	OrderBy string `param:"order_by" values:"id,created_at,file_name" default:"id" doc:"Column to order by"`
	Sort    string `param:"sort" values:"asc,desc" default:"asc" doc:"asc or desc"`
}

func (h packageHandlers) files(ctx context.Context, as authz.Actor, in listPackageFilesParams) (api.List[packageFileEntity], error) {
	none := api.List[packageFileEntity]{}
	p, err := h.packages.Project(ctx, as, in.ID)
	if err != nil {
		return none, err
	}
	list, err := h.packages.Files(ctx, as, p, in.PackageID, packages.FileFilter{OrderBy: in.OrderBy, Desc: in.Sort == "desc", Range: in.Range()})
	if err != nil {
		return none, err
	}
	made, err := h.packages.PipelinesOfFiles(ctx, as, p, list.Items)
	if err != nil {
		return none, err
	}
	return api.ListOf(list, func(f *packages.File) packageFileEntity {
		e := packageFileOf(f)
		if f.PipelineID != nil {
			if v, ok := made[*f.PipelineID]; ok {
				e.Pipelines = []*packagePipeline{h.pipeline(p, v.Pipeline, v.User)}
			}
		}
		return e
	}), nil
}

type packageFilePath struct {
	packagePath
	FileID packages.FileID `param:"package_file_id" doc:"ID of the file"`
}

func (h packageHandlers) deleteFile(ctx context.Context, as authz.Actor, in packageFilePath) (api.None, error) {
	p, err := h.packages.Project(ctx, as, in.ID)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, h.packages.DeleteFile(ctx, as, p, in.PackageID, in.FileID)
}

func (h packageHandlers) download(ctx context.Context, as authz.Actor, in packageFilePath) (api.Content, error) {
	p, err := h.packages.Project(ctx, as, in.ID)
	if err != nil {
		return api.Content{}, err
	}
	return packageContent(h.packages.Open(ctx, as, p, in.PackageID, in.FileID))
}

// packageContent is the content of a package file, which browsers save and do not show.
func packageContent(f *packages.File, o *blob.Object, err error) (api.Content, error) {
	if err != nil {
		return api.Content{}, err
	}
	return api.Content{Type: "application/octet-stream", ETag: strconv.Quote(f.SHA256), From: o, Header: http.Header{
		"Content-Disposition": {httpkit.Attachment(baseName(f.Name))}, "X-Checksum-Sha256": {f.SHA256}, "X-Content-Type-Options": {"nosniff"},
		"Content-Security-Policy": {"default-src 'none'; sandbox"},
	}}, nil
}

type packagePipelinesParams struct {
	packagePath
	api.ShortPage
}

func (h packageHandlers) pipelines(ctx context.Context, as authz.Actor, in packagePipelinesParams) (api.List[*packagePipeline], error) {
	none := api.List[*packagePipeline]{}
	p, err := h.packages.Project(ctx, as, in.ID)
	if err != nil {
		return none, err
	}
	r := in.Range()
	r.Keyset = r.Keyset || r.Cursor != "" // a cursor is enough here
	list, err := h.packages.Pipelines(ctx, as, p, in.PackageID, r)
	if err != nil {
		return none, err
	}
	views, err := h.packages.PipelineViews(ctx, list.Items)
	if err != nil {
		return none, err
	}
	items := make([]*packagePipeline, len(views))
	for i := range views {
		items[i] = h.pipeline(p, views[i].Pipeline, views[i].User)
	}
	return api.Listed(list, items), nil
}
