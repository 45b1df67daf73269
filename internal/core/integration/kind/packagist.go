package kind

func packagist() *Kind {
	return &Kind{
		Slug: "packagist", Title: "Packagist", Class: Source,
		Later: unsent,
		Settings: []Setting{
			{Name: "username", Required: true, Chars: 255, Doc: "User of Packagist"},
			token("token", "API token of Packagist"),
			{Name: "server", URL: true, Where: true, Doc: "URL of the Packagist server; https://packagist.org where blank"},
		},
		Events: ciEvents(),
	}
}
