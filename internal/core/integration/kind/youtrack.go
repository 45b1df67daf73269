package kind

func youTrack() *Kind {
	return &Kind{
		Slug: "youtrack", Title: "JetBrains YouTrack", Class: Tracker,
		Later:    unused,
		Settings: trackerLinks(false),
		Events:   []string{pushes},
	}
}
