package kind

func redmine() *Kind {
	return &Kind{
		Slug: "redmine", Title: "Redmine", Class: Tracker,
		Later:    unused,
		Settings: trackerLinks(true),
		Events:   []string{pushes},
	}
}
