package mergerequest

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"tenon/internal/base/gitstore"
	"tenon/internal/core/repo"
)

func TestIsDraft(t *testing.T) {
	t.Parallel()
	for title, want := range map[string]string{
		"Draft: a": "a", "draft:a": "a", "[Draft] a": "a", "(DRAFT) a": "a", "Draft: [draft] (Draft)a": "a", " Draft: a": "a",
		"a": "a", "Drafts: a": "Drafts: a", "WIP: a": "WIP: a", "a Draft: b": "a Draft: b", "Draft - a": "Draft - a", "draft": "draft",
	} {
		if got := cutDraft(title); got != want {
			t.Errorf("cut of %q: got %q, want %q", title, got, want)
		}
		if got := IsDraft(title); got != (want != title) {
			t.Errorf("IsDraft(%q): got %t", title, got)
		}
	}
}

func TestIssueList(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "", 1: "#1", 2: "#1 and #2", 3: "#1, #2, and #3"} {
		var issues []ClosedIssue
		for i := range n {
			issues = append(issues, ClosedIssue{Reference: fmt.Sprintf("#%d", i+1)})
		}
		if got := issueList(issues); got != want {
			t.Errorf("list of %d: got %q, want %q", n, got, want)
		}
	}
}

func TestMessage(t *testing.T) {
	t.Parallel()
	text := "Two\nlines"
	d := messageData{
		request: &MergeRequest{IID: 7, SourceBranch: "topic", TargetBranch: "main", Title: "Title", Description: &text},
		path:    "group/shop", url: "http://tenon.test/group/shop/-/merge_requests/7",
		author: gitstore.Signature{Name: "Dave", Email: "dave@x"}, merger: gitstore.Signature{Name: "Mary", Email: "mary@x"},
		approvers: []gitstore.Signature{{Name: "Olga", Email: "olga@x"}, {Name: "Ruth", Email: "ruth@x"}},
		commits: []*gitstore.Commit{
			{Message: "First\n", Author: gitstore.Signature{Name: "Dave", Email: "DAVE@x"}, Parents: make([]gitstore.ObjectID, 1)},
			{Message: "Second\n\nWith a body\n", Author: gitstore.Signature{Name: "Ann", Email: "ann@x"}, Parents: make([]gitstore.ObjectID, 1)},
			{Message: "Merge\n\nx\n", Author: gitstore.Signature{Name: "Ann", Email: "ann@x"}, Parents: make([]gitstore.ObjectID, 2)},
		},
	}
	for _, c := range d.commits {
		c.Raw = []byte(c.Message)
	}
	for template, want := range map[string]string{
		defaultMergeTemplate:                        "Merge branch 'topic' into 'main'\n\nTitle\n\nSee merge request group/shop!7",
		defaultSquashTemplate:                       "Title",
		"%{description}":                            text,
		"%{local_reference} %{reference} %{url}":    "!7 group/shop!7 http://tenon.test/group/shop/-/merge_requests/7",
		"%{first_commit}|%{first_multiline_commit}": "First|Second\n\nWith a body",
		"%{first_multiline_commit_description}":     "With a body",
		"%{all_commits}":                            "* First\n\n* Second\n\nWith a body",
		"%{co_authored_by}":                         "Co-authored-by: Ann <ann@x>",
		"%{merge_request_author}, %{merged_by}":     "Dave <dave@x>, Mary <mary@x>",
		"a\n\n%{issues}\n\n%{reviewed_by}\n\nb":     "a\n\nb",
		"%{approved_by}":                            "Approved-by: Olga <olga@x>\nApproved-by: Ruth <ruth@x>",
		"a\n%{issues}\nb":                           "a\nb",
		"%{issues}\n\na":                            "a",
		"x %{issues} y":                             "x  y",
		"%{nonsense} %{title":                       "%{nonsense} %{title",
		"%{source_project_id}":                      "",
	} {
		if got := d.message(template); got != want {
			t.Errorf("%q:\ngot  %q\nwant %q", template, got, want)
		}
	}
	long := "Long\n\n" + strings.Repeat("#1 ", maxListedMessage/3)
	d.commits = append(d.commits, &gitstore.Commit{Message: long, Raw: []byte(long)})
	if got, want := d.message("%{all_commits}"), "* First\n\n* Second\n\nWith a body\n\n* Long"; got != want {
		t.Errorf("with a long message: got %.200q, want %q", got, want)
	}
	d.request.Title = "%{url}"
	if got := d.message("%{title}"); got != "%{url}" {
		t.Errorf("placeholder in a value: got %q", got)
	}
}

// A message that quotes long texts again and again has a bound, and ends with a whole character.
func TestMessage_long(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("\u00e9", 900_000)
	d := messageData{request: &MergeRequest{Title: "Title", Description: &text}}
	for range 30 {
		body := "Commit\n\n" + strings.Repeat("c", maxListedMessage-100)
		d.commits = append(d.commits, &gitstore.Commit{Message: body, Raw: []byte(body), Parents: make([]gitstore.ObjectID, 1), Author: gitstore.Signature{Name: strings.Repeat("n", 50_000), Email: strings.Repeat("e", len(d.commits)+1)}})
	}
	for _, template := range []string{
		strings.Repeat("%{description}", 35), strings.Repeat("%{description}\n", 33), strings.Repeat("%{all_commits}", 33), "%{all_commits}", "%{co_authored_by}",
		"x%{description}",
	} {
		got := d.message(template)
		if len(got) > repo.MaxMessage || len(got) < repo.MaxMessage-4 || !utf8.ValidString(got) {
			t.Errorf("%.40q: got %d bytes, valid: %t; want %d", template, len(got), utf8.ValidString(got), repo.MaxMessage)
		}
	}
}
