package kind

func bamboo() *Kind {
	return &Kind{
		Slug: "bamboo", Title: "Atlassian Bamboo", Class: CI,
		Later: unsent,
		Settings: []Setting{
			{Name: "bamboo_url", Required: true, URL: true, Where: true, Doc: "Root URL of Bamboo"},
			token("build_key", "Key of the build plan, such as KEY"),
			{Name: "username", Required: true, Doc: "User who starts builds"},
			token("password", "Password of the user"),
			sslVerification(),
		},
		Events: []string{pushes},
	}
}
