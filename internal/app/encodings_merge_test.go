package app

import (
	"os"
	"strings"
	"testing"
)

// TestEncodings_merge merges a commit whose message, author and file are Latin-1 without saying so: messages that quote it have its
// bytes, as git keeps them, and an applied suggestion changes no other line of the file.
func TestEncodings_merge(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.do("admin", "POST", "/projects", obj{
		"name": "app", "initialize_with_readme": true, "squash_commit_template": "%{first_multiline_commit}\n\n%{co_authored_by}", "merge_commit_template": "Quoted\n\n%{all_commits}",
	})
	const app = "/projects/root%2Fapp"
	c := s.workCopy(t)
	const message, file = "Gr\xf6\xdfe \xe4ndern\n\nund f\xfcr alle gr\xfcn", "caf\xe9 cr\xe8me, s'il vous pla\xeet\nzwei\ntr\xe8s sucr\xe9\n"
	c.git("", "clone", "-q", c.remote("root/app"), ".")
	raw := func(ref string) string {
		t.Helper()
		c.git("", "fetch", "-q", "--prune", "origin")
		return c.git("", "cat-file", "commit", ref)
	}
	open := func(branch string) string {
		t.Helper()
		c.git("", "checkout", "-q", "-B", branch, "origin/main")
		if err := os.WriteFile(c.dir+"/"+branch, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		c.git("", "add", ".")
		c.git("", "commit", "-q", "-m", "One")
		stored := strings.NewReplacer("author A ", "author J\xfcrgen Gro\xdf ", "\n\nOne\n", "\n\n"+message).Replace(c.git("", "cat-file", "commit", "HEAD")) // git commit writes UTF-8
		c.git("", "reset", "-q", strings.TrimSpace(c.git(stored, "hash-object", "-t", "commit", "-w", "--stdin")))
		c.git("", "push", "-q", "origin", branch)
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
	quotes("the commit itself", raw("origin/main^2"), "author J\xfcrgen Gro\xdf <a@example.com>", message)

	squashed := open("squashed")
	s.do("admin", "PUT", squashed+"/merge", obj{"squash": true})
	quotes("the squash commit", raw("origin/main^2"), "\n\n"+message, "Co-authored-by: J\xfcrgen Gro\xdf <a@example.com>")

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
	if got, want := c.git("", "cat-file", "blob", "origin/suggested:suggested"), strings.Replace(file, "zwei", "zw\xf6lf", 1); got != want {
		t.Errorf("the file after the suggestion: %q, want %q", got, want)
	}

	made := s.send(t.Context(), request{as: "admin", method: "GET", path: app + "/repository/commits/" + strings.TrimSpace(c.git("", "rev-parse", "origin/main^2"))})
	if !strings.Contains(made.Body.String(), `"title":"Größe ändern"`) {
		t.Errorf("the squash commit is read as %s", made.Body)
	}
}
