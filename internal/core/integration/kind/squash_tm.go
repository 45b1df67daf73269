package kind

func squashTM() *Kind {
	return &Kind{
		Slug: "squash-tm", Title: "Squash TM", Class: Source,
		Later: unsent,
		Settings: []Setting{
			{Name: "url", Required: true, URL: true, Where: true, Doc: "URL of the Squash TM webhook"},
			{Name: "token", Secret: true, Chars: 255, Doc: "Secret token"},
		},
		Events: []string{issues, confidentialIssues},
	}
}
