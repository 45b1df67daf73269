package kind

import (
	"context"
	"net/url"
	"strings"
)

func buildkite() *Kind {
	return &Kind{
		Slug: "buildkite", Title: "Buildkite", Class: CI,
		Does: "Pushes, tags and merge requests start builds", Send: sendBuildkite,
		Settings: []Setting{
			token("token", "Token that Buildkite gives after a pipeline is created"),
			{Name: "project_url", Required: true, URL: true, Where: true, Doc: "URL of the pipeline"},
			{Name: "enable_ssl_verification", Type: Bool, Default: true, Doc: "Deprecated and without effect: the certificate is always verified"},
		},
		Events: ciEvents(),
	}
}

// sendBuildkite posts the event to the hook of the pipeline.
func sendBuildkite(ctx context.Context, c Caller, v Values, e *Event) error {
	token, _, _ := strings.Cut(v.Text("token"), ":")
	r := hook("https://webhook.buildkite.com/deliver/"+url.PathEscape(token), e)
	return deliver(ctx, c, r)
}
