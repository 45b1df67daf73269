package kind

func gitHub() *Kind {
	return &Kind{
		Slug: "github", Title: "GitHub", Class: CI,
		Later: unsent,
		Settings: []Setting{
			token("token", "Token of the GitHub API with the scope repo:status"),
			{Name: "repository_url", Required: true, URL: true, Where: true, Doc: "URL of the repository at GitHub"},
			{Name: "static_context", Type: Bool, Default: true, Doc: "Use the host of this instance in the name of statuses, and not the branch"},
		},
		Events: []string{pipelines},
	}
}
