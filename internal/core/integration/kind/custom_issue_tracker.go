package kind

func customIssueTracker() *Kind {
	return &Kind{
		Slug: "custom-issue-tracker", Title: "Custom issue tracker", Class: Tracker,
		Does:     "References in texts and a link on pages lead to the tracker",
		Later:    unlisted,
		Settings: trackerLinks(true),
		Events:   []string{pushes},
		Tracker:  numbered,
	}
}
