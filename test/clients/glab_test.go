package clients

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"

	"tenon/test/program"
	"tenon/test/servertest"
)

// TestGlab_create lets glab open a merge request where the last commits of both branches have
// trailers: glab reads that of the target branch.
func TestGlab_create(t *testing.T) {
	bin := glab(t)
	s := &story{server: servertest.Start(t, "")}
	s.root = s.client(t, servertest.RootToken)
	s.project = got(s.root.Projects.CreateProject(&gitlab.CreateProjectOptions{Name: new("Glab"), InitializeWithReadme: new(true)})).must(t)
	home := t.TempDir()
	work := filepath.Join(home, "work")
	s.git(t, home, "", "clone", "-q", s.remote("root", servertest.RootToken), work)
	const signed = "\n\nSigned-off-by: Ann Author <ann@example.com>\nSigned-off-by: Ben <ben@example.com>"
	s.git(t, work, "", "commit", "-q", "--allow-empty", "-m", "Begin"+signed)
	s.git(t, work, "", "push", "-q", "origin", "HEAD")
	s.git(t, work, "", "switch", "-qc", "signed")
	s.git(t, work, "", "commit", "-q", "--allow-empty", "-m", "Mend the lock\n\nIt was broken."+signed)
	s.git(t, work, "", "push", "-q", "-u", "origin", "signed")

	terminal{home: home, work: work, bin: bin}.configure(t, s.server.URL).run(t, "mr", "create", "--fill", "--yes", "--target-branch", "main")
	open := got(s.root.MergeRequests.GetMergeRequest(s.project.ID, 1, nil)).must(t)
	if open.Title != "Mend the lock" || !strings.Contains(open.Description, "It was broken.") || open.SourceBranch != "signed" || open.TargetBranch != "main" {
		t.Errorf("merge request: got %+v", open)
	}
}

// TestGlab_planning lets glab work with issues, incidents, labels, milestones, iterations,
// boards, snippets, searches and events, and looks at what it prints.
func TestGlab_planning(t *testing.T) {
	bin := glab(t)
	s := &story{server: servertest.Start(t, "", "--rate-limits=off")}
	s.root = s.client(t, servertest.RootToken)
	s.project = got(s.root.Projects.CreateProject(&gitlab.CreateProjectOptions{Name: new("Glab"), InitializeWithReadme: new(true)})).must(t)
	home := t.TempDir()
	work := filepath.Join(home, "work")
	s.git(t, home, "", "clone", "-q", s.remote("root", servertest.RootToken), work)
	shell := terminal{home: home, work: work, bin: bin}.configure(t, s.server.URL)
	got(s.root.Issues.CreateIssue(s.project.ID, &gitlab.CreateIssueOptions{Title: new("The site is down"), IssueType: new("incident")})).must(t)
	got(s.root.Groups.CreateGroup(&gitlab.CreateGroupOptions{Name: new("Of no project"), Path: new("of-no-project")})).must(t)
	for _, step := range []struct {
		line string   // arguments, cut at bars
		want []string // what it prints
	}{
		{"label|create|--name|bug|--color|#dc143c|--description|What is wrong", []string{"Created label: bug", "#dc143c"}},
		{"label|list", []string{"1 of 1 on root/glab", "What is wrong"}},
		{"label|get|1", []string{"bug", "#dc143c"}},
		{"label|edit|--label-id|1|--new-name|defect|--color|#112233", []string{"Updated name: defect", "#112233"}},
		{"milestone|create|--title|v1|--description|first|--due-date|2030-01-02", []string{"Created project milestone v1 (ID: 1)"}},
		{"milestone|edit|1|--title|v2", []string{"Updated project milestone v2"}},
		{"milestone|get|1", []string{"Title: v2", "Due Date: 2030-01-02"}},
		{"milestone|list|--project|root/glab|--state|active|--search|v", []string{"v2", "active"}},
		{"issue|create|--title|The lock jams|--description|It *jams*|--label|defect|--milestone|v2|--assignee|root|--weight|3|--due-date|2030-02-03|--yes", []string{"/root/glab/-/issues/2"}},
		{"issue|create|--title|Second|--description|x|--confidential|--time-estimate|3h|--time-spent|1h|--yes", []string{"/root/glab/-/issues/3"}},
		{"issue|list", []string{"3 open issues", "#1", "#2", "(defect)", "#3"}},
		{"issue|list|--assignee|root|--milestone|v2|--label|defect|--search|lock|--in|title|--order|updated_at|--sort|asc", []string{"1 open issue", "The lock jams"}},
		{"issue|list|--not-label|defect|--confidential|--all", []string{"1 issue", "Second"}},
		{"issue|view|2", []string{"The lock jams", "labels:\tdefect", "milestone:\tv2", "assignees:\troot"}},
		{"issue|view|2|--output|json", []string{`"weight":3`, `"due_date":"2030-02-03"`}},
		{"issue|update|2|--title|The lock jams again|--label|urgent|--unlabel|defect|--unassign|--lock-discussion|--due-date|2030-03-04", []string{"added labels urgent", "removed labels defect"}},
		{"issue|note|2|-m|A note for @root", []string{"/root/glab/-/issues/2#note_"}},
		{"issue|view|2|--comments", []string{"The lock jams again", "A note for @root"}},
		{"issue|close|2", []string{"Closed issue #2"}},
		{"issue|list|--closed", []string{"1 closed issue"}},
		{"issue|reopen|2", []string{"Reopened issue #2"}},
		{"issue|unsubscribe|2", []string{"Unsubscribed"}},
		{"issue|subscribe|2", []string{"Subscribed"}},
		{"issue|board|create|Planning", []string{`Board created: "Planning"`}},
		{"incident|list", []string{"1 open incident", "The site is down"}},
		{"incident|view|1", []string{"The site is down"}},
		{"incident|note|1|-m|It is slow", []string{"#note_"}},
		{"incident|close|1", []string{"#1"}},
		{"incident|reopen|1", []string{"#1"}},
		{"incident|unsubscribe|1", []string{"Unsubscribed"}},
		{"incident|subscribe|1", []string{"Subscribed"}},
		{"iteration|list", []string{"iteration 0 of 0"}},
		{"api|graphql|-f|query={ currentUser { username } project(fullPath: \"root/glab\") { name forksCount statistics { wikiSize } issuesEnabled boards { nodes { name } } } }", []string{`"username":"root"`, `"name":"Planning"`}},
		{"api|graphql|--paginate|-f|query=query($endCursor: String) { project(fullPath: \"root/glab\") { issues(first: 2, after: $endCursor, sort: CREATED_ASC) { nodes { title } pageInfo { endCursor hasNextPage } } } }", []string{`"title":"The site is down"`, `"title":"Second"`}},
		{"snippet|create|--title|s|--filename|a.txt|--description|d|README.md", []string{"/root/glab/-/snippets/1"}},
		{"snippet|create|--title|t|--personal|README.md", []string{"/-/snippets/2"}},
		{"repo|search|--search|glab", []string{"root/glab"}},
		{"user|events", []string{"Opened Issue Second", "A note for @root", "Closed Issue The lock jams again"}},
		{"label|delete|urgent", []string{"deleted"}},
		{"milestone|delete|1", []string{"Deleted project milestone with ID 1"}},
		{"issue|delete|3", []string{"Issue deleted"}},
		{"issue|create|--title|Behind the first|--description|x|--linked-issues|1|--link-type|is_blocked_by|--yes", []string{"/root/glab/-/issues/4"}},
		{"user|events|--all", []string{"Opened Issue Behind the first at Administrator / Glab."}},
	} {
		out := shell.run(t, strings.Split(step.line, "|")...)
		for _, want := range step.want {
			if !strings.Contains(out, want) {
				t.Errorf("glab %s: got %q, want %q in it", strings.ReplaceAll(step.line, "|", " "), out, want)
			}
		}
	}
	boards := got(s.root.Boards.ListIssueBoards(s.project.ID, nil)).must(t)
	if len(boards) != 1 || boards[0].Name != "Planning" {
		t.Errorf("boards: got %+v", boards)
	}
}

// TestGlab_mergeRequests lets glab use every command of "glab mr", and looks at what it prints.
func TestGlab_mergeRequests(t *testing.T) {
	bin := glab(t)
	s := &story{server: servertest.Start(t, "", "--rate-limits=off")}
	s.root = s.client(t, servertest.RootToken)
	s.project = got(s.root.Projects.CreateProject(&gitlab.CreateProjectOptions{
		Name: new("Glab"), InitializeWithReadme: new(true), Visibility: new(gitlab.PublicVisibility), // so that checkout fetches
	})).must(t)
	ben := got(s.root.Users.CreateUser(&gitlab.CreateUserOptions{
		Username: new("ben"), Name: new("Ben"), Email: new("ben@example.com"), Password: new("correct horse ben"), SkipConfirmation: new(true),
	})).must(t)
	got(s.root.ProjectMembers.AddProjectMember(s.project.ID, &gitlab.AddProjectMemberOptions{UserID: ben.ID, AccessLevel: new(gitlab.DeveloperPermissions)})).must(t)
	got(s.root.Issues.CreateIssue(s.project.ID, &gitlab.CreateIssueOptions{Title: new("The lock jams"), Labels: &gitlab.LabelOptions{"bug"}})).must(t)
	got(s.root.Milestones.CreateMilestone(s.project.ID, &gitlab.CreateMilestoneOptions{Title: new("v1")})).must(t)
	got(s.root.Projects.ChangeApprovalConfiguration(s.project.ID, &gitlab.ChangeApprovalConfigurationOptions{MergeRequestsAuthorApproval: new(true)})).must(t)
	got(s.root.Projects.CreateProjectApprovalRule(s.project.ID, &gitlab.CreateProjectLevelRuleOptions{
		Name: new("Careful"), ApprovalsRequired: new(int64(1)), UserIDs: &[]int64{1, ben.ID},
	})).must(t)
	home := t.TempDir()
	work := filepath.Join(home, "work")
	s.git(t, home, "", "clone", "-q", s.remote("root", servertest.RootToken), work)
	shell := terminal{home: home, work: work, bin: bin}.configure(t, s.server.URL)
	push := func(branch, from, file string) {
		t.Helper()
		if s.git(t, work, "", "branch", "--list", branch) == "" {
			s.git(t, work, "", "branch", branch, from)
		}
		s.git(t, work, "", "switch", "-q", branch)
		if err := os.WriteFile(filepath.Join(work, file), []byte(file+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		s.git(t, work, "", "add", ".")
		s.git(t, work, "", "commit", "-q", "-m", "Add "+file)
		s.git(t, work, "", "push", "-q", "-u", "origin", branch)
	}
	push("one", "main", "one.txt")
	run := func(lines [][]string) {
		t.Helper()
		for _, step := range lines {
			out := shell.run(t, append([]string{"mr"}, strings.Split(step[0], "|")...)...)
			for _, want := range step[1:] {
				if !strings.Contains(out, want) {
					t.Errorf("glab mr %s: got %q, want %q in it", strings.ReplaceAll(step[0], "|", " "), out, want)
				}
			}
		}
	}
	run([][]string{ // arguments, cut at bars, and what it prints
		{"create|--title|Add one|--description|Closes #1|--label|bug|--assignee|root|--reviewer|ben|--milestone|v1|--source-branch|one|--target-branch|main|--remove-source-branch|--yes", "/root/glab/-/merge_requests/1"},
		{"for|1|--with-labels", "/root/glab/-/merge_requests/2"},
		{"list", "2 open merge requests", "Add one", `Draft: Resolve "The lock jams"`},
		{"list|--label|bug|--reviewer|ben|--source-branch|one|--search|one|--sort|asc|--not-draft", "1 open merge request", "Add one"},
		{"view|1", "Add one", "labels:\tbug", "assignees:\troot", "reviewers:\tben", "milestone:\tv1", "Closes #1"},
		{"view|1|--output|json", `"detailed_merge_status":"not_approved"`},
		{"note|1|-m|A note", "/root/glab/-/merge_requests/1#note_"},
		{"view|1|--comments|--system-logs", "A note", "requested review from @ben"},
		{"approvers|1", "Careful", "Ben", "root"},
		{"approve|1", "Approved"},
		{"view|1|--output|json", `"detailed_merge_status":"mergeable"`},
		{"revoke|1", "Merge request approval revoked"},
		{"unsubscribe|1", "You have successfully unsubscribed"},
		{"subscribe|1", "You have successfully subscribed"},
		{"todo|1", "Done"},
		{"issues|1", "The lock jams"},
		{"diff|1", "+++ one.txt", "+one.txt"},
		{"diff|1|--raw", "diff --git a/one.txt b/one.txt", "new file mode 100644"},
		{"update|1|--title|Add one more|--draft|--lock-discussion|--label|urgent|--unlabel|bug", `updated title to "Add one more"`, "marked as Draft", "locked discussion", "added labels urgent", "removed labels bug"},
		{"update|1|--ready|--unlock-discussion|--reviewer|-ben|--yes", "marked as ready", "unlocked discussion", `removed review request for "@ben"`},
		{"close|1", "Closed merge request !1"},
		{"list|--closed", "1 closed merge request"},
		{"reopen|1", "Reopened merge request !1"},
	})
	push("main", "", "beside.txt")
	run([][]string{
		{"checkout|1"},
		{"rebase|1", "Rebase successful"},
		{"approve|1", "Approved"},
		{"merge|1|--yes|--auto-merge=false|--squash|--message|Take it|--squash-message|All of it", "Merged"},
	})
	if branch := s.git(t, work, "", "branch", "--show-current"); branch != "one" {
		t.Errorf("checked out: got %q, want one", branch)
	}
	done := got(s.root.MergeRequests.GetMergeRequest(s.project.ID, 1, nil)).must(t)
	if done.State != "merged" || done.SquashCommitSHA == "" {
		t.Errorf("merged: got %+v", done)
	}
	push("two", "main", "two.txt")
	run([][]string{
		{"create|--fill|--yes|--target-branch|main", "/root/glab/-/merge_requests/3"},
		{"delete|3", "Merge request !3 deleted"},
	})
	got(s.root.MergeRequests.GetMergeRequest(s.project.ID, 3, nil)).refused(t, 404, "")
}

// terminal is where glab runs: in a clone, with a home of its own.
type terminal struct{ home, work, bin string }

// configure writes the configuration for a server.
func (x terminal) configure(t *testing.T, server string) terminal {
	t.Helper()
	address, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf("git_protocol: http\ncheck_update: false\ntelemetry: false\nhost: %[1]s\nhosts:\n  %[1]s:\n    api_host: %[2]s\n    api_protocol: http\n    git_protocol: http\n    token: %[3]s\n",
		address.Hostname(), address.Host, servertest.RootToken)
	if err := os.WriteFile(filepath.Join(x.home, "config.yml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return x
}

// run returns what glab prints.
func (x terminal) run(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, x.bin, args...)
	cmd.Dir = x.work
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + x.home, "GLAB_CONFIG_DIR=" + x.home, "GLAB_CHECK_UPDATE=false", "GLAB_SEND_TELEMETRY=false", "GLAB_NO_PROMPT=true",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.com",
		"GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=ann@example.com",
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("glab %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// glab returns the program: that of the path, or the one packed beside the contract. The test
// is skipped where there is neither.
func glab(t *testing.T) string {
	t.Helper()
	if found, err := exec.LookPath("glab"); err == nil {
		return found
	}
	contract := os.Getenv("TENON_CONTRACT_DIR")
	packed := filepath.Join(contract, "..", "tools", "glab.xz")
	if _, err := os.Stat(packed); contract == "" || err != nil {
		t.Skip("glab: skipped (neither in the path nor beside the contract)")
	}
	content, err := exec.CommandContext(t.Context(), "xz", "--decompress", "--keep", "--stdout", packed).Output()
	if err != nil {
		t.Skipf("glab: skipped (%v)", err)
	}
	return program.Write(t, "glab", content)
}
