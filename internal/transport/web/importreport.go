package web

import (
	"github.com/a-h/templ"

	"tenon/internal/core"
	"tenon/internal/core/importexport"
)

// maxReportRows bounds the rows of a report on a page; the interface has all that are kept.
const maxReportRows = 500

// getProjectImportReport shows what became of the rows of the import of a project.
func (x *visit) getProjectImportReport() (templ.Component, error) {
	p, err := x.project("")
	if err != nil {
		return nil, err
	}
	r, err := core.Part[*importexport.Service](x.Services).ProjectReport(x.r.Context(), x.as, p.FullPath)
	if err != nil {
		return nil, err
	}
	return x.importReport(r)
}

// getGroupImportReport shows what became of the rows of the import of a group with the groups below it.
func (x *visit) getGroupImportReport() (templ.Component, error) {
	g, err := x.group("")
	if err != nil {
		return nil, err
	}
	r, err := core.Part[*importexport.Service](x.Services).GroupReport(x.r.Context(), x.as, g.FullPath)
	if err != nil {
		return nil, err
	}
	return x.importReport(r)
}

func (x *visit) importReport(r *importexport.Report) (templ.Component, error) {
	x.title("Import report")
	x.sheet.API += "/import/report"
	return importReport(r), nil
}

// shownItems are the rows of a report that are on its page.
func shownItems(r *importexport.Report) []importexport.ReportItem {
	return r.Items[:min(len(r.Items), maxReportRows)]
}
