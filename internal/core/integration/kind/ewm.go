package kind

import (
	"strings"

	"tenon/internal/base/errs"
	"tenon/internal/core/project"
)

func ewm() *Kind {
	return &Kind{
		Slug: "ewm", Title: "EWM", Class: Tracker,
		Does:     "References in texts and a link on pages lead to the tracker",
		Later:    unlisted,
		Settings: trackerLinks(true),
		Events:   []string{pushes},
		Check: func(v Values, f *errs.Fields) {
			f.Check(strings.Contains(v.Text("issues_url"), ":id"), "issues_url", "must contain :id")
		},
		Tracker: func(v Values) project.Tracker {
			out := numbered(v)
			out.Reference += `|(?i:(?:bug|task|work item|workitem|rtcwi|defect) +)(\d+)`
			return out
		},
	}
}
