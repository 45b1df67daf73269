package kind

func clickUp() *Kind {
	return &Kind{
		Slug: "clickup", Title: "ClickUp", Class: Tracker,
		Later:    unused,
		Settings: trackerLinks(false),
		Events:   []string{pushes},
	}
}
