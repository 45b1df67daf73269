package web

import (
	"github.com/a-h/templ"

	"tenon/internal/core"
	"tenon/internal/core/importexport"
	"tenon/internal/transport/httpkit"
)

// getProjectExport sends the archive of a project.
func (x *visit) getProjectExport() (templ.Component, error) {
	return x.sendExport(core.Part[*importexport.Service](x.Services).Download(x.r.Context(), x.as, x.args["project"]))
}

// getGroupExport sends the archive of a group.
func (x *visit) getGroupExport() (templ.Component, error) {
	return x.sendExport(core.Part[*importexport.Service](x.Services).DownloadGroup(x.r.Context(), x.as, x.args["group"]))
}

func (x *visit) sendExport(a *importexport.Archive, err error) (templ.Component, error) {
	if err != nil {
		return nil, err
	}
	defer func() { _ = a.Close() }()
	x.headers("application/gzip", httpkit.Attachment(a.Name)).Set("Cache-Control", "private, no-store")
	serveContent(x.w, x.r, a)
	return nil, nil
}
