package kind

func asana() *Kind {
	return &Kind{
		Slug: "asana", Title: "Asana", Class: Source,
		Later: unsent,
		Settings: []Setting{
			token("api_key", "Personal access token of Asana, with which tasks are commented on"),
			{Name: "restrict_to_branch", Doc: "Branches whose commits count, separated by commas; all where blank"},
		},
		Events: []string{pushes},
	}
}
