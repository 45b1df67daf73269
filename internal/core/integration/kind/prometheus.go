package kind

func prometheus() *Kind {
	return &Kind{
		Slug: "prometheus", Title: "Prometheus", Class: CI,
		Later: "Nothing is read from Prometheus: the API of metrics is not part of this server",
		Settings: []Setting{
			{Name: "manual_configuration", Type: Bool, Doc: "Whether the settings were entered by hand"},
			{Name: "api_url", Required: true, URL: true, Where: true, Doc: "URL of the API of Prometheus"},
			{Name: "google_iap_audience_client_id", Required: true, Blank: true, Chars: 255, Doc: "Client ID of the resource that Google's Identity-Aware Proxy protects"},
			{Name: "google_iap_service_account_json", Required: true, Blank: true, Secret: true, Chars: maxKey, Doc: "Key of the service account, as JSON"},
		},
	}
}
