package kind

import (
	"strings"

	"tenon/internal/base/errs"
)

func ewm() *Kind {
	return &Kind{
		Slug: "ewm", Title: "EWM", Class: Tracker,
		Later:    unused,
		Settings: trackerLinks(true),
		Events:   []string{pushes},
		Check: func(v Values, f *errs.Fields) {
			f.Check(strings.Contains(v.Text("issues_url"), ":id"), "issues_url", "must contain :id")
		},
	}
}
