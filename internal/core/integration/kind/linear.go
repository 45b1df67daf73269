package kind

import (
	"tenon/internal/base/errs"
	"tenon/internal/base/pattern"
)

func linear() *Kind {
	return &Kind{
		Slug: "linear", Title: "Linear", Class: Tracker, Since: "18.x",
		Later: unused,
		Settings: []Setting{
			{Name: "workspace_url", Required: true, URL: true, Doc: "URL of the workspace, such as https://linear.app/example"},
		},
		Events: []string{pushes},
		Check: func(v Values, f *errs.Fields) {
			f.Check(linearWorkspace().MatchString(v.Text("workspace_url")), "workspace_url", "URL must point to a workspace URL like https://linear.app/example")
		},
	}
}

var linearWorkspace = pattern.New(`^https://linear\.app/[\w-]+/?$`)
