package kind

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"tenon/internal/base/errs"
	"tenon/internal/base/pattern"
	"tenon/internal/core/project"
)

func jira() *Kind {
	return &Kind{
		Slug: "jira", Title: "Jira issues", Class: Tracker,
		Does: "References in texts and a link on pages lead to the tracker. Commits and merge requests that name an issue comment on it, and commits of the " +
			"default branch that close it move it",
		Send: sendJira,
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
			address := strings.TrimSuffix(v.Text("url"), "/")
			return project.Tracker{Link: project.Link{URL: address}, IssueURL: address + "/browse/:id", Reference: jiraKeys(v)}
		},
	}
}

var jiraTransitions = pattern.New(`^\s*(\d+\s*([,;]\s*\d+\s*)*)?$`)

// jiraKeys are how texts refer to issues.
func jiraKeys(v Values) string {
	return "(" + regexp.QuoteMeta(v.Text("jira_issue_prefix")) + "(?:" + cmp.Or(v.Text("jira_issue_regex"), `[A-Z][A-Z0-9_]+-\d+`) + "))"
}

// jiraServer calls one Jira.
type jiraServer struct {
	Caller

	v Values
}

func (j jiraServer) call(ctx context.Context, method, key, path string, body any) ([]byte, error) {
	base := strings.TrimSuffix(cmp.Or(j.v.Text("api_url"), j.v.Text("url")), "/")
	r := Request{Method: method, URL: base + "/rest/api/2/issue/" + url.PathEscape(key) + path, Header: map[string]string{"Accept": "application/json"}}
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		r.Body, r.Header["Content-Type"] = text, "application/json"
	}
	if j.v.Int("jira_auth_type") == 0 {
		r.User, r.Password = j.v.Text("username"), j.v.Text("password")
	} else {
		r.Header["Authorization"] = "Bearer " + j.v.Text("password")
	}
	status, answer, err := j.Call(ctx, r)
	if err == nil && status >= refused {
		err = &StatusError{status}
	}
	return answer, err
}

// sendJira comments on the issues that commits and merge requests name. An issue that is not there, or that the user may not see, does not keep the others
// from their comments.
func sendJira(ctx context.Context, c Caller, v Values, e *Event) error {
	keys, err := regexp.Compile(`(?:\b((?i:clos(?:e[sd]?|ing)|fix(?:e[sd]|ing)?|resolv(?:e[sd]?|ing)))\b:?\s+)?\b` + jiraKeys(v))
	if err != nil {
		return err
	}
	j, seen := jiraServer{c, v}, map[string]bool{}
	about := func(text, address, what string, closes bool) error {
		var failed error
		for _, found := range keys.FindAllStringSubmatch(text, maxTasks) {
			key := found[2]
			if seen[what+key] || len(seen) >= maxTasks {
				continue
			}
			seen[what+key] = true
			err := j.mention(ctx, e, key, what, address, text)
			if err == nil && closes && found[1] != "" {
				err = j.move(ctx, key)
			}
			if denied, ok := errors.AsType[*StatusError](err); ok && !denied.Passing() {
				continue
			}
			failed = errors.Join(failed, err)
		}
		return failed
	}
	if e.Flag == mergeRequests {
		if e.Action != "open" {
			return nil
		}
		return about(e.Message.Title.Plain()+"\n"+rendered(e.Message.Lines, Line.Plain), e.URL, "a merge request", false)
	}
	var failed error
	for _, by := range e.Commits {
		failed = errors.Join(failed, about(by.Message, by.URL, "commit "+by.ID, e.Ref.Default))
	}
	return failed
}

// jiraQuotes keep texts from being markup.
var jiraQuotes = strings.NewReplacer("{", `\{`, "[", `\[`, "|", `\|`, "!", `\!`)

// mention links an issue with what names it, and comments on it where that is on.
func (j jiraServer) mention(ctx context.Context, e *Event, key, what, address, text string) error {
	title := e.Project.Path + ": " + what
	_, err := j.call(ctx, "POST", key, "/remotelink", map[string]any{
		"globalId": address, "relationship": "mentioned on", "object": map[string]any{"url": address, "title": title},
	})
	if err != nil || !e.Comments {
		return err
	}
	first, _, _ := strings.Cut(text, "\n")
	_, err = j.call(ctx, "POST", key, "/comment", map[string]string{
		"body": fmt.Sprintf("[%s|%s] mentioned this issue in [%s|%s]: %s", jiraQuotes.Replace(e.Author.Name), e.Project.Instance+"/"+e.Author.Username, what, address, jiraQuotes.Replace(first)),
	})
	return err
}

// move takes an issue to the states that are set, or to the next one that counts as done.
func (j jiraServer) move(ctx context.Context, key string) error {
	ids := strings.FieldsFunc(j.v.Text("jira_issue_transition_id"), func(r rune) bool { return strings.ContainsRune(",; ", r) })
	if j.v["jira_issue_transition_automatic"] == true {
		answer, err := j.call(ctx, "GET", key, "/transitions", nil)
		if err != nil {
			return err
		}
		var known struct {
			Transitions []struct {
				ID string
				To struct{ StatusCategory struct{ Key string } }
			}
		}
		if err := json.Unmarshal(answer, &known); err != nil {
			return fmt.Errorf("read transitions: %w", err)
		}
		ids = nil
		for _, t := range known.Transitions {
			if t.To.StatusCategory.Key == "done" && ids == nil {
				ids = []string{t.ID}
			}
		}
	}
	for _, id := range ids {
		if _, err := j.call(ctx, "POST", key, "/transitions", map[string]any{"transition": map[string]string{"id": id}}); err != nil {
			return err
		}
	}
	return nil
}
