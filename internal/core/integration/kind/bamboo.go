package kind

import (
	"context"
	"net/url"
	"strings"
)

func bamboo() *Kind {
	return &Kind{
		Slug: "bamboo", Title: "Atlassian Bamboo", Class: CI,
		Does: "Pushes of branches start builds", Send: sendBamboo,
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

// sendBamboo has the plan look for changes.
func sendBamboo(ctx context.Context, c Caller, v Values, e *Event) error {
	if e.Ref.Deleted || e.Ref.Tag {
		return nil
	}
	q := url.Values{"buildKey": {v.Text("build_key")}, "os_authType": {"basic"}}
	return deliver(ctx, c, Request{
		Method: "GET", URL: strings.TrimSuffix(v.Text("bamboo_url"), "/") + "/updateAndBuild.action?" + q.Encode(),
		User: v.Text("username"), Password: v.Text("password"), Insecure: v["enable_ssl_verification"] == false,
	})
}
