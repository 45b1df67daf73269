package web

import (
	"github.com/a-h/templ"

	"tenon/internal/core"
	"tenon/internal/core/importexport"
	"tenon/internal/transport/httpkit"
)

// getProjectExport sends the archive of a project.
func (x *visit) getProjectExport() (templ.Component, error) {
	a, err := core.Part[*importexport.Service](x.Services).Download(x.r.Context(), x.as, x.args["project"])
	if err != nil {
		return nil, err
	}
	defer func() { _ = a.Close() }()
	x.headers("application/gzip", httpkit.Attachment(a.Name)).Set("Cache-Control", "private, no-store")
	serveContent(x.w, x.r, a)
	return nil, nil
}
