package kind

func redmine() *Kind {
	return &Kind{
		Slug: "redmine", Title: "Redmine", Class: Tracker,
		Does:     "References in texts and a link on pages lead to the tracker",
		Later:    unlisted,
		Settings: trackerLinks(true),
		Events:   []string{pushes},
		Tracker:  numbered,
	}
}
