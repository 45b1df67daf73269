package kind

func zenTao() *Kind {
	return &Kind{
		Slug: "zentao", Title: "ZenTao", Class: Tracker,
		Settings: []Setting{
			{Name: "url", Required: true, URL: true, Where: true, Doc: "URL of the web interface of ZenTao"},
			{Name: "api_url", URL: true, Where: true, Doc: "URL of the API of ZenTao; url where blank"},
			token("api_token", "Token of the API of ZenTao"),
			{Name: "zentao_product_xid", Required: true, Chars: 255, Doc: "ID of the product"},
		},
		Unavailable: "Projects cannot set it up at this level of the API",
	}
}
