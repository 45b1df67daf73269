package app

import (
	"strings"
	"testing"

	"tenon/internal/core/account"
	"tenon/internal/core/authz"
)

// What a user may not read is not in its archive, and no secret is in any (A10, A14).
func TestExport_worlds(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	w := newWorld(s)
	p := w.projects[0].values
	path := "/projects/" + p["projects/:id"]
	s.user("neighbour", func(*account.Input) {}) // maintains the project, and is no member of its private group
	s.do("admin", "POST", path+"/members", obj{"user_id": s.ids["neighbour"], "access_level": authz.Maintainer})
	const planted = "planted-secret-"
	s.do("owner", "POST", path+"/variables", obj{"key": "PLANTED", "value": planted + "variable"})
	s.do("owner", "POST", path+"/hooks", obj{"url": "https://example.com/" + planted + "hook", "token": planted + "token"})
	s.do("owner", "POST", path+"/triggers", obj{"description": planted + "trigger"})
	s.exec("UPDATE epics SET confidential = ?", true)
	archives := map[string]string{}
	for _, as := range []string{"neighbour", "owner", "admin"} {
		all, files := unpack(t, s.export(t, as, path))
		checkArchive(t, all, files)
		for name, text := range files {
			if strings.Contains(text, planted) || strings.Contains(text, "s3cret") || strings.Contains(text, "glpat-") {
				t.Errorf("%s of %s has a secret", name, as)
			}
			archives[as+" "+name] = text
		}
	}
	for _, tt := range []struct {
		file, part              string
		neighbour, owner, admin bool
	}{
		{"./tree/project/issues.ndjson", `"title":"Secret"`, true, true, true},
		{"./tree/project/issues.ndjson", `"note":"Between us"`, true, true, true},
		{"./tree/project/issues.ndjson", `"epic_issue":{`, false, true, true},
		{"./tree/project/project_members.ndjson", `"username":"neighbour"`, true, true, true},
		{"./tree/project/project_members.ndjson", `"username":"guest"`, false, true, true},
		{"./tree/project/custom_attributes.ndjson", `"key":"room"`, false, false, true},
		{"./tree/project/merge_requests.ndjson", `"utf8_diff":"@@`, true, true, true},
		{"./tree/project/merge_requests.ndjson", `"to_content":"Better`, true, true, true},
		{"./tree/project/commit_notes.ndjson", `"note":"A remark"`, true, true, true},
		{"./tree/project/snippets.ndjson", `"author":{"name":`, true, true, true},
		{"./tree/project/ci_pipelines.ndjson", `"type":"Ci::Build"`, true, true, true},
		{"./tree/project/boards.ndjson", `"list_type":"`, true, true, true},
		{"./tree/project/protected_branches.ndjson", `"access_level":40`, true, true, true},
	} {
		for as, want := range map[string]bool{"neighbour": tt.neighbour, "owner": tt.owner, "admin": tt.admin} {
			if got := strings.Contains(archives[as+" "+tt.file], tt.part); got != want {
				t.Errorf("%s of %s has %s: %v, want %v", tt.file, as, tt.part, got, want)
			}
		}
	}
	off := "/projects/" + w.projects[len(w.projects)-1].values["projects/:id"] // its features are disabled
	_, files := unpack(t, s.export(t, "owner", off))
	for _, name := range []string{"issues", "merge_requests", "snippets", "commit_notes"} {
		if text := files["./tree/project/"+name+".ndjson"]; text != "" {
			t.Errorf("%s of a project without the feature: %.80s", name, text)
		}
	}
	if files["./project.bundle"] != "" || files["./project.wiki.bundle"] != "" {
		t.Error("a repository of a feature that is disabled is in the archive")
	}
}
