package kind

import (
	"regexp"
	"strings"

	"tenon/internal/base/errs"
	"tenon/internal/base/pattern"
	"tenon/internal/core/project"
)

func jira() *Kind {
	return &Kind{
		Slug: "jira", Title: "Jira issues", Class: Tracker,
		Does:  "References in texts and a link on pages lead to the tracker",
		Later: "Nothing is sent yet: comments and transitions come with deliveries of integrations",
		Settings: []Setting{
			{Name: "url", Required: true, URL: true, Where: true, Doc: "URL of the web interface of Jira"},
			{Name: "api_url", URL: true, Where: true, Doc: "URL of the API of Jira; url where blank"},
			{Name: "jira_auth_type", Type: Int, Default: int64(0), Max: 1, Doc: "How to sign on: 0 by user name and password, 1 by a personal access token"},
			{Name: "username", Chars: 255, Doc: "User name or email address, where jira_auth_type is 0"},
			token("password", "Password, API token or personal access token"),
			{Name: "jira_issue_regex", Chars: 255, Doc: "Regular expression that keys of issues match"},
			{Name: "jira_issue_prefix", Chars: 255, Doc: "Prefix of keys of issues"},
			{Name: "jira_issue_transition_automatic", Type: Bool, Doc: "Move issues to the next state that counts as done"},
			{Name: "jira_issue_transition_id", Chars: 255, Doc: "IDs of transitions, separated by commas or semicolons"},
		},
		Events: []string{commits, mergeRequests, commentOnEvent},
		Check: func(v Values, f *errs.Fields) {
			f.Check(v.Int("jira_auth_type") != 0 || v.Text("username") != "", "username", "can't be blank")
			f.Check(jiraTransitions().MatchString(v.Text("jira_issue_transition_id")), "jira_issue_transition_id", "IDs must be a list of numbers that can be split with , or ;")
			if text := v.Text("jira_issue_regex"); text != "" {
				_, err := regexp.Compile(text)
				f.Check(err == nil, "jira_issue_regex", "not valid RE2 syntax")
			}
		},
		Tracker: func(v Values) project.Tracker {
			address, key := strings.TrimSuffix(v.Text("url"), "/"), v.Text("jira_issue_regex")
			if key == "" {
				key = `[A-Z][A-Z0-9_]+-\d+`
			}
			return project.Tracker{
				Link: project.Link{URL: address}, IssueURL: address + "/browse/:id",
				Reference: "(" + regexp.QuoteMeta(v.Text("jira_issue_prefix")) + "(?:" + key + "))",
			}
		},
	}
}

var jiraTransitions = pattern.New(`^\s*(\d+\s*([,;]\s*\d+\s*)*)?$`)
