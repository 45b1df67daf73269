package app

import (
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestEncodings_merge merges a commit whose message, author and file are Latin-1 without saying so: messages that quote it have its
// bytes, as git keeps them, and an applied suggestion changes no other line of the file.
func TestEncodings_merge(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	web := httptest.NewServer(s.http.Handler)
	t.Cleanup(web.Close)
	s.do("admin", "POST", "/projects", obj{
		"name": "app", "initialize_with_readme": true, "squash_commit_template": "%{first_multiline_commit}\n\n%{co_authored_by}", "merge_commit_template": "Quoted\n\n%{all_commits}",
	})
	const app = "/projects/root%2Fapp"
	dir := t.TempDir()
	git := func(input string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(input)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
			"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=j@example.com", "GIT_COMMITTER_NAME=C", "GIT_COMMITTER_EMAIL=c@example.com")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	const message, file = "Gr\xf6\xdfe \xe4ndern\n\nund f\xfcr alle gr\xfcn", "caf\xe9 cr\xe8me, s'il vous pla\xeet\nzwei\ntr\xe8s sucr\xe9\n"
	git("", "clone", "-q", fmt.Sprintf("http://root:%s@%s/root/app.git", rootToken, strings.TrimPrefix(web.URL, "http://")), ".")
	raw := func(ref string) string {
		t.Helper()
		git("", "fetch", "-q", "--prune", "origin")
		return git("", "cat-file", "commit", ref)
	}
	open := func(branch string) string {
		t.Helper()
		git("", "checkout", "-q", "-B", branch, "origin/main")
		if err := os.WriteFile(dir+"/"+branch, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		git("", "add", ".")
		git("", "commit", "-q", "-m", "One")
		stored := strings.NewReplacer("author A ", "author J\xfcrgen Gro\xdf ", "\n\nOne\n", "\n\n"+message).Replace(git("", "cat-file", "commit", "HEAD")) // git commit writes UTF-8
		git("", "reset", "-q", strings.TrimSpace(git(stored, "hash-object", "-t", "commit", "-w", "--stdin")))
		git("", "push", "-q", "origin", branch)
		return app + "/merge_requests/" + number(s.do("admin", "POST", app+"/merge_requests", obj{"title": "One", "source_branch": branch, "target_branch": "main"}), "iid")
	}
	quotes := func(what, commit string, parts ...string) {
		t.Helper()
		for _, part := range parts {
			if !strings.Contains(commit, part) {
				t.Errorf("%s lacks %q: %q", what, part, commit)
			}
		}
		if strings.Contains(commit, "\ufffd") || strings.Contains(commit, "\nencoding ") {
			t.Errorf("%s is not as git keeps it: %q", what, commit)
		}
	}

	merged := open("plain")
	s.do("admin", "PUT", merged+"/merge", obj{})
	quotes("the merge commit", raw("origin/main"), "\n\nQuoted\n\n", message)
	quotes("the commit itself", raw("origin/main^2"), "author J\xfcrgen Gro\xdf <j@example.com>", message)

	squashed := open("squashed")
	s.do("admin", "PUT", squashed+"/merge", obj{"squash": true})
	quotes("the squash commit", raw("origin/main^2"), "\n\n"+message, "Co-authored-by: J\xfcrgen Gro\xdf <j@example.com>")

	at := open("suggested")
	refs := s.do("admin", "GET", at, nil)["diff_refs"].(map[string]any)
	note := s.do("admin", "POST", at+"/discussions", obj{"body": "```suggestion\nzw\u00f6lf\n```", "position": obj{
		"position_type": "text", "base_sha": refs["base_sha"], "start_sha": refs["start_sha"], "head_sha": refs["head_sha"], "new_path": "suggested", "old_path": "suggested", "new_line": 2,
	}})
	suggestions := note["notes"].([]any)[0].(map[string]any)["suggestions"].([]any)
	if len(suggestions) != 1 {
		t.Fatalf("suggestions: %v", note)
	}
	s.do("admin", "PUT", "/suggestions/"+number(suggestions[0].(map[string]any), "id")+"/apply", nil)
	raw("origin/suggested")
	if got, want := git("", "cat-file", "blob", "origin/suggested:suggested"), strings.Replace(file, "zwei", "zw\xf6lf", 1); got != want {
		t.Errorf("the file after the suggestion: %q, want %q", got, want)
	}

	made := s.send(t.Context(), request{as: "admin", method: "GET", path: app + "/repository/commits/" + strings.TrimSpace(git("", "rev-parse", "origin/main^2"))})
	if !strings.Contains(made.Body.String(), `"title":"Größe ändern"`) {
		t.Errorf("the squash commit is read as %s", made.Body)
	}
}
