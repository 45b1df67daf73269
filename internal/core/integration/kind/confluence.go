package kind

import (
	"net/url"
	"strings"

	"tenon/internal/base/errs"
)

func confluence() *Kind {
	return &Kind{
		Slug: "confluence", Title: "Confluence Workspace", Class: Wiki,
		Does: "A link on pages of the project leads to the workspace",
		Settings: []Setting{
			{Name: "confluence_url", Required: true, URL: true, Doc: "URL of the Confluence Cloud workspace, below atlassian.net"},
		},
		Check: func(v Values, f *errs.Fields) {
			u, err := url.Parse(v.Text("confluence_url"))
			f.Check(err == nil && strings.HasSuffix(u.Hostname(), ".atlassian.net") && (u.Path == "/wiki" || strings.HasPrefix(u.Path, "/wiki/")), "confluence_url",
				"URL must be to a Confluence Cloud Workspace hosted on atlassian.net")
		},
		Wiki: func(v Values) string { return v.Text("confluence_url") },
	}
}
