package hookevent_test

import (
	"fmt"
	"strings"
	"testing"

	"tenon/internal/base/gitstore"
	"tenon/internal/core/approval/approvaltest"
	"tenon/internal/core/coretest"
	"tenon/internal/core/payload"
	"tenon/internal/core/repo"
)

// TestService_pushes tells of each branch and tag that a push has moved, with the newest of its commits, and of the push itself.
func TestService_pushes(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.drain()
		w.listener.triggers = []payload.Trigger{payload.Push, payload.TagPush, payload.RepositoryUpdate}
		_, err := w.Protections.ProtectTag(ctx, w.Maintainer, w.As(w.Maintainer), "v*", nil)
		approvaltest.Check(t, err)
		var last string
		for i := range 23 {
			last = w.Push("main", "", approvaltest.Files{"a": fmt.Sprint(i), fmt.Sprint("new", i): "", fmt.Sprint("new", i-1): gone(i)}, "dave")
		}
		w.drain()
		w.listener.take()
		first := w.Push("topic", "main", approvaltest.Files{"b": "b\n"}, "dave")
		move := func(changes ...repo.RefChange) {
			t.Helper()
			approvaltest.Check(t, w.Repos.MoveRefs(ctx, w.Developer, w.As(w.Owner), repo.ByPush, changes))
		}
		id := func(sha string) gitstore.ObjectID {
			out, err := gitstore.ParseObjectID(sha)
			approvaltest.Check(t, err)
			return out
		}
		tag, err := w.Git().CreateTag(ctx, gitstore.TagInput{Target: id(first), Name: "v1", Message: "One\n", Tagger: gitstore.Signature{Name: "dave", Email: "d@example.com", When: w.Now()}})
		approvaltest.Check(t, err)
		move(repo.RefChange{Ref: "refs/tags/v1", New: tag}, repo.RefChange{Ref: "refs/heads/topic", Old: id(first)}, repo.RefChange{Ref: "refs/heads/same", New: id(last)})
		w.drain()
		var got []string
		messages := w.listener.take()
		for _, m := range messages {
			b := body(t, m)
			line := fmt.Sprint(m.Trigger, " ", m.Trigger.Header(), " ", b["event_name"], " ", m.Ref, " by ", b["user_name"])
			if commits, ok := b["commits"].([]any); ok {
				line += fmt.Sprint(" ", b["total_commits_count"], " ", b["checkout_sha"], " ", b["ref_protected"], " ", b["message"])
				for _, c := range commits {
					c := c.(map[string]any)
					line += fmt.Sprint(" ", c["title"], c["added"], c["modified"], c["removed"])
				}
			}
			got = append(got, line)
		}
		approvaltest.Equal(t, "messages", strings.Join(got, "\n"), strings.Join([]string{
			"repository_update_events System Hook repository_update  by Dave",
			"push_events Push Hook push refs/heads/topic by Dave 1 " + first + " false <nil> Change topic[b] [] []",
			"repository_update_events System Hook repository_update  by Dave",
			"tag_push_events Tag Push Hook tag_push refs/tags/v1 by Dave 1 " + first + " true One Change topic[b] [] []",
			"push_events Push Hook push refs/heads/topic by Dave 0 <nil> false <nil>",
			"push_events Push Hook push refs/heads/same by Dave 0 " + last + " false <nil>",
		}, "\n"))
		update := body(t, messages[2])
		approvaltest.Equal(t, "update", fmt.Sprint(update["refs"], at(update, "project", "path_with_namespace")), "[refs/tags/v1 refs/heads/topic refs/heads/same]group/shop")

		// A push of many commits shows the newest 20 of them, one of many references only itself.
		coretest.Setter(t, w.Settings)("push_event_hooks_limit", 1)
		move(repo.RefChange{Ref: "refs/heads/main", Old: id(last), New: id(w.first(last))})
		move(repo.RefChange{Ref: "refs/heads/main", Old: id(w.first(last)), New: id(last)})
		move(repo.RefChange{Ref: "refs/heads/x", New: id(last)}, repo.RefChange{Ref: "refs/heads/y", New: id(last)})
		w.drain()
		messages = w.listener.take()
		approvaltest.Equal(t, "messages of three pushes", len(messages), 5)
		b := body(t, messages[3])
		commits := b["commits"].([]any)
		newest := commits[19].(map[string]any)
		approvaltest.Equal(t, "commits", fmt.Sprint(len(commits), b["total_commits_count"], newest["id"], newest["added"], newest["modified"], newest["removed"]), "20 23"+last+"[new22] [a] [new21]")
		approvaltest.Equal(t, "the last", messages[4].Trigger, payload.RepositoryUpdate)
	})
}

// gone is the text of the file that the commit before has added: the last commit removes it.
func gone(i int) string {
	if i == 22 {
		return approvaltest.Removed
	}
	return ""
}
