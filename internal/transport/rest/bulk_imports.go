package rest

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/importexport"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("bulk_imports", (*Server).bulkImportRoutes)

type bulkImports struct {
	of *importexport.Service
}

func (s *Server) bulkImportRoutes() []*api.Route {
	b := bulkImports{core.Part[*importexport.Service](s.Services)}
	const list, one, entities = "/bulk_imports", "/bulk_imports/:import_id", "/bulk_imports/:import_id/entities"
	return api.Scoped(nil,
		api.Post(list, b.start).Doc("Start a direct transfer from another server").Needs(authz.TransferDirectly),
		api.Get(list, b.list).Doc("List direct transfers").Needs(authz.TransferDirectly),
		api.Get("/bulk_imports/entities", b.allEntities).Doc("List the entities of all direct transfers").Needs(authz.TransferDirectly),
		api.Get(one, b.get).Doc("Get a direct transfer").Needs(authz.TransferDirectly),
		api.Post(one+"/cancel", b.cancel).Status(http.StatusOK).Doc("Cancel a direct transfer").Needs(authz.TransferDirectly),
		api.Get(one+"/report", summed(b.report)).Doc("Get what became of the rows of a direct transfer").Needs(authz.TransferDirectly),
		api.Get(one+"/report.ndjson", lines(b.report)).Doc("Get the rows of a direct transfer that were not written as they are").Needs(authz.TransferDirectly),
		api.Get(entities, b.entities).Doc("List the entities of a direct transfer").Needs(authz.TransferDirectly),
		api.Get(entities+"/:entity_id", b.entity).Doc("Get an entity of a direct transfer").Needs(authz.TransferDirectly),
		api.Get(entities+"/:entity_id/failures", b.failures).Doc("List the failures of an entity of a direct transfer").Needs(authz.TransferDirectly),
	)
}

// bulkImportEntity is a direct transfer.
type bulkImportEntity struct {
	ID          importexport.BulkID     `json:"id"`
	Status      importexport.BulkStatus `json:"status"`
	SourceType  string                  `json:"source_type"`
	SourceURL   string                  `json:"source_url"`
	CreatedAt   api.Time                `json:"created_at"`
	UpdatedAt   api.Time                `json:"updated_at"`
	HasFailures bool                    `json:"has_failures"`
}

func bulkOf(b *importexport.Bulk) bulkImportEntity {
	return bulkImportEntity{b.ID, b.Status, "gitlab", b.URL, api.Time(b.CreatedAt.Time), api.Time(b.UpdatedAt.Time), b.Failures}
}

func bulkFound(b *importexport.Bulk, err error) (bulkImportEntity, error) {
	if err != nil {
		return bulkImportEntity{}, err
	}
	return bulkOf(b), nil
}

// bulkMemberEntity is a group or project of a direct transfer.
type bulkMemberEntity struct {
	ID                   importexport.EntityID   `json:"id"`
	BulkImportID         importexport.BulkID     `json:"bulk_import_id"`
	Status               importexport.BulkStatus `json:"status"`
	EntityType           string                  `json:"entity_type"`
	SourceFullPath       string                  `json:"source_full_path"`
	DestinationFullPath  string                  `json:"destination_full_path"`
	DestinationName      string                  `json:"destination_name"`
	DestinationSlug      string                  `json:"destination_slug"`
	DestinationNamespace string                  `json:"destination_namespace"`
	ParentID             *importexport.EntityID  `json:"parent_id"`
	NamespaceID          *namespace.ID           `json:"namespace_id"`
	ProjectID            *project.ID             `json:"project_id"`
	CreatedAt            api.Time                `json:"created_at"`
	UpdatedAt            api.Time                `json:"updated_at"`
	Failures             []bulkFailureEntity     `json:"failures"` // the newest 100
	MigrateProjects      bool                    `json:"migrate_projects"`
	MigrateMemberships   bool                    `json:"migrate_memberships"`
	HasFailures          bool                    `json:"has_failures"`
	Stats                map[string]bulkStats    `json:"stats"` // of a finished entity, by relation
}

// bulkStats counts the rows of a relation.
type bulkStats struct {
	Source   int64 `json:"source"`
	Fetched  int64 `json:"fetched"`
	Imported int64 `json:"imported"`
}

// bulkFailureEntity is a relation, or a row of one, that could not be moved.
type bulkFailureEntity struct {
	Relation      string   `json:"relation"`
	Step          string   `json:"step"`
	Message       string   `json:"exception_message"`
	Class         string   `json:"exception_class"`
	CorrelationID string   `json:"correlation_id_value"`
	CreatedAt     api.Time `json:"created_at"`
	PipelineClass string   `json:"pipeline_class"`
	PipelineStep  string   `json:"pipeline_step"`
}

func bulkMemberOf(e *importexport.Entity) bulkMemberEntity {
	out := bulkMemberEntity{
		ID: e.ID, BulkImportID: e.BulkID, Status: e.Status, EntityType: e.Kind, SourceFullPath: e.SourcePath, DestinationFullPath: e.FullPath(), DestinationName: e.Slug,
		DestinationSlug: e.Slug, DestinationNamespace: e.Destination, ParentID: e.ParentID, NamespaceID: e.NamespaceID, ProjectID: e.ProjectID,
		CreatedAt: api.Time(e.CreatedAt.Time), UpdatedAt: api.Time(e.UpdatedAt.Time), Failures: make([]bulkFailureEntity, len(e.Failures)),
		MigrateProjects: !e.NoProjects, MigrateMemberships: !e.NoMembers, HasFailures: len(e.Failures) > 0,
		Stats: make(map[string]bulkStats, len(e.Stats)),
	}
	for relation, n := range e.Stats {
		out.Stats[relation] = bulkStats{n.Fetched, n.Fetched, n.Imported}
	}
	for i, f := range e.Failures {
		out.Failures[i] = bulkFailureEntity{
			f.Relation, f.Step, f.Message, f.Class, f.CorrelationID, api.Time(f.CreatedAt.Time), pipelineClass(e.Kind, f.Relation), f.Step,
		}
	}
	return out
}

// pipelineClass is the name that the reference has for what moves a relation.
func pipelineClass(kind, relation string) string {
	var name strings.Builder
	for part := range strings.SplitSeq(relation, "_") {
		if part != "" {
			name.WriteString(strings.ToUpper(part[:1]) + part[1:])
		}
	}
	where := "Groups"
	switch relation {
	case "labels", "milestones", "badges", "project_badges", "boards", "uploads", "lfs_objects", "members", "wiki":
		where = "Common"
	case "":
		name.WriteString("Entity")
		where = "Common"
	default:
		if kind == "project" {
			where = "Projects"
		}
	}
	return "BulkImports::" + where + "::Pipelines::" + name.String() + "Pipeline"
}

type startBulkParams struct {
	Configuration bulkConfiguration  `param:"configuration,required" doc:"The source"`
	Entities      []bulkEntityParams `param:"entities,required" doc:"What is moved"`
}

type bulkConfiguration struct {
	URL   string `param:"url,required" doc:"Base URL of the source"`
	Token string `param:"access_token,required" doc:"Personal access token for the source, with the scope api"`
}

type bulkEntityParams struct {
	SourceType  string `param:"source_type,required" values:"group_entity" doc:"Kind of what is moved"`
	SourcePath  string `param:"source_full_path,required" doc:"Full path at the source"`
	Slug        string `param:"destination_slug" doc:"Path here"`
	Name        string `param:"destination_name" doc:"Deprecated: use destination_slug"`
	Destination string `param:"destination_namespace,required" doc:"Full path of the group that it is moved into; empty for the top level"`
	Projects    *bool  `param:"migrate_projects" doc:"Move the projects of groups as well; defaults to true"`
	Members     *bool  `param:"migrate_memberships" doc:"Move memberships as well; defaults to true"`

	_ struct{} `exactlyone:"destination_slug,destination_name"`
}

// What paths of a transfer look like.
var (
	slugPattern = regexp.MustCompile(`\A[A-Za-z0-9][A-Za-z0-9_.-]*\z`)
	pathPattern = regexp.MustCompile(`\A[A-Za-z0-9][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)*\z`)
)

func invalidEntity(text string) error {
	return errs.Coded(errs.BadRequest, importexport.CodeEntity, text)
}

func (p *bulkEntityParams) input(at int) (importexport.EntityInput, error) {
	in := importexport.EntityInput{
		SourcePath: strings.Trim(p.SourcePath, "/"), Destination: strings.Trim(p.Destination, "/"), NoProjects: p.Projects != nil && !*p.Projects,
		NoMembers: p.Members != nil && !*p.Members,
	}
	name := fmt.Sprintf("entities[%d]", at)
	in.Slug = p.Slug + p.Name
	const relative = " must be a relative path and not include protocol, sub-domain, or domain information. For example, '%s' not 'https://example.com/%[1]s'"
	switch {
	case !pathPattern.MatchString(in.SourcePath):
		return in, invalidEntity(name + "[source_full_path]" + fmt.Sprintf(relative, "source/full/path"))
	case in.Destination != "" && !pathPattern.MatchString(in.Destination):
		return in, invalidEntity(name + "[destination_namespace]" + fmt.Sprintf(relative, "destination_namespace"))
	case !slugPattern.MatchString(in.Slug) || !account.ValidPath(in.Slug):
		return in, invalidEntity(name + "[destination_slug] can only include non-accented letters, digits, '_', '-' and '.'. It must not start with '-', '_', or '.', " +
			"nor end with '-', '_', '.', '.git', or '.atom'. For example, 'destination_namespace' not 'destination/namespace'")
	}
	return in, nil
}

func (b bulkImports) start(ctx context.Context, as authz.Actor, p startBulkParams) (bulkImportEntity, error) {
	in := importexport.BulkInput{URL: p.Configuration.URL, Token: p.Configuration.Token}
	if len(p.Entities) == 0 {
		return bulkImportEntity{}, errs.Coded(errs.BadRequest, importexport.CodeEntity, "entities is empty")
	}
	if len(p.Entities) > importexport.MaxEntities {
		return bulkImportEntity{}, errs.Bad(fmt.Sprintf("entities must not have more than %d elements", importexport.MaxEntities))
	}
	for i := range p.Entities {
		one, err := p.Entities[i].input(i)
		if err != nil {
			return bulkImportEntity{}, err
		}
		in.Entities = append(in.Entities, one)
	}
	return bulkFound(b.of.StartBulk(ctx, as, in))
}

type bulkListParams struct {
	Sort   string `param:"sort" values:"asc,desc" default:"desc" doc:"Order by creation date"`
	Status string `param:"status" values:"created,started,finished,failed" doc:"Those with this status"`
	api.Page
}

func (p *bulkListParams) filter() importexport.BulkFilter {
	return importexport.BulkFilter{Status: importexport.BulkStatus(p.Status), Asc: p.Sort == "asc", Range: p.Range()}
}

func (b bulkImports) list(ctx context.Context, as authz.Actor, p bulkListParams) (api.List[bulkImportEntity], error) {
	list, err := b.of.Bulks(ctx, as, p.filter())
	if err != nil {
		return api.List[bulkImportEntity]{}, err
	}
	return api.ListOf(list, bulkOf), nil
}

func bulkMembers(list page.Page[importexport.Entity], err error) (api.List[bulkMemberEntity], error) {
	if err != nil {
		return api.List[bulkMemberEntity]{}, err
	}
	return api.ListOf(list, bulkMemberOf), nil
}

func (b bulkImports) allEntities(ctx context.Context, as authz.Actor, p bulkListParams) (api.List[bulkMemberEntity], error) {
	return bulkMembers(b.of.Entities(ctx, as, 0, p.filter()))
}

type bulkPath struct {
	ID importexport.BulkID `param:"import_id" doc:"ID of the direct transfer"`
}

type bulkEntitiesParams struct {
	bulkPath
	bulkListParams
}

func (b bulkImports) entities(ctx context.Context, as authz.Actor, p bulkEntitiesParams) (api.List[bulkMemberEntity], error) {
	return bulkMembers(b.of.Entities(ctx, as, p.ID, p.filter()))
}

func (b bulkImports) get(ctx context.Context, as authz.Actor, p bulkPath) (bulkImportEntity, error) {
	return bulkFound(b.of.Bulk(ctx, as, p.ID))
}

func (b bulkImports) report(ctx context.Context, as authz.Actor, p bulkPath) (*importexport.Report, error) {
	return b.of.BulkReport(ctx, as, p.ID)
}

func (b bulkImports) cancel(ctx context.Context, as authz.Actor, p bulkPath) (bulkImportEntity, error) {
	return bulkFound(b.of.CancelBulk(ctx, as, p.ID))
}

type bulkMemberPath struct {
	bulkPath
	Entity importexport.EntityID `param:"entity_id" doc:"ID of the entity"`
}

func (b bulkImports) entity(ctx context.Context, as authz.Actor, p bulkMemberPath) (bulkMemberEntity, error) {
	e, err := b.of.Entity(ctx, as, p.ID, p.Entity)
	if err != nil {
		return bulkMemberEntity{}, err
	}
	return bulkMemberOf(e), nil
}

func (b bulkImports) failures(ctx context.Context, as authz.Actor, p bulkMemberPath) ([]bulkFailureEntity, error) {
	e, err := b.entity(ctx, as, p)
	return e.Failures, err
}
