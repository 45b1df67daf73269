package kind

func assembla() *Kind {
	return &Kind{
		Slug: "assembla", Title: "Assembla", Class: Source,
		Later: unsent,
		Settings: []Setting{
			token("token", "Authentication token of Assembla"),
			{Name: "subdomain", Where: true, Host: true, Chars: 63, Doc: "Subdomain at Assembla"},
		},
		Events: []string{pushes},
	}
}
