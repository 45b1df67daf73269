package kind

func customIssueTracker() *Kind {
	return &Kind{
		Slug: "custom-issue-tracker", Title: "Custom issue tracker", Class: Tracker,
		Later:    unused,
		Settings: trackerLinks(true),
		Events:   []string{pushes},
	}
}
