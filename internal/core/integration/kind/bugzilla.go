package kind

func bugzilla() *Kind {
	return &Kind{
		Slug: "bugzilla", Title: "Bugzilla", Class: Tracker,
		Later:    unused,
		Settings: trackerLinks(true),
		Events:   []string{pushes},
	}
}
