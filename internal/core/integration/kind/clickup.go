package kind

import "tenon/internal/core/project"

func clickUp() *Kind {
	return &Kind{
		Slug: "clickup", Title: "ClickUp", Class: Tracker,
		Does:     "References in texts and a link on pages lead to the tracker",
		Later:    unlisted,
		Settings: trackerLinks(false),
		Events:   []string{pushes},
		Tracker:  func(v Values) project.Tracker { return tracker(v, `(?:#|CU-)([a-z0-9]+)`) },
	}
}
