package clients

import (
	"net/http"
	"testing"
	"time"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"

	"tenon/internal/core/integration/integrationtest"
	"tenon/internal/core/integration/kind"
	"tenon/test/servertest"
)

// integrations sets up one integration of each kind that can be set up, the exclusive ones in turn.
func (r *rich) integrations(t *testing.T) {
	for _, k := range kind.All() {
		if k.Unavailable != "" {
			continue
		}
		path := "projects/" + number(r.project.ID) + "/integrations/" + k.Slug
		raw[fields](t, r.root, http.MethodPut, path, integrationtest.Values(k, true))
		if k.Class.Exclusive() && k.Slug != "youtrack" && k.Slug != "external-wiki" {
			req, err := r.root.NewRequest(http.MethodDelete, path, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			done(r.root.Do(req, nil)).must(t)
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
	})
}
