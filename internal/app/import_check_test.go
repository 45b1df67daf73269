package app

import (
	"archive/tar"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tenon/internal/core/authz"
	"tenon/internal/core/importexport"
)

// An archive is imported on a server of its own, which leaves no file behind: the report says what would be lost.
func TestCheckImport(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	folder := t.TempDir()
	check := func(content string, admin bool) (*importexport.Report, error) {
		t.Helper()
		name := filepath.Join(folder, "export.tar.gz")
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := CheckImport(t.Context(), ImportCheck{
			File: name, Admin: admin, Visibility: authz.Private, Build: Build{Version: "test", Revision: "test"}, Tell: func(string) {},
		}, slog.New(slog.DiscardHandler))
		if left, more := os.ReadDir(temp); more != nil || len(left) > 0 {
			t.Errorf("left behind: %v %v", left, more)
		}
		return r, err
	}
	counts := func(r *importexport.Report, name string) (read, written, lost int64) {
		for _, rel := range r.Relations {
			if rel.Name == name {
				return rel.Read, rel.Written, rel.Lost
			}
		}
		return 0, 0, 0
	}
	const label = `{"title":"bug","color":"#5843AD","type":"ProjectLabel"}` + "\n"
	project := []string{"VERSION", "0.2.4", "tree/project.json", `{"description":"Moved","visibility_level":0}`}
	archive := func(more ...string) string {
		var entries []string
		entries = append(append(entries, project...), more...)
		return packNamed(t, entries...)
	}
	r, err := check(archive("tree/project/labels.ndjson", label), false)
	if err != nil {
		t.Fatal(err)
	}
	if read, written, lost := counts(r, "labels"); read != 1 || written != 1 || lost != 0 || len(r.Items) != 0 {
		t.Errorf("a good archive: %d %d %d %v", read, written, lost, r.Items)
	}
	const members = `{"access_level":40,"source_type":"Project","user":{"id":7,"username":"ann","public_email":"importer@localhost.invalid"},"user_id":7}` + "\n"
	r, err = check(archive("tree/project/labels.ndjson", label+"{\n", "tree/project/project_members.ndjson", members), false)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, lost := counts(r, "labels"); lost != 1 || len(r.Items) != 2 {
		t.Errorf("a broken line and a member: %d %v", lost, r.Items)
	}
	r, err = check(packNamed(t, "VERSION", "0.2.4", "tree/groups/_all.ndjson", "4\n", "tree/groups/4.json", `{"id":4,"name":"Four","path":"four"}`, "tree/groups/4/labels.ndjson", label), true)
	if err != nil {
		t.Fatal(err)
	}
	if _, written, _ := counts(r, "labels"); written != 1 {
		t.Errorf("a group: %v", r.Relations)
	}
	for content, want := range map[string]string{
		"no archive": "The file is no archive of a project or group.",
		packNamed(t, "VERSION", "0.2.4", "other", "x"):                        "The file is no archive of a project or group.",
		packNamed(t, "VERSION", "0.9.0", "tree/project.json", "{}"):           "Import version mismatch: Required 0.2.4 but was 0.9.0",
		packNamed(t, "VERSION", "0.2.4", "tree/groups/_all.ndjson", "four\n"): "The import file is incompatible",
	} {
		_, err := check(content, false)
		unreadable := (*UnreadableError)(nil)
		if !errors.As(err, &unreadable) || !strings.Contains(unreadable.Reason, want) {
			t.Errorf("%.20q: %v, want %s", content, err, want)
		}
	}
	if _, err := CheckImport(context.Background(), ImportCheck{File: folder + "/none"}, nil); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("no file: %v", err)
	}
}

// packNamed makes an archive of files, by name and content.
func packNamed(t *testing.T, pairs ...string) string {
	t.Helper()
	out := make([]*tar.Header, 0, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, member(pairs[i], pairs[i+1]))
	}
	return pack(t, out...)
}

// The published sample archives of the format have the counts and failures that are documented. TENON_CONTRACT_DIR names their folder; .ci/run sets it.
func TestCheckImport_samples(t *testing.T) {
	root := os.Getenv("TENON_CONTRACT_DIR")
	if root == "" {
		t.Skip("sample archives: skipped (TENON_CONTRACT_DIR is not set)")
	}
	for name, tt := range map[string]struct {
		failure string
		written map[string]int64 // also where something was changed
		lost    map[string]int64
	}{
		"lightweight_project_export": {
			written: map[string]int64{"project": 1, "issues": 1, "merge_requests": 1, "labels": 1, "milestones": 1, "protected_branches": 1, "notes": 1, "merge_request_notes": 2, "repository": 1},
			lost:    map[string]int64{"project_members": 1, "issues": 0, "merge_requests": 0},
		},
		"corrupted_project_export": {
			written: map[string]int64{"project": 1, "issues": 1, "merge_requests": 0, "labels": 1, "milestones": 1, "repository": 1},
			lost:    map[string]int64{"merge_requests": 1, "issues": 0, "labels": 0},
		},
		"symlink_export":                    {failure: "The archive holds a link or a device: uploads/link.gitignore"},
		"group_export":                      {written: map[string]int64{"group": 1, "labels": 9, "epics": 5}, lost: map[string]int64{"members": 4, "labels": 0, "epics": 0}},
		"group_export_invalid_subrelations": {written: map[string]int64{"group": 1, "labels": 10, "epics": 4}, lost: map[string]int64{"members": 5, "labels": 0, "epics": 1}},
	} {
		r, err := CheckImport(t.Context(), ImportCheck{
			File: filepath.Join(root, "exports", name+".tar.gz"), Visibility: authz.Private, Build: Build{Version: "test", Revision: "test"}, Tell: func(string) {},
		}, slog.New(slog.DiscardHandler))
		if tt.failure != "" {
			if err == nil || !strings.HasSuffix(err.Error(), tt.failure) {
				t.Errorf("%s: %v, want %s", name, err, tt.failure)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		written, lost := map[string]int64{}, map[string]int64{}
		for _, rel := range r.Relations {
			written[rel.Name], lost[rel.Name] = rel.Written+rel.Changed, rel.Lost
		}
		for relation, want := range tt.written {
			if written[relation] != want {
				t.Errorf("%s: %d %s written, want %d", name, written[relation], relation, want)
			}
		}
		for relation, want := range tt.lost {
			if lost[relation] != want {
				t.Errorf("%s: %d %s lost, want %d", name, lost[relation], relation, want)
			}
		}
	}
}
