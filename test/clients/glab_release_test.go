package clients

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"

	"tenon/test/servertest"
)

// TestGlab_release lets glab use every command of "glab release": releases from a branch and of a tag, with notes, milestones, links and
// files of both kinds, which are listed, viewed, uploaded, downloaded and deleted.
func TestGlab_release(t *testing.T) {
	bin := glab(t)
	s := &story{server: servertest.Start(t, "", "--rate-limits=off")}
	s.root = s.client(t, servertest.RootToken)
	s.project = got(s.root.Projects.CreateProject(&gitlab.CreateProjectOptions{
		Name: new("Glab"), InitializeWithReadme: new(true), Visibility: new(gitlab.PublicVisibility),
	})).must(t)
	for _, title := range []string{"v1", "kept open"} {
		got(s.root.Milestones.CreateMilestone(s.project.ID, &gitlab.CreateMilestoneOptions{Title: &title})).must(t)
	}
	home := t.TempDir()
	work := filepath.Join(home, "work")
	s.git(t, home, "", "clone", "-q", s.remote("root", servertest.RootToken), work)
	for name, content := range map[string]string{"tool.txt": "a tool\n", "manual.txt": "a manual\n", "notes.md": "From a *file*\n"} {
		if err := os.WriteFile(filepath.Join(work, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, folder := range []string{"fetched", "registered"} {
		if err := os.Mkdir(filepath.Join(work, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s.git(t, work, "", "tag", "v2.0")
	s.git(t, work, "", "push", "-q", "origin", "v2.0")
	shell := terminal{home: home, work: work, bin: bin}.configure(t, s.server.URL)
	run := func(lines ...[]string) { // arguments, cut at bars, and what glab prints
		t.Helper()
		for _, step := range lines {
			out := shell.run(t, append([]string{"release"}, strings.Split(step[0], "|")...)...)
			for _, want := range step[1:] {
				if !strings.Contains(out, want) {
					t.Errorf("glab release %s: got %q, want %q in it", strings.ReplaceAll(step[0], "|", " "), out, want)
				}
			}
		}
	}
	link := `[{"name":"site","url":"https://example.com/tool","link_type":"runbook","direct_asset_path":"/bin/site"}]`
	run(
		[]string{"list", "No releases"},
		[]string{"create|v1.0|--ref|main|--tag-message|The first|--name|One|--notes|It *works*|--milestone|v1|--assets-links|" + link, "Release created", "/root/glab/-/releases/v1.0"},
		[]string{"create|v1.0|--name|One again|--notes|It works again|--milestone|kept open|--no-close-milestone", "Release updated"},
		[]string{"create|v2.0|--notes-file|notes.md|tool.txt#The tool#package", "Release created", "Uploading to release"},
		[]string{"create|v3.0|--ref|v2.0|--notes|Later|--released-at|2100-01-02T03:04:05Z", "Release created"},
		[]string{"list", "3 releases", "One again", "v1.0", "v2.0", "v3.0"},
		[]string{"list|--per-page|1|--page|2", "1 release"},
		[]string{"view|v1.0", "One again", "It works again", "/-/releases/v1.0/downloads/bin/site", "/-/archive/v1.0/glab-v1.0.tar.gz"},
		[]string{"view", "v3.0", "Later"},
		[]string{"upload|v2.0|manual.txt#The manual", "Upload succeeded"},
		[]string{"upload|v2.0|--assets-links|" + link, "Upload succeeded"},
		[]string{"upload|v1.0|tool.txt#Registered|--use-package-registry", "Upload succeeded"},
		[]string{"view|v2.0", "From a", "The tool", "The manual", "site"},
		[]string{"download|v2.0|--asset-name|The*|--dir|fetched"},
		[]string{"download|v1.0|--asset-name|Registered|--dir|registered"},
	)
	for _, file := range []struct{ folder, want string }{{"fetched", "a manual\n, a tool\n"}, {"registered", "a tool\n"}} {
		entries, err := os.ReadDir(filepath.Join(work, file.folder))
		if err != nil {
			t.Fatal(err)
		}
		var contents []string
		for _, e := range entries {
			content, err := os.ReadFile(filepath.Join(work, file.folder, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			contents = append(contents, string(content))
		}
		if all := strings.Join(contents, ", "); all != file.want {
			t.Errorf("downloaded to %s: %q of %v, want %q", file.folder, all, entries, file.want)
		}
	}
	first := got(s.root.Releases.GetRelease(s.project.ID, "v1.0")).must(t)
	if first.Name != "One again" || first.Description != "It works again" || len(first.Milestones) != 1 || first.Milestones[0].Title != "kept open" ||
		len(first.Assets.Links) != 2 || first.Assets.Links[1].LinkType != "runbook" || !strings.HasSuffix(first.Assets.Links[1].DirectAssetURL, "/-/releases/v1.0/downloads/bin/site") {
		t.Errorf("the first release: %+v", first)
	}
	if tag := got(s.root.Tags.GetTag(s.project.ID, "v1.0")).must(t); tag.Message != "The first" || tag.Release == nil || tag.Release.Description != "It works again" {
		t.Errorf("the tag of the first release: %+v", tag)
	}
	for title, state := range map[string]string{"v1": "closed", "kept open": "active"} {
		if m := got(s.root.Milestones.ListMilestones(s.project.ID, &gitlab.ListMilestonesOptions{Title: &title})).must(t); len(m) != 1 || m[0].State != state {
			t.Errorf("milestone %s: %+v, want %s", title, m, state)
		}
	}
	run(
		[]string{"delete|v2.0|--yes", "Deleting release"},
		[]string{"delete|v1.0|--with-tag|--yes", "Deleting release", "Deleting associated tag"},
		[]string{"list", "1 release"},
	)
	got(s.root.Releases.GetRelease(s.project.ID, "v2.0")).refused(t, 404, "")
	got(s.root.Tags.GetTag(s.project.ID, "v2.0")).must(t)
	got(s.root.Tags.GetTag(s.project.ID, "v1.0")).refused(t, 404, "")
}
