package note_test

import (
	"testing"

	"tenon/internal/core/note"
)

// Every kind of line that the server writes has an icon.
func TestNote_Icon(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		"assigned to @ann and unassigned @bob":                                  "user",
		"requested review from @ann":                                            "user",
		"changed title from **{-a-}** to **{+b+}**":                             "pencil",
		"changed the description":                                               "pencil",
		"marked the checklist item **a** as completed":                          "task-done",
		"locked the discussion in this issue":                                   "lock",
		"unlocked the discussion in this merge request":                         "lock-open",
		"made the issue confidential":                                           "eye-slash",
		"made the epic visible to everyone":                                     "eye",
		"added 1h of time spent at 2026-05-22 10:00:00 UTC":                     "timer",
		"deleted 1h of spent time from 2026-05-22":                              "timer",
		"changed time estimate to 1d from 3h":                                   "timer",
		"changed due date to May 22, 2026":                                      "calendar",
		"mentioned in commit 0a1b2c3d":                                          "comment-dots",
		"marked this issue as related to #5":                                    "link",
		"marked this issue as a duplicate of #2":                                "duplicate",
		"marked #7 as a duplicate of this issue":                                "duplicate",
		"moved from group/proj#9":                                               "arrow-right",
		"added 2 commits\n\n<ul><li>0a1b2c3d - Title</li></ul>":                 "commit",
		"changed target branch from `a` to `b`":                                 "fork",
		"approved this merge request":                                           "check",
		"unapproved this merge request":                                         "unapproval",
		"enabled an automatic merge when the pipeline for 0a1b2c3d succeeds":    "merge",
		"resolved all threads":                                                  "comment",
		"created merge request !5 to address this issue":                        "merge-request",
		"added issue #3":                                                        "issues",
		"promoted to epic &1":                                                   "epic",
		"changed this line in [version 2 of the diff](/a/b)":                    "pencil",
		"marked this merge request as **draft**":                                "pencil",
		"something that another server wrote when it was younger than this one": "",
	} {
		if got := (&note.Note{System: true, Body: body}).Icon(); got != want {
			t.Errorf("%q: got %q, want %q", body, got, want)
		}
	}
	if got := (&note.Note{Body: "assigned to @ann"}).Icon(); got != "" {
		t.Errorf("a comment: got %q, want none", got)
	}
}
