package kind

func teamCity() *Kind {
	return &Kind{
		Slug: "teamcity", Title: "JetBrains TeamCity", Class: CI,
		Later: unsent,
		Settings: []Setting{
			{Name: "teamcity_url", Required: true, URL: true, Where: true, Doc: "URL of the TeamCity server"},
			sslVerification(),
			{Name: "build_type", Required: true, Chars: 255, Doc: "ID of the build configuration"},
			{Name: "username", Required: true, Chars: 255, Doc: "User who starts builds"},
			token("password", "Password of the user"),
		},
		Events: []string{pushes, mergeRequests},
	}
}
