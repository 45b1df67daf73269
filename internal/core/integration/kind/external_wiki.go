package kind

func externalWiki() *Kind {
	return &Kind{
		Slug: "external-wiki", Title: "External wiki", Class: Wiki,
		Does: "A link on pages of the project leads to the wiki",
		Settings: []Setting{
			{Name: "external_wiki_url", Required: true, URL: true, Doc: "URL of the wiki"},
		},
		Wiki: func(v Values) string { return v.Text("external_wiki_url") },
	}
}
