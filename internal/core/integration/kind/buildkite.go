package kind

func buildkite() *Kind {
	return &Kind{
		Slug: "buildkite", Title: "Buildkite", Class: CI,
		Later: unsent,
		Settings: []Setting{
			token("token", "Token that Buildkite gives after a pipeline is created"),
			{Name: "project_url", Required: true, URL: true, Where: true, Doc: "URL of the pipeline"},
			{Name: "enable_ssl_verification", Type: Bool, Default: true, Doc: "Deprecated and without effect: the certificate is always verified"},
		},
		Events: ciEvents(),
	}
}
