package kind

import (
	"context"
	"net/url"
	"strings"
)

func gitHub() *Kind {
	return &Kind{
		Slug: "github", Title: "GitHub", Class: CI,
		Does: "Pipelines set the status of their commits", Send: sendGitHub,
		Settings: []Setting{
			token("token", "Token of the GitHub API with the scope repo:status"),
			{Name: "repository_url", Required: true, URL: true, Where: true, Doc: "URL of the repository at GitHub"},
			{Name: "static_context", Type: Bool, Default: true, Doc: "Use the host of this instance in the name of statuses, and not the branch"},
		},
		Events: []string{pipelines},
	}
}

// gitHubStates are what GitHub calls the statuses of pipelines.
var gitHubStates = map[string]string{
	"success": "success", "failed": "failure", "canceled": "error", "skipped": "success",
	"created": "pending", "pending": "pending", "running": "pending", "preparing": "pending", "waiting_for_resource": "pending", "scheduled": "pending", "manual": "pending",
}

// sendGitHub sets the status of a commit at GitHub. The repository is OWNER/NAME at the end of its URL.
func sendGitHub(ctx context.Context, c Caller, v Values, e *Event) error {
	u, err := url.Parse(v.Text("repository_url"))
	if err != nil {
		return err
	}
	parts := strings.Split(strings.TrimSuffix(strings.Trim(u.Path, "/"), ".git"), "/")
	state := gitHubStates[e.Status]
	if len(parts) < 2 || state == "" {
		return nil
	}
	api := u.Scheme + "://" + u.Host + "/api/v3"
	if strings.EqualFold(u.Hostname(), "github.com") {
		api = "https://api.github.com"
	}
	label := "ci/gitlab/" + e.Ref.Name
	if here, err := url.Parse(e.Project.Instance); err == nil && v["static_context"] != false {
		label = "ci/gitlab/" + here.Host
	}
	r := jsonTo(api+"/repos/"+url.PathEscape(parts[len(parts)-2])+"/"+url.PathEscape(parts[len(parts)-1])+"/statuses/"+url.PathEscape(e.After), map[string]string{
		"state": state, "context": label, "target_url": e.URL, "description": "Pipeline " + e.Status,
	})
	r.Header["Authorization"] = "Bearer " + v.Text("token")
	return deliver(ctx, c, r)
}
