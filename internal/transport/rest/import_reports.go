package rest

import (
	"context"
	"net/http"

	"tenon/internal/core/authz"
	"tenon/internal/core/importexport"
	"tenon/internal/core/tree"
	"tenon/internal/transport/rest/api"
)

// reportEntity says what became of the rows of an import.
type reportEntity struct {
	Relations []relationReport `json:"relations"`
	Items     []reportItem     `json:"items"` // the first 10,000, for 30 days
}

// relationReport counts the rows of a relation.
type relationReport struct {
	Name    string `json:"name"`
	Read    int64  `json:"read"`
	Written int64  `json:"written"`
	Merged  int64  `json:"merged"`  // with what was there
	Changed int64  `json:"changed"` // written, but not as they are
	Lost    int64  `json:"lost"`
}

// reportItem is a row that was not written as it is.
type reportItem struct {
	Relation string      `json:"relation"`
	Line     int64       `json:"line"` // from 1, 0 for a file
	Action   tree.Action `json:"action"`
	Reason   string      `json:"reason"`
	Title    string      `json:"title"`
}

func (i imports) reportRoutes() []*api.Route {
	const project, group = "/projects/:id/import/report", "/groups/:id/import/report"
	return []*api.Route{
		api.Get(project, summed(i.projectReport)).Doc("Get what became of the rows of an import of a project").Needs(authz.ReadImport),
		api.Get(project+".ndjson", lines(i.projectReport)).Doc("Get the rows of an import of a project that were not written as they are").Needs(authz.ReadImport),
		api.Get(group, summed(i.groupReport)).Doc("Get what became of the rows of an import of a group").Needs(authz.AdminGroup),
		api.Get(group+".ndjson", lines(i.groupReport)).Doc("Get the rows of an import of a group that were not written as they are").Needs(authz.AdminGroup),
	}
}

func (i imports) projectReport(ctx context.Context, as authz.Actor, p projectPath) (*importexport.Report, error) {
	return i.of.ProjectReport(ctx, as, p.ID)
}

func (i imports) groupReport(ctx context.Context, as authz.Actor, p groupPath) (*importexport.Report, error) {
	return i.of.GroupReport(ctx, as, p.ID)
}

// summed is a report as one object.
func summed[P any](report func(ctx context.Context, as authz.Actor, p P) (*importexport.Report, error)) func(ctx context.Context, as authz.Actor, p P) (reportEntity, error) {
	return func(ctx context.Context, as authz.Actor, p P) (reportEntity, error) {
		of, err := report(ctx, as, p)
		if err != nil {
			return reportEntity{}, err
		}
		return reportOf(of), nil
	}
}

// ImportReport is a report as clients get it.
func ImportReport(r *importexport.Report) any { return reportOf(r) }

func itemOf(item importexport.ReportItem) reportItem {
	return reportItem{item.Relation, item.Line, item.Action, item.Reason, item.Title}
}

func reportOf(r *importexport.Report) reportEntity {
	out := reportEntity{make([]relationReport, len(r.Relations)), make([]reportItem, len(r.Items))}
	for j, rel := range r.Relations {
		out.Relations[j] = relationReport{rel.Name, rel.Read, rel.Written, rel.Merged, rel.Changed, rel.Lost}
	}
	for j, item := range r.Items {
		out.Items[j] = itemOf(item)
	}
	return out
}

// lines is a report as lines of JSON, one for each item, with the rows that are kept.
func lines[P any](report func(ctx context.Context, as authz.Actor, p P) (*importexport.Report, error)) func(ctx context.Context, as authz.Actor, p P) (api.Content, error) {
	return func(ctx context.Context, as authz.Actor, p P) (api.Content, error) {
		of, err := report(ctx, as, p)
		if err != nil {
			return api.Content{}, err
		}
		out, err := of.Lines(ctx)
		if err != nil {
			return api.Content{}, err
		}
		return api.Content{Type: "application/x-ndjson", Header: http.Header{"Cache-Control": {"private, no-store"}}, From: api.Forward(out, out.Size)}, nil
	}
}
