package kind

import (
	"strings"

	"tenon/internal/base/errs"
	"tenon/internal/base/pattern"
	"tenon/internal/core/project"
)

func linear() *Kind {
	return &Kind{
		Slug: "linear", Title: "Linear", Class: Tracker, Since: "18.x",
		Does:  "References in texts and a link on pages lead to the tracker",
		Later: unlisted,
		Settings: []Setting{
			{Name: "workspace_url", Required: true, URL: true, Doc: "URL of the workspace, such as https://linear.app/example"},
		},
		Events: []string{pushes},
		Check: func(v Values, f *errs.Fields) {
			f.Check(linearWorkspace().MatchString(v.Text("workspace_url")), "workspace_url", "URL must point to a workspace URL like https://linear.app/example")
		},
		Tracker: func(v Values) project.Tracker {
			workspace := strings.TrimSuffix(v.Text("workspace_url"), "/")
			return project.Tracker{Link: project.Link{URL: workspace}, IssueURL: workspace + "/issue/:id", Reference: keys}
		},
	}
}

var linearWorkspace = pattern.New(`^https://linear\.app/[\w-]+/?$`)
