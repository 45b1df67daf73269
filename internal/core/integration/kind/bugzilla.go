package kind

func bugzilla() *Kind {
	return &Kind{
		Slug: "bugzilla", Title: "Bugzilla", Class: Tracker,
		Does:     "References in texts and a link on pages lead to the tracker",
		Later:    unlisted,
		Settings: trackerLinks(true),
		Events:   []string{pushes},
		Tracker:  numbered,
	}
}
