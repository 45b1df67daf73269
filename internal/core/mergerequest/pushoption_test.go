package mergerequest_test

import (
	"fmt"
	"strings"
	"testing"

	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/milestone"
	"tenon/internal/core/repo"
)

// pushed returns the change of a push of a new branch.
func (w *world) pushed(branch string) repo.RefChange {
	w.T.Helper()
	tip, err := gitstore.ParseObjectID(w.tip(branch))
	check(w.T, err)
	return repo.RefChange{Ref: gitstore.RefName("refs/heads/" + branch), New: tip}
}

// options does what a push of these branches with these options does.
func (w *world) options(as authz.Actor, branches []string, options ...string) string {
	w.T.Helper()
	var changes []repo.RefChange
	for _, b := range branches {
		changes = append(changes, w.pushed(b))
	}
	warning, err := w.requests.PushOptions(w.T.Context(), as, w.as(as), changes, options)
	check(w.T, err)
	return warning
}

func TestService_PushOptions(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.push("my-first_topic", w.tip("main"), files{"c": "c\n"}, "Add c\n\nIt was missing.")
		w.push("second", w.tip("main"), files{"d": "d\n"}, "Add d")
		w.push("second", "", files{"e": "e\n"}, "Add e")
		one := []string{"my-first_topic"}
		none := w.options(w.developer, one, "unknown", "merge_request.unknown", "visibility=public")
		equal(t, "unknown options", none, "")
		vain := w.options(w.developer, one, "ci.skip", "ci.variable=A=b", "ci.input=a=b", "secret_push_protection.skip_all", "integrations.skip_ci")
		equal(t, "options that nothing follows", vain, strings.Join([]string{
			"Error encountered with push options 'ci.input=a=b' 'integrations.skip_ci': this server does not take them from pushes",
			"Error encountered with push options 'secret_push_protection.skip_all': this server does not look for secrets inside pushed files",
		}, "\n"))
		equal(t, "no request to change", w.options(w.developer, one, "merge_request.title=New"),
			"Error encountered with push options 'merge_request.title=New': A merge_request.create push option is required to create a merge request for branch my-first_topic")
		equal(t, "no such target", w.options(w.developer, one, "mr.create", "mr.target=none"),
			"Error encountered with push options 'mr.create' 'mr.target=none': Branch none does not exist")
		equal(t, "no such project", w.options(w.developer, one, "mr.create", "mr.target_project=group/none"),
			"Error encountered with push options 'mr.create' 'mr.target_project=group/none': Target project group/none does not exist")
		equal(t, "created", w.options(w.developer, one, "merge_request.create", "merge_request.remove_source_branch", "merge_request.label=bug"), "")
		m := w.read(1)
		equal(t, "title", m.Title, "Add c")
		equal(t, "description", m.Text(), "It was missing.")
		equal(t, "target", m.TargetBranch, "main")
		equal(t, "removes source", *m.ForceRemoveSource, true)
		equal(t, "assignees", fmt.Sprint(m.Assignees), fmt.Sprint([]authz.UserID{w.developer.UserID}))
		equal(t, "author", m.AuthorID, w.developer.UserID)
		if len(m.Labels) != 1 || m.Labels[0].Title != "bug" {
			t.Errorf("labels: %+v", m.Labels)
		}

		equal(t, "changed", w.options(w.developer, one, "merge_request.create", `merge_request.description=One\nTwo`, "merge_request.draft",
			"merge_request.assign="+w.maintainer.Username, "merge_request.unassign="+fmt.Sprint(w.developer.UserID), "merge_request.unlabel=bug", "merge_request.squash"), "")
		m = w.read(1)
		equal(t, "draft", m.Title, "Draft: Add c")
		equal(t, "lines", m.Text(), "One\nTwo")
		equal(t, "squash", m.Squash, true)
		equal(t, "other assignee", fmt.Sprint(m.Assignees), fmt.Sprint([]authz.UserID{w.maintainer.UserID}))
		equal(t, "labels taken away", len(m.Labels), 0)

		equal(t, "two commits", w.options(w.developer, []string{"second", "main"}, "merge_request.create", "merge_request.draft", "merge_request.assign=nobody"), "")
		m = w.read(2)
		equal(t, "title of the branch", m.Title, "Draft: Second")
		page, err := w.requests.List(t.Context(), w.reporter, w.as(w.reporter).Place(), mergerequest.Filter{})
		check(t, err)
		equal(t, "requests", len(page.Items), 2)

		// What the API refuses, an option does not get past.
		equal(t, "title too long", w.options(w.developer, []string{"second"}, "merge_request.title="+strings.Repeat("x", 300)),
			"Error encountered with push options 'merge_request.title="+strings.Repeat("x", 300)+"': title is too long (maximum is 255 characters)")
		equal(t, "a reporter", w.options(w.reporter, one, "merge_request.title=Mine"),
			"Error encountered with push options 'merge_request.title=Mine': forbidden")
		var many []string
		for i := range 11 {
			name := fmt.Sprintf("many-%d", i)
			w.push(name, w.tip("main"), files{name: "x\n"}, "Add "+name)
			many = append(many, name)
		}
		equal(t, "too many", w.options(w.developer, many, "merge_request.create"),
			"Error encountered with push options 'merge_request.create': Too many branches pushed (11 were pushed, limit is 10)")
	})
}

// From a fork requests go to where it came from, unless they are told otherwise.
func TestService_PushOptions_fork(t *testing.T) {
	t.Parallel()
	eachFork(t, func(t *testing.T, f *forked) {
		f.pushFork("topic", files{"c": "c\n"})
		hidden := f.Project("group/hidden", authz.Private, f.as(f.owner).ParentID)
		f.in(func() {
			equal(t, "created", f.options(f.stranger, []string{"topic"}, "merge_request.create"), "")
			equal(t, "into the fork", f.options(f.stranger, []string{"topic"}, "merge_request.create", "merge_request.target_project=stans/shop"), "")
			f.exec("UPDATE projects SET fork_root_id = ? WHERE id = ?", 999, hidden)
			equal(t, "a hidden project", f.options(f.stranger, []string{"topic"}, "merge_request.create", "merge_request.target_project=group/hidden"),
				"Error encountered with push options 'merge_request.create' 'merge_request.target_project=group/hidden': Target project group/hidden does not exist")
		})
		m := f.read(1)
		equal(t, "source", *m.SourceProjectID, f.fork)
		equal(t, "title", m.Title, "Change topic")
		own, err := f.requests.Find(t.Context(), f.stranger, f.Find(f.stranger, f.fork), 1)
		check(t, err)
		equal(t, "into itself", own.Fork(), false)
	})
}

// A push sets milestones of the project and of the groups above, as far as the person who pushes reads them.
func TestService_PushOptions_milestone(t *testing.T) {
	t.Parallel()
	eachChecked(t, func(t *testing.T, w *checked) {
		p := w.as(w.maintainer)
		one, err := w.deps.Milestones.Create(t.Context(), w.maintainer, p.Place(), milestone.Input{Title: "One"})
		check(t, err)
		group := milestone.ID(w.Insert("milestones", coretest.Row{"iid": 1, "namespace_id": p.ParentID, "title": "Group's", "title_fold": "group's", "state": "active"}))
		w.push("topic", w.tip("main"), files{"c": "c\n"}, "Add c")
		topic := []string{"topic"}
		equal(t, "unknown", w.options(w.developer, topic, "mr.create", "mr.milestone=Two"), "Error encountered with push options 'mr.milestone=Two': Milestone Two does not exist")
		if m := w.read(1); m.MilestoneID != nil {
			t.Errorf("an unknown milestone: %v", *m.MilestoneID)
		}
		for _, step := range []struct {
			option string
			want   milestone.ID
		}{{"merge_request.milestone=One", one.ID}, {"mr.milestone=Group's", group}} {
			equal(t, step.option, w.options(w.developer, topic, step.option), "")
			if m := w.read(1); m.MilestoneID == nil || *m.MilestoneID != step.want {
				t.Errorf("%s: milestone %v, want %d", step.option, m.MilestoneID, step.want)
			}
		}
		equal(t, "other options", w.options(w.developer, topic, "mr.title=Kept"), "")
		if m := w.read(1); m.MilestoneID == nil || *m.MilestoneID != group {
			t.Errorf("another option changed the milestone to %v", m.MilestoneID)
		}
		equal(t, "none", w.options(w.developer, topic, "mr.milestone="), "")
		if m := w.read(1); m.MilestoneID != nil {
			t.Errorf("an empty milestone: %d", *m.MilestoneID)
		}
		w.push("later", w.tip("main"), files{"d": "d\n"}, "Add d")
		equal(t, "created with one", w.options(w.developer, []string{"later"}, "mr.create", "mr.milestone=One"), "")
		if m := w.read(2); m.MilestoneID == nil || *m.MilestoneID != one.ID {
			t.Errorf("a new request has milestone %v", m.MilestoneID)
		}
	})
}
