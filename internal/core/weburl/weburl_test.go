package weburl_test

import (
	"net/url"
	"testing"

	"tenon/internal/core/weburl"
)

func TestSite_SSHRepository(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"":                 "",
		"git.example":      "git@git.example:g/p.git",
		"git.example:22":   "git@git.example:g/p.git",
		"git.example:2222": "ssh://git@git.example:2222/g/p.git",
		"::1":              "git@[::1]:g/p.git",
		"[::1]:22":         "git@[::1]:g/p.git",
		"[::1]:2222":       "ssh://git@[::1]:2222/g/p.git",
	} {
		site := weburl.New(&url.URL{Scheme: "https", Host: "tenon.example:8443"}, address)
		if got := site.SSHRepository("g/p"); got != want {
			t.Errorf("%s: got %s, want %s", address, got, want)
		}
	}
}

func TestSite(t *testing.T) {
	t.Parallel()
	s := weburl.New(&url.URL{Scheme: "https", Host: "tenon.example:8443", Path: "/"}, "")
	for name, tt := range map[string]struct{ got, want string }{
		"root":             {s.Root(), "https://tenon.example:8443"},
		"host":             {s.Host(), "tenon.example"},
		"user":             {s.User("ada"), "https://tenon.example:8443/ada"},
		"group":            {s.Group("a/b"), "https://tenon.example:8443/groups/a/b"},
		"group members":    {s.GroupMembers("a"), "https://tenon.example:8443/groups/a/-/group_members"},
		"project members":  {s.ProjectMembers("a/b"), "https://tenon.example:8443/a/b/-/project_members"},
		"group requests":   {s.GroupAccessRequests("a"), "https://tenon.example:8443/groups/a/-/group_members?tab=access_requests"},
		"project requests": {s.ProjectAccessRequests("a/b"), "https://tenon.example:8443/a/b/-/project_members?tab=access_requests"},
		"issue":            {s.Issue("a/b", 3), "https://tenon.example:8443/a/b/-/issues/3"},
		"task":             {s.WorkItem("a/b", 3), "https://tenon.example:8443/a/b/-/work_items/3"},
		"merge request":    {s.MergeRequest("a/b", 3), "https://tenon.example:8443/a/b/-/merge_requests/3"},
		"form":             {s.NewMergeRequest("a/b", "x&y"), "https://tenon.example:8443/a/b/-/merge_requests/new?merge_request%5Bsource_branch%5D=x%26y"},
		"empty form":       {s.NewMergeRequest("a/b", ""), "https://tenon.example:8443/a/b/-/merge_requests/new"},
		"archive":          {s.Archive("a/b", "x/y #1", "tar.gz"), "https://tenon.example:8443/a/b/-/archive/x/y%20%231/b-x-y%20%231.tar.gz"},
		"artifacts":        {s.JobFolder("a/b", 3, "") + " " + s.JobFolder("a/b", 3, "c d"), "https://tenon.example:8443/a/b/-/jobs/3/artifacts/browse https://tenon.example:8443/a/b/-/jobs/3/artifacts/browse/c%20d"},
		"package in Go":    {s.ImportPath("a/b"), "tenon.example:8443/a/b"},
		"branch":           {s.Tree("a/b", "x/y #1"), "https://tenon.example:8443/a/b/-/tree/x/y%20%231"},
		"file":             {s.Blob("a/b", "main", "read me?.md"), "https://tenon.example:8443/a/b/-/blob/main/read%20me%3F.md"},
		"comparison":       {s.Compare("a/b", "1", "...", "2"), "https://tenon.example:8443/a/b/-/compare/1...2"},
		"clone":            {s.HTTPRepository("a/b"), "https://tenon.example:8443/a/b.git"},
		"large files":      {s.Service("a/b", "info/lfs"), "https://tenon.example:8443/a/b.git/info/lfs"},
		"image":            {s.Image("A/b"), "tenon.example/a/b"},
		"avatar":           {s.Avatar("user", 7, "f00.png/me +.png"), "https://tenon.example:8443/uploads/-/system/user/avatar/7/me%20+.png"},
		"API":              {s.ProjectAPI(7, "issues", "3"), "https://tenon.example:8443/api/v4/projects/7/issues/3"},
		"relative":         {(&weburl.Site{}).Pipeline("a/b", 9), "/a/b/-/pipelines/9"},
		"upload":           {weburl.UploadOf("group", 7, "5ec", "a.txt"), "/-/group/7/uploads/5ec/a.txt"},
		"gravatar trimmed": {weburl.Gravatar(" A@B.c ", 40), weburl.Gravatar("a@b.c", 40)},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: got %s, want %s", name, tt.got, tt.want)
		}
	}
}

func TestSite_IsPage(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"/", "/git"} {
		s := weburl.New(&url.URL{Scheme: "https", Host: "tenon.example", Path: base}, "")
		for address, want := range map[string]bool{
			s.Path(s.Branches("a/b")): true, "/a/b/-/issues/1": true, "/a/b/-/": true,
			"/a/b/-": false, "/a/b": false, "/a/bc/-/issues": false, "docs/a.md": false, "": false,
		} {
			if got := s.IsPage("a/b", address); got != want {
				t.Errorf("below %s: IsPage(%q) = %t, want %t", base, address, got, want)
			}
		}
	}
}
