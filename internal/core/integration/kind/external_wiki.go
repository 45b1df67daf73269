package kind

func externalWiki() *Kind {
	return &Kind{
		Slug: "external-wiki", Title: "External wiki", Class: Wiki,
		Later: unused,
		Settings: []Setting{
			{Name: "external_wiki_url", Required: true, URL: true, Doc: "URL of the wiki"},
		},
	}
}
