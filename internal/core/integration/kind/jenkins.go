package kind

import (
	"context"
	"net/url"
	"strings"
)

func jenkins() *Kind {
	return &Kind{
		ProjectsOnly: true,
		Slug:         "jenkins", Title: "Jenkins", Class: CI,
		Does: "Pushes, tags and merge requests start builds", Send: sendJenkins,
		Settings: []Setting{
			{Name: "jenkins_url", Required: true, URL: true, Where: true, Doc: "URL of the Jenkins server"},
			sslVerification(),
			{Name: "project_name", Required: true, Chars: 255, Doc: "Name of the project in Jenkins"},
			{Name: "username", Chars: 255, Doc: "User of Jenkins"},
			{Name: "password", Secret: true, Doc: "Password of the user"},
		},
		Events: ciEvents(),
	}
}

// sendJenkins posts the event to the project.
func sendJenkins(ctx context.Context, c Caller, v Values, e *Event) error {
	r := hook(strings.TrimSuffix(v.Text("jenkins_url"), "/")+"/project/"+strings.ReplaceAll(url.PathEscape(v.Text("project_name")), "%2F", "/"), e)
	r.User, r.Password, r.Insecure = v.Text("username"), v.Text("password"), v["enable_ssl_verification"] == false
	return deliver(ctx, c, r)
}
