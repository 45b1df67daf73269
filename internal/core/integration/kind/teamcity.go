package kind

import (
	"context"
	"encoding/xml"
	"strings"
)

func teamCity() *Kind {
	return &Kind{
		Slug: "teamcity", Title: "JetBrains TeamCity", Class: CI,
		Does: "Pushes of branches and merge requests start builds", Send: sendTeamCity,
		Settings: []Setting{
			{Name: "teamcity_url", Required: true, URL: true, Where: true, Doc: "URL of the TeamCity server"},
			sslVerification(),
			{Name: "build_type", Required: true, Chars: 255, Doc: "ID of the build configuration"},
			{Name: "username", Required: true, Chars: 255, Doc: "User who starts builds"},
			token("password", "Password of the user"),
		},
		Events: []string{pushes, mergeRequests},
	}
}

// sendTeamCity has a branch built.
func sendTeamCity(ctx context.Context, c Caller, v Values, e *Event) error {
	branch := e.Ref.Name
	if e.Flag == mergeRequests {
		branch = e.Source.Name
	}
	if branch == "" || e.Ref.Deleted || e.Ref.Tag || e.Flag == mergeRequests && !builds(e) {
		return nil
	}
	type buildType struct {
		ID string `xml:"id,attr"`
	}
	text, err := xml.Marshal(struct {
		XMLName xml.Name  `xml:"build"`
		Branch  string    `xml:"branchName,attr"`
		Type    buildType `xml:"buildType"`
	}{Branch: branch, Type: buildType{v.Text("build_type")}})
	if err != nil {
		return err
	}
	return deliver(ctx, c, Request{
		URL: strings.TrimSuffix(v.Text("teamcity_url"), "/") + "/httpAuth/app/rest/buildQueue", Body: text, Header: map[string]string{"Content-Type": "application/xml"},
		User: v.Text("username"), Password: v.Text("password"), Insecure: v["enable_ssl_verification"] == false,
	})
}
