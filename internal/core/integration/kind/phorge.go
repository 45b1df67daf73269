package kind

func phorge() *Kind {
	return &Kind{
		Slug: "phorge", Title: "Phorge", Class: Tracker, Since: "16.x",
		Later:    unused,
		Settings: trackerLinks(false),
		Events:   []string{pushes},
	}
}
