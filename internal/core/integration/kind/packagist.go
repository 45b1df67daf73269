package kind

import (
	"cmp"
	"context"
	"net/url"
	"strings"
)

func packagist() *Kind {
	return &Kind{
		Slug: "packagist", Title: "Packagist", Class: Source,
		Does: "Pushes and tags have the package read again", Send: sendPackagist,
		Settings: []Setting{
			{Name: "username", Required: true, Chars: 255, Doc: "User of Packagist"},
			token("token", "API token of Packagist"),
			{Name: "server", URL: true, Where: true, Doc: "URL of the Packagist server; https://packagist.org where blank"},
		},
		Events: ciEvents(),
	}
}

// sendPackagist has the package read again.
func sendPackagist(ctx context.Context, c Caller, v Values, e *Event) error {
	q := url.Values{"username": {v.Text("username")}, "apiToken": {v.Text("token")}}
	return deliver(ctx, c, hook(strings.TrimSuffix(cmp.Or(v.Text("server"), "https://packagist.org"), "/")+"/api/update-package?"+q.Encode(), e))
}
