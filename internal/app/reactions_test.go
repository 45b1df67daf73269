package app

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/event"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
)

// provedElsewhere names the test of a reaction that the story of TestReactions_effects does not
// reach: of an event, or of all events that a package reacts to.
var provedElsewhere = map[string]string{
	"noteable.Deleted: notes":          "internal/app TestReactions_effects",
	"inherited integrations":           "internal/core/integration TestService_inherit",
	"hooks":                            "internal/core/hookevent TestService",
	"pipelines":                        "internal/core/ci TestService_OnPushed",
	"deployments":                      "internal/app TestDeployments_jobs",
	"Maven metadata":                   "internal/app TestMaven_deleted",
	"npm metadata":                     "internal/app TestNPM",
	"environments of deleted branches": "internal/app TestEnvironments_stop",
	"DORA metrics":                     "internal/app TestDORA_history",
	"Debian distributions":             "internal/app TestDebian_group",
	"releases":                         "internal/core/release TestService_Settle",
	"running imports of archives":      "internal/app TestImport_deleted",
	"schedules":                        "internal/core/ci TestSchedules",
	"waiting runners":                  "internal/core/ci TestService_Request_pausedWhileWaiting",
	"project.Deleted: runners":         "internal/core/runner TestService_Subscribe",
	"project.Deleted: triggers":        "internal/core/trigger TestService",
	"service accounts":                 "internal/core/serviceaccount TestService_Delete",
	"project.Removing: notes":          "internal/app TestOrphans",
	"namespace.GroupRemoving: notes":   "internal/app TestOrphans",
	"namespace.GroupTransferred: milestones of issues":         "internal/app TestGroupTransfer_planning",
	"namespace.GroupTransferred: milestones of merge requests": "internal/app TestGroupTransfer_planning",
	"audit":                                           "internal/core/audit TestRecorder",
	"change.Acted: activity":                          "internal/app TestSubject",
	"sessions":                                        "internal/core/session TestService_Subscribe",
	"open issues of the project":                      "internal/app TestOpenIssuesCount",
	"epic.Updated: system notes":                      "internal/app TestEpicHistory",
	"epic.IssueAdded: system notes":                   "internal/app TestEpicHistory",
	"epic.IssueRemoved: system notes":                 "internal/app TestEpicHistory",
	"epic.ChildAdded: system notes":                   "internal/app TestEpicHistory",
	"epic.ChildRemoved: system notes":                 "internal/app TestEpicHistory",
	"epic.Linked: system notes":                       "internal/app TestEpicHistory",
	"epic.Unlinked: system notes":                     "internal/app TestEpicHistory",
	"epic.Promoted: system notes":                     "internal/transport/rest TestEpics_promote",
	"epic.Created: notes":                             "internal/transport/rest TestEpics_promote",
	"epic.Created: activity":                          "internal/app TestEpicHistory",
	"milestone.Created: activity":                     "internal/app TestPlanningEvents",
	"milestone.Copied: activity":                      "internal/app TestTransfer_copiedMilestones",
	"milestone.Updated: activity":                     "internal/app TestPlanningEvents",
	"milestone.Deleted: activity":                     "internal/app TestPlanningEvents",
	"wiki.Changed: activity":                          "internal/app TestPlanningEvents",
	"epic.Closed: activity":                           "internal/app TestEpicHistory",
	"epic.Reopened: activity":                         "internal/app TestEpicHistory",
	"epics of moved issues":                           "internal/transport/rest TestEpics_issues",
	"to-do items":                                     "internal/core/todo TestService",
	"namespace.AccessRequested: to-do items":          "internal/core/todo TestAccessRequests",
	"namespace.AccessDenied: to-do items":             "internal/core/todo TestAccessRequests",
	"namespace.MemberAdded: to-do items":              "internal/core/todo TestAccessRequests",
	"approval.Reset: to-do items":                     "internal/core/todo TestApprovalRequired",
	"subscriptions":                                   "internal/core/todo TestSubscriptions",
	"mail":                                            "internal/app TestMail",
	"labels of former groups":                         "internal/core/label TestService_OnTransferred",
	"cross-references":                                "internal/transport/rest TestCrossReferences",
	"resource events":                                 "internal/transport/rest TestResourceEvents",
	"note.ThreadsResolved: system notes":              "internal/transport/rest TestDiscussions_mergeRequest",
	"running imports":                                 "internal/core/gitimport TestService_Cancel",
	"visibility of forks":                             "internal/core/project TestService_Transfer_lowers_forks",
	"approvals":                                       "internal/core/approval TestService_OnNewVersion",
	"code owners":                                     "internal/core/approval TestState_codeOwners",
	"merge requests between forks":                    "internal/core/mergerequest TestFork_unforked",
	"merge requests stacked on it":                    "internal/core/mergerequest TestService_Merge_retargets",
	"issue.Created: notes":                            "internal/transport/rest TestIssueCopies",
	"issue.Moved: system notes":                       "internal/app TestIssueHistory",
	"issue.Cloned: system notes":                      "internal/app TestIssueHistory",
	"issue.Duplicated: system notes":                  "internal/app TestIssueHistory",
	"issue.Linked: system notes":                      "internal/app TestIssueHistory",
	"issue.Unlinked: system notes":                    "internal/app TestIssueHistory",
	"labels":                                          "internal/app TestOrphans",
	"reactions":                                       "internal/app TestOrphans",
	"metric images":                                   "internal/app TestMetricImages",
	"mergerequest.NewVersion: positions of notes":     "internal/transport/rest TestPositions",
	"note.LinesChanged: system notes":                 "internal/transport/rest TestPositions",
	"issue.Addressed: system notes":                   "internal/transport/rest TestQuickActions_code",
	"mergerequest.SourceBranchDeleted: system notes":  "internal/transport/rest TestQuickActions_code",
	"mergerequest.SourceBranchRestored: system notes": "internal/transport/rest TestQuickActions_code",
	"repo.Pushed: cross-references":                   "internal/app TestClosing",
	"repo.Pushed: issues that commits close":          "internal/app TestClosing",
	"external status checks":                          "internal/core/statuscheck TestService_Respond",
	"boards":                                          "internal/transport/rest TestBoards",
	"issue.Created: threads that issues follow up":    "internal/transport/rest TestFollowUp",
	"live streams":                                    "internal/core/live TestService_Subscribe",
}

// TestReactions_proved fails where no test proves the effect of a reaction: its name is to be
// found in the story below, or in provedElsewhere.
func TestReactions_proved(t *testing.T) {
	walker(t)
	text, err := os.ReadFile("reactions_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range newServer(t, "").bus.Reactions() {
		for _, name := range r.Handlers {
			reaction := r.Event + ": " + name
			proof, ok := provedElsewhere[reaction]
			if !ok {
				proof, ok = provedElsewhere[name]
			}
			switch {
			case !ok && !strings.Contains(string(text), `"`+reaction+`"`):
				t.Errorf("no test proves the effect of %q: add a step to TestReactions_effects, or name the test in provedElsewhere", reaction)
			case ok && !hasTest(t, proof):
				t.Errorf("%q: there is no test %s", reaction, proof)
			}
		}
	}
}

// hasTest looks for a test by its folder and name.
func hasTest(t *testing.T, proof string) bool {
	t.Helper()
	folder, name, _ := strings.Cut(proof, " ")
	files, err := filepath.Glob(filepath.Join("..", "..", folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	declared := regexp.MustCompile(`(?m)^func ` + name + `\(`)
	return slices.ContainsFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		return err == nil && declared.Match(text)
	})
}

// story is a server on which each step shows what reactions change.
type story struct {
	*server
	t *testing.T
}

// effects are the reactions of a step, with a query for what each of them changes.
type effects map[string]string

// step does something, and compares the results of the queries before and after it. The job
// queue is empty before.
func (s *story) step(do func(), want effects) {
	s.t.Helper()
	s.exec("DELETE FROM river_job")
	value := func(query string) string {
		out, err := db.Get[string](s.t.Context(), s.db, "SELECT CAST(("+query+") AS TEXT)")
		if err != nil {
			s.t.Fatalf("%s: %v", query, err)
		}
		return out
	}
	before := map[string]string{}
	for reaction, query := range want {
		before[reaction] = value(query)
	}
	do()
	for _, reaction := range slices.Sorted(maps.Keys(want)) {
		if after := value(want[reaction]); after == before[reaction] {
			s.t.Errorf("%s: %s is %s before and after", reaction, want[reaction], after)
		}
	}
}

// publish publishes an event as a transaction does.
func (s *story) publish(e event.Event) {
	s.t.Helper()
	if err := s.db.InTx(s.t.Context(), func(ctx context.Context) error { return s.bus.Publish(ctx, e) }); err != nil {
		s.t.Fatalf("%T: %v", e, err)
	}
}

// The queries of effects.
func activityOf(action string) string {
	return "SELECT COUNT(*) FROM events WHERE action LIKE '" + action + "%'"
}

func jobs(kind string) string { return "SELECT COUNT(*) FROM river_job WHERE kind = '" + kind + "'" }

const (
	systemNotes = "SELECT COUNT(*) FROM notes WHERE system"
	members     = "SELECT COUNT(*) FROM members"
	liveTokens  = "SELECT COUNT(*) FROM access_tokens WHERE NOT revoked"
)

// TestReactions_effects makes each event happen, and looks at what the reactions to it write.
func TestReactions_effects(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, srv *server) {
		s := &story{srv, t}
		s.once()
		for _, name := range []string{"ann", "bob"} {
			s.user(name, nil)
		}
		group := number(s.do("admin", "POST", "/groups", map[string]any{"name": "team", "path": "team"}), "id")
		s.do("admin", "POST", "/groups/"+group+"/members", map[string]any{"user_id": s.ids["ann"], "access_level": 50})
		s.do("ann", "POST", "/groups/"+group+"/push_rule", map[string]any{"max_file_size": 5})
		s.do("admin", "PUT", "/application/settings", map[string]any{"housekeeping_optimize_repository_period": 1})
		var at string
		s.step(func() {
			at = "/projects/" + number(s.do("ann", "POST", "/projects", map[string]any{"name": "shop", "namespace_id": group, "initialize_with_readme": true}), "id")
		}, effects{
			"project.Created: activity":               activityOf("created"),
			"project.Created: push rule of the group": "SELECT COUNT(*) FROM push_rules WHERE project_id IS NOT NULL",
			"repo.Pushed: activity":                   activityOf("pushed"),
			"repo.Pushed: housekeeping":               jobs("repository_housekeeping"),
			"repo.Pushed: measures of the project":    jobs("repository_measure"),
		})
		s.people(at)
		s.issues(at)
		s.mergeRequests(at)
		s.milestones(at)
		s.do("ann", "POST", "/groups/"+group+"/epics", map[string]any{"title": "Sail"})
		s.do("ann", "POST", "/groups/"+group+"/epics/1/notes", map[string]any{"body": "Far"})
		s.step(func() { s.do("ann", "DELETE", "/groups/"+group+"/epics/1", nil) },
			effects{"epic.Deleted: notes": "SELECT COUNT(*) FROM notes WHERE noteable_type = 'Epic'"})
		s.ends(group, at)
	})
}

// people is about members and invitations.
func (s *story) people(at string) {
	join := func() {
		s.do("ann", "POST", at+"/members", map[string]any{"user_id": s.ids["bob"], "access_level": 30})
	}
	s.step(join, effects{"namespace.MemberAdded: activity": activityOf("joined")})
	left := "/projects/" + number(s.do("ann", "POST", "/projects", map[string]any{"name": "left", "initialize_with_readme": true}), "id")
	s.do("ann", "POST", left+"/members", map[string]any{"user_id": s.ids["bob"], "access_level": 30})
	s.do("ann", "POST", left+"/issues", map[string]any{"title": "For Bob", "assignee_ids": []any{s.ids["bob"]}})
	s.do("ann", "POST", left+"/merge_requests", map[string]any{"title": "For Bob", "source_branch": "for-bob", "target_branch": "main", "assignee_ids": []any{s.ids["bob"]}})
	s.step(func() {
		s.do("ann", "DELETE", fmt.Sprintf("%s/members/%d?unassign_issuables=true", left, s.ids["bob"]), nil)
	},
		effects{
			"namespace.MemberRemoved: activity":                    activityOf("left"),
			"namespace.MemberRemoved: assignees of issues":         fmt.Sprintf("SELECT COUNT(*) FROM issue_assignees WHERE user_id = %d", s.ids["bob"]),
			"namespace.MemberRemoved: assignees of merge requests": fmt.Sprintf("SELECT COUNT(*) FROM merge_request_assignees WHERE user_id = %d", s.ids["bob"]),
		})
	invite := func(email string) {
		s.do("ann", "POST", at+"/invitations", map[string]any{"email": email, "access_level": 20})
	}
	invite("carol@example.com")
	s.step(func() { s.user("carol", nil) }, effects{"account.UserCreated: invitations": members})
	dora := fmt.Sprintf("/users/%d", s.user("dora", nil))
	invite("dora2@example.com")
	s.step(func() {
		s.do("admin", "POST", dora+"/emails", map[string]any{"email": "dora2@example.com", "skip_confirmation": true})
	}, effects{"account.AddressAdded: invitations": members})
	emil := fmt.Sprintf("/users/%d", s.user("emil", func(in *account.Input) { in.Email = "emil1@example.com" }))
	invite("emil2@example.com")
	s.step(func() {
		s.do("admin", "PUT", emil, map[string]any{"email": "emil2@example.com", "skip_reconfirmation": true})
	}, effects{"account.UserUpdated: invitations": members})
}

func (s *story) issues(at string) {
	s.step(func() {
		s.do("bob", "POST", at+"/issues", map[string]any{"title": "Help", "assignee_ids": s.ids["ann"]})
	},
		effects{"issue.Created: activity": activityOf("created"), "issue.Created: system notes": systemNotes})
	if _, err := s.db.Exec(s.tb.Context(), "UPDATE projects SET last_activity_at = ?", db.At(time.Now().Add(-time.Minute))); err != nil { // comments note it once a minute
		s.tb.Fatal(err)
	}
	s.step(func() { s.do("bob", "POST", at+"/issues/1/notes", map[string]any{"body": "Please."}) },
		effects{"note.Created: activity": activityOf("commented"), "note.Created: last activity of the project": jobs("project_touch")})
	s.step(func() { s.do("bob", "PUT", at+"/issues/1", map[string]any{"title": "Help me"}) },
		effects{"issue.Updated: system notes": systemNotes})
	s.step(func() { s.do("bob", "PUT", at+"/issues/1", map[string]any{"state_event": "close"}) },
		effects{"issue.Closed: activity": activityOf("closed")})
	s.step(func() { s.do("bob", "PUT", at+"/issues/1", map[string]any{"state_event": "reopen"}) },
		effects{"issue.Reopened: activity": activityOf("reopened")})
	s.step(func() { s.do("ann", "DELETE", at+"/issues/1", nil) },
		effects{"issue.Deleted: notes": "SELECT COUNT(*) FROM notes WHERE noteable_type = 'Issue'"})
	s.do("bob", "POST", at+"/issues", map[string]any{"title": "Second"})
}

func (s *story) mergeRequests(at string) {
	file := func(name, branch string) string {
		s.do("bob", "POST", at+"/repository/files/"+name, map[string]any{"branch": branch, "start_branch": "main", "content": name, "commit_message": "Add " + name})
		return ""
	}
	mr := at + "/merge_requests/1"
	file("a", "topic")
	s.step(func() {
		s.do("bob", "POST", at+"/merge_requests", map[string]any{
			"source_branch": "topic", "target_branch": "main", "title": "Add a", "assignee_id": s.ids["ann"], "description": "Closes #2",
		})
	}, effects{"mergerequest.Created: activity": activityOf("created"), "mergerequest.Created: system notes": systemNotes})
	s.step(func() { s.do("bob", "PUT", mr, map[string]any{"title": "Add a and b"}) }, effects{"mergerequest.Updated: system notes": systemNotes})
	s.step(func() { s.do("bob", "PUT", mr, map[string]any{"state_event": "close"}) }, effects{"mergerequest.Closed: activity": activityOf("closed")})
	s.step(func() { s.do("bob", "PUT", mr, map[string]any{"state_event": "reopen"}) }, effects{"mergerequest.Reopened: activity": activityOf("reopened")})
	s.step(func() { s.do("ann", "POST", mr+"/approve", nil) },
		effects{"approval.Approved: activity": activityOf("approved"), "approval.Approved: system notes": systemNotes})
	s.step(func() { s.do("ann", "POST", mr+"/unapprove", nil) }, effects{"approval.Unapproved: system notes": systemNotes})
	var head string
	s.step(func() {
		s.do("bob", "POST", at+"/repository/commits", map[string]any{
			"branch": "topic", "commit_message": "Add b", "actions": []any{map[string]any{"action": "create", "file_path": "b", "content": "b"}},
		})
	}, effects{"repo.Pushed: merge requests": jobs("merge_request_push")})
	s.step(func() { head = s.do("bob", "GET", mr, nil)["sha"].(string) }, effects{"mergerequest.NewVersion: system notes": systemNotes})
	status := func(state string) {
		s.do("ann", "POST", at+"/statuses/"+head, map[string]any{"state": state, "ref": "topic"})
	}
	status("running")
	enable := func() { s.do("ann", "PUT", mr+"/merge", map[string]any{"merge_when_pipeline_succeeds": true}) }
	s.step(enable, effects{"mergerequest.AutoMergeEnabled: system notes": systemNotes})
	s.step(func() { s.do("ann", "POST", mr+"/cancel_merge_when_pipeline_succeeds", nil) },
		effects{"mergerequest.AutoMergeCanceled: system notes": systemNotes})
	ann := authz.Actor{UserID: s.ids["ann"], Username: "ann"}
	shop, err := s.core.Projects.Find(s.t.Context(), ann, strings.TrimPrefix(at, "/projects/"))
	if err != nil {
		s.t.Fatal(err)
	}
	m, err := s.core.MergeRequests.Find(s.t.Context(), ann, shop, 1)
	if err != nil {
		s.t.Fatal(err)
	}
	s.step(func() {
		s.publish(mergerequest.AutoMergeAborted{Fact: mergerequest.Fact{Of: change.About(ann, s.now(), shop.Place(), m), Project: shop}, Reason: "it rained"})
	}, effects{"mergerequest.AutoMergeAborted: system notes": systemNotes})
	s.step(func() { status("success") }, effects{"ci.PipelineChanged: automatic merges": jobs("merge_request_auto_merge")})
	s.step(func() { s.do("ann", "PUT", mr+"/merge", nil) }, effects{
		"mergerequest.Merged: activity":         activityOf("merged"),
		"mergerequest.Merged: issues it closes": "SELECT COUNT(*) FROM issues WHERE state = 'closed'",
	})
	s.step(func() { s.do("ann", "DELETE", mr, nil) },
		effects{"mergerequest.Deleted: notes": "SELECT COUNT(*) FROM notes WHERE noteable_type = 'MergeRequest'"})
	s.step(func() { s.do("ann", "PUT", at, map[string]any{"default_branch": "topic"}) },
		effects{"project.Updated: measures of the project": jobs("repository_measure")})
}

// milestones is about what becomes of milestones of issues and merge requests.
func (s *story) milestones(at string) {
	const ofIssues, ofRequests = "SELECT COALESCE(MAX(milestone_id), 0) FROM issues", "SELECT COALESCE(MAX(milestone_id), 0) FROM merge_requests"
	s.do("bob", "POST", at+"/repository/files/c", map[string]any{"branch": "plan", "start_branch": "main", "content": "c", "commit_message": "Add c"})
	mr := number(s.do("bob", "POST", at+"/merge_requests", map[string]any{"source_branch": "plan", "target_branch": "main", "title": "Add c"}), "iid")
	id := number(s.do("ann", "POST", at+"/milestones", map[string]any{"title": "v1"}), "id")
	for _, path := range []string{at + "/issues/2", at + "/merge_requests/" + mr} {
		s.do("ann", "PUT", path, map[string]any{"milestone_id": id})
	}
	s.step(func() { s.do("ann", "POST", at+"/milestones/"+id+"/promote", nil) }, effects{
		"milestone.Promoted: milestones of issues":         ofIssues,
		"milestone.Promoted: milestones of merge requests": ofRequests,
	})
	s.step(func() { s.do("ann", "PUT", at+"/transfer", map[string]any{"namespace": "ann"}) }, effects{
		"project.Transferred: milestones of issues":         ofIssues,
		"project.Transferred: milestones of merge requests": ofRequests,
	})
}

// ends is about keys, tokens and forks, and what goes with a project and a group.
func (s *story) ends(group, at string) {
	id := strings.TrimPrefix(at, "/projects/")
	key := func() string {
		return number(s.do("ann", "POST", at+"/deploy_keys", map[string]any{"title": "ci", "key": deployKey(), "can_push": true}), "id")
	}
	first := key()
	s.do("ann", "POST", at+"/protected_branches", map[string]any{
		"name": "stable", "allowed_to_push": []any{map[string]any{"deploy_key_id": first}},
	})
	s.step(func() { s.do("ann", "DELETE", at+"/deploy_keys/"+first, nil) },
		effects{"deploykey.Removed: protection rules": "SELECT COUNT(*) FROM protected_branch_levels WHERE deploy_key_id IS NOT NULL"})
	var fork string
	s.step(func() { fork = number(s.do("bob", "POST", at+"/fork", nil), "id") },
		effects{"project.Forked: copy of the repository": jobs("fork_copy")})
	var to, from project.ID
	if _, err := fmt.Sscan(fork+" "+id, &to, &from); err != nil {
		s.t.Fatal(err)
	}
	system := authz.System().Stamp(s.now())
	s.exec("INSERT INTO lfs_objects (oid, size, created_at) VALUES ('"+strings.Repeat("a", 64)+"', 1, ?)", db.At(s.now()))
	s.exec("INSERT INTO lfs_links (project_id, object_id, created_at) SELECT ?, id, created_at FROM lfs_objects", from)
	s.step(func() { s.publish(repo.ForkCopied{Stamp: system, ProjectID: to, SourceID: from}) },
		effects{"repo.ForkCopied: large objects of forks": "SELECT COUNT(*) FROM lfs_links"})
	s.step(func() { s.publish(project.Templated{Stamp: system, ProjectID: to, SourceID: from}) },
		effects{"project.Templated: copy of the repository": jobs("fork_copy")})
	s.step(func() { s.do("bob", "DELETE", "/projects/"+fork+"/fork", nil) },
		effects{"project.Unforked: objects of its own": jobs("pool_leave")})
	key()
	expires := s.now().AddDate(0, 0, 30).Format("2006-01-02")
	for _, place := range []string{at, "/groups/" + group} {
		s.do("ann", "POST", place+"/access_tokens", map[string]any{"name": "bot", "scopes": []any{"api"}, "expires_at": expires})
	}
	shop, err := s.core.Projects.Find(s.t.Context(), authz.System(), id)
	if err != nil {
		s.t.Fatal(err)
	}
	blocking := number(s.do("bob", "POST", at+"/merge_requests", map[string]any{"source_branch": "plan", "target_branch": "stable", "title": "First"}), "id")
	s.do("ann", "POST", at+"/merge_requests/2/blocks", map[string]any{"blocking_merge_request_id": blocking})
	s.step(func() { s.publish(project.Deleted{Fact: project.Fact{Stamp: system, Before: shop}}) }, effects{
		"project.Deleted: merge request dependencies": "SELECT COUNT(*) FROM merge_request_blocks",
		"project.Deleted: deploy keys":                "SELECT COUNT(*) FROM deploy_key_projects",
		"project.Deleted: access tokens":              liveTokens,
	})
	team, err := s.core.Namespaces.Find(s.t.Context(), authz.System(), group)
	if err != nil {
		s.t.Fatal(err)
	}
	s.step(func() { s.publish(namespace.GroupDeleted{GroupFact: namespace.GroupFact{Stamp: system, Before: team}}) },
		effects{"namespace.GroupDeleted: access tokens": liveTokens})
}
