package kind

import (
	"context"
	"net/url"
	"path"
	"slices"
	"strings"
)

func droneCI() *Kind {
	return &Kind{
		Slug: "drone-ci", Title: "Drone", Class: CI,
		Does: "Pushes, tags and merge requests start builds", Send: sendDrone,
		Settings: []Setting{
			token("token", "Token of Drone CI"),
			{Name: "drone_url", Required: true, URL: true, Where: true, Doc: "URL of Drone, such as http://drone.example.com"},
			sslVerification(),
		},
		Events: ciEvents(),
	}
}

// sendDrone posts what may start a build: pushes of branches and tags that are there, and open merge requests.
func sendDrone(ctx context.Context, c Caller, v Values, e *Event) error {
	if e.Ref.Deleted || e.Flag == mergeRequests && !builds(e) {
		return nil
	}
	q := url.Values{"owner": {path.Dir(e.Project.Path)}, "name": {path.Base(e.Project.Path)}, "access_token": {v.Text("token")}}
	r := hook(strings.TrimSuffix(v.Text("drone_url"), "/")+"/hook?"+q.Encode(), e)
	r.Insecure = v["enable_ssl_verification"] == false
	return deliver(ctx, c, r)
}

// builds reports whether an event of a merge request may start a build.
func builds(e *Event) bool { return slices.Contains([]string{"open", "reopen", "update"}, e.Action) }
