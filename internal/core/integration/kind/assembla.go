package kind

import (
	"context"
	"encoding/json"
	"net/url"
)

func assembla() *Kind {
	return &Kind{
		Slug: "assembla", Title: "Assembla", Class: Source,
		Does: "Each push is posted to the space", Send: sendAssembla,
		Settings: []Setting{
			token("token", "Authentication token of Assembla"),
			{Name: "subdomain", Where: true, Host: true, Chars: 63, Doc: "Subdomain at Assembla"},
		},
		Events: []string{pushes},
	}
}

// sendAssembla posts the push.
func sendAssembla(ctx context.Context, c Caller, v Values, e *Event) error {
	if v.Text("subdomain") == "" {
		return nil
	}
	address := "https://atlas.assembla.com/spaces/" + v.Text("subdomain") + "/github_tool?secret_key=" + url.QueryEscape(v.Text("token"))
	return deliver(ctx, c, jsonTo(address, map[string]json.RawMessage{"payload": e.Body}))
}
