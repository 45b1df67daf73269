package kind

import "tenon/internal/core/project"

func youTrack() *Kind {
	return &Kind{
		Slug: "youtrack", Title: "JetBrains YouTrack", Class: Tracker,
		Does:     "References in texts and a link on pages lead to the tracker",
		Later:    unlisted,
		Settings: trackerLinks(false),
		Events:   []string{pushes},
		Tracker:  func(v Values) project.Tracker { return tracker(v, mixedKeys) },
	}
}
