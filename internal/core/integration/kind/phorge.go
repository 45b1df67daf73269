package kind

import "tenon/internal/core/project"

func phorge() *Kind {
	return &Kind{
		Slug: "phorge", Title: "Phorge", Class: Tracker, Since: "16.x",
		Does:     "References in texts and a link on pages lead to the tracker",
		Later:    unlisted,
		Settings: trackerLinks(false),
		Events:   []string{pushes},
		Tracker:  func(v Values) project.Tracker { return tracker(v, `(T\d+)`) },
	}
}
