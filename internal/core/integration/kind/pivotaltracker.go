package kind

func pivotalTracker() *Kind {
	return &Kind{
		Slug: "pivotaltracker", Title: "Pivotal Tracker", Class: Source,
		Later: unsent,
		Settings: []Setting{
			token("token", "API token of Pivotal Tracker"),
			{Name: "restrict_to_branch", Doc: "Branches whose commits count, separated by commas; all where blank"},
		},
		Events: []string{pushes},
	}
}
