package clients

import (
	"net/http"
	"strings"
	"testing"
	"time"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"

	"tenon/internal/core/integration/integrationtest"
	"tenon/internal/core/integration/kind"
	"tenon/test/servertest"
)

// integrations sets up one integration of each kind that can be set up, the exclusive ones in turn: of the project, and of its group.
func (r *rich) integrations(t *testing.T) {
	for _, of := range []struct {
		place string
		kept  []string
	}{
		{"projects/" + number(r.project.ID), []string{"youtrack", "external-wiki"}}, // first: what is its own stays so
		{"groups/" + number(r.group.ID), []string{"jira", "external-wiki"}},
	} {
		for _, k := range kind.All() {
			if k.Unavailable != "" || k.ProjectsOnly && strings.HasPrefix(of.place, "groups") {
				continue
			}
			path := of.place + "/integrations/" + k.Slug
			raw[fields](t, r.root, http.MethodPut, path, integrationtest.Values(k, true))
			if !k.Class.Exclusive() {
				continue
			}
			req, err := r.root.NewRequest(http.MethodDelete, path, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			done(r.root.Do(req, nil)).must(t)
		}
		for _, slug := range of.kept {
			raw[fields](t, r.root, http.MethodPut, of.place+"/integrations/"+slug, integrationtest.Values(kind.Find(slug), true))
		}
	}
}

// A script sets up integrations with the client, reads them back, and takes them away.
func TestIntegrations(t *testing.T) {
	servertest.Each(t, func(t *testing.T, database string) {
		s := &story{server: servertest.Start(t, database), began: time.Now()}
		s.root = s.client(t, servertest.RootToken)
		s.annID, s.annToken, s.ann = s.person(t, "ann", "Ann Author")
		p := got(s.ann.Projects.CreateProject(&gitlab.CreateProjectOptions{Name: new("Shop")})).must(t).ID
		slack := got(s.ann.Services.SetSlackService(p, &gitlab.SetSlackServiceOptions{
			WebHook: new("https://hooks.slack.example.com/T0/planted"), Channel: new("general"), PushChannel: new("dev,ops"), PushEvents: new(true),
			IssuesEvents: new(false), NotifyOnlyDefaultBranch: new(false),
		})).must(t)
		if !slack.Active || slack.IssuesEvents || !slack.PushEvents || slack.Properties.Channel != "general" || slack.Properties.PushChannel != "dev,ops" || slack.Properties.WebHook != "" {
			t.Errorf("Slack: %+v %+v", slack, slack.Properties)
		}
		if got := slack.Properties.BranchesToBeNotified; got != "all" {
			t.Errorf("branches %q, want all", got)
		}
		jira := got(s.ann.Services.SetJiraService(p, &gitlab.SetJiraServiceOptions{
			URL: new("https://jira.example.com"), Username: new("ann"), Password: new("planted"), JiraIssueTransitionID: new("1,2"), CommitEvents: new(false),
			CommentOnEventEnabled: new(false),
		})).must(t)
		if jira.CommitEvents || jira.CommentOnEventEnabled || jira.Properties.URL != "https://jira.example.com" || jira.Properties.JiraIssueTransitionID != "1,2" || jira.Properties.Password != "" {
			t.Errorf("Jira: %+v %+v", jira, jira.Properties)
		}
		_, res, err := s.ann.Services.SetRedmineService(p, &gitlab.SetRedmineServiceOptions{
			ProjectURL: new("https://r.example.com"), IssuesURL: new("https://r.example.com/:id"), NewIssueURL: new("https://r.example.com/new"),
		})
		if err == nil || res.StatusCode != http.StatusBadRequest {
			t.Errorf("a second tracker: %v", err)
		}
		if list := got(s.ann.Services.ListServices(p)).must(t); len(list) != 2 || list[0].Slug != "slack" || list[1].Title != "Jira issues" {
			t.Errorf("list: %+v", list)
		}
		done(s.ann.Services.DeleteJiraService(p)).must(t)
		if after := got(s.ann.Services.GetJiraService(p)).must(t); after.Active || after.Properties.URL != "" {
			t.Errorf("after it was disabled: %+v", after)
		}
		got(s.ann.Services.SetRedmineService(p, &gitlab.SetRedmineServiceOptions{
			ProjectURL: new("https://r.example.com"), IssuesURL: new("https://r.example.com/:id"), NewIssueURL: new("https://r.example.com/new"),
		})).must(t)

		// A project of a group has the group's chat, until it has its own.
		group := got(s.ann.Groups.CreateGroup(&gitlab.CreateGroupOptions{Name: new("Team"), Path: new("team")})).must(t).ID
		raw[fields](t, s.ann, http.MethodPut, "groups/"+number(group)+"/integrations/telegram", fields{"token": "planted", "room": "@team"})
		if team := got(s.ann.Integrations.GetGroupTelegramSettings(group)).must(t); team.Properties.Room != "@team" {
			t.Errorf("chat of the group: %+v", team.Properties)
		}
		below := got(s.ann.Projects.CreateProject(&gitlab.CreateProjectOptions{Name: new("App"), NamespaceID: &group})).must(t).ID
		until(t, "inherited by a new project", func() bool {
			list := got(s.ann.Services.ListServices(below)).must(t)
			return len(list) == 1 && list[0].Slug == "telegram"
		})
		got(s.ann.Services.SetTelegramService(below, &gitlab.SetTelegramServiceOptions{Token: new("planted"), Room: new("@app")})).must(t)
		if mine := got(s.ann.Services.GetTelegramService(below)).must(t); mine.Properties.Room != "@app" {
			t.Errorf("its own chat: %+v", mine.Properties)
		}
		if list := got(s.ann.Integrations.ListActiveGroupIntegrations(group, nil)).must(t); len(list) != 1 || list[0].Slug != "telegram" {
			t.Errorf("integrations of the group: %+v", list)
		}
	})
}
