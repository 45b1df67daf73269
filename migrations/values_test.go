package migrations_test

import (
	"io/fs"
	"slices"
	"testing"
	"testing/fstest"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/migrations"
)

// upTo returns the migrations whose names sort before the given one.
func upTo(t *testing.T, name string) fs.FS {
	t.Helper()
	all, err := fs.Glob(migrations.FS, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	out := fstest.MapFS{}
	for _, file := range all {
		text, err := fs.ReadFile(migrations.FS, file)
		if err != nil {
			t.Fatal(err)
		}
		if file < name {
			out[file] = &fstest.MapFile{Data: text}
		}
	}
	return out
}

// A deploy token that expired with the beginning of a day expires at that moment afterwards;
// other tokens keep their day.
func TestDeployTokenExpiry(t *testing.T) {
	t.Parallel()
	dbtest.Empty(t, func(t *testing.T, d *db.DB) {
		if err := d.Migrate(t.Context(), upTo(t, "0002_deploy_token_expiry.sql")); err != nil {
			t.Fatal(err)
		}
		for _, row := range [][3]any{{"deploy", "a", "2026-06-01"}, {"deploy", "b", nil}, {"personal", "c", "2026-06-02"}} {
			if _, err := d.Exec(t.Context(), `INSERT INTO access_tokens (kind, name, name_fold, digest, scopes, revoked, expires_on, created_at, updated_at)
				VALUES (?, 'x', 'x', ?, 'api', FALSE, ?, '2026-01-01 00:00:00+00:00', '2026-01-01 00:00:00+00:00')`, row[:]...); err != nil {
				t.Fatal(err)
			}
		}
		if err := d.Migrate(t.Context(), migrations.FS); err != nil {
			t.Fatal(err)
		}
		type row struct {
			ExpiresOn *string  `db:"expires_on"`
			ExpiresAt *db.Time `db:"expires_at"`
		}
		rows, err := db.Select[row](t.Context(), d, "SELECT expires_on, expires_at FROM access_tokens ORDER BY digest")
		if err != nil || len(rows) != 3 {
			t.Fatalf("%d rows, %v", len(rows), err)
		}
		if at := rows[0].ExpiresAt.Ptr(); at == nil || at.String() != "2026-06-01 00:00:00 +0000 UTC" || rows[0].ExpiresOn != nil {
			t.Errorf("deploy token with a day: got %v and %v", at, rows[0].ExpiresOn)
		}
		if rows[1].ExpiresAt != nil || rows[1].ExpiresOn != nil {
			t.Errorf("deploy token without one: got %v and %v", rows[1].ExpiresAt, rows[1].ExpiresOn)
		}
		if rows[2].ExpiresAt != nil || rows[2].ExpiresOn == nil || *rows[2].ExpiresOn != "2026-06-02" {
			t.Errorf("personal token: got %v and %v", rows[2].ExpiresAt, rows[2].ExpiresOn)
		}
		if n, err := db.Get[int](t.Context(), d, "SELECT COUNT(*) FROM access_tokens WHERE expires_at > ?", db.At(rows[0].ExpiresAt.Add(-1e9))); err != nil || n != 1 {
			t.Errorf("compared with a bound time: got %d, %v, want 1", n, err)
		}
	})
}

// A picture from before is called avatar with the extension that it has.
func TestAvatarNames(t *testing.T) {
	t.Parallel()
	dbtest.Empty(t, func(t *testing.T, d *db.DB) {
		if err := d.Migrate(t.Context(), upTo(t, "0003_avatar_names.sql")); err != nil {
			t.Fatal(err)
		}
		const object = "0123456789abcdef0123456789abcdef"
		for i, avatar := range []string{object + ".png", object + ".jpg", ""} {
			if _, err := d.Exec(t.Context(), "INSERT INTO topics (name, name_fold, title, title_fold, avatar, projects_count, created_at, updated_at)"+
				" VALUES (?, ?, '', '', ?, 0, '2026-01-01 00:00:00+00:00', '2026-01-01 00:00:00+00:00')", string(rune('a'+i)), string(rune('a'+i)), avatar); err != nil {
				t.Fatal(err)
			}
		}
		if err := d.Migrate(t.Context(), migrations.FS); err != nil {
			t.Fatal(err)
		}
		got, err := db.Select[string](t.Context(), d, "SELECT avatar FROM topics ORDER BY name")
		if want := []string{object + ".png/avatar.png", object + ".jpg/avatar.jpg", ""}; err != nil || !slices.Equal(got, want) {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	})
}

// Confidential and closed issues are no part of the public count.
func TestPublicOpenIssues(t *testing.T) {
	t.Parallel()
	dbtest.Empty(t, func(t *testing.T, d *db.DB) {
		if err := d.Migrate(t.Context(), upTo(t, "0004_public_open_issues.sql")); err != nil {
			t.Fatal(err)
		}
		w := coretest.New(t, d)
		ann := w.User("ann")
		group := w.Group("team", authz.Public, 0)
		app, empty := w.Project("team/app", authz.Public, group), w.Project("team/empty", authz.Public, group)
		for i, state := range []string{"opened", "opened", "opened", "closed", "closed"} {
			w.Insert("issues", coretest.Row{
				"iid": i + 1, "project_id": app, "author_id": ann.UserID, "title": "x", "state": state, "confidential": i%2 == 0, "issue_type": "issue",
			})
		}
		if err := d.Migrate(t.Context(), migrations.FS); err != nil {
			t.Fatal(err)
		}
		counts, err := db.Select[int](t.Context(), d, "SELECT public_open_issues_count FROM projects WHERE id IN (?, ?) ORDER BY id", app, empty)
		if want := []int{1, 0}; err != nil || !slices.Equal(counts, want) {
			t.Errorf("got %v, %v, want %v", counts, err, want)
		}
	})
}

// Lines of history that name another issue know afterwards which one, so that users who may not
// read it do not see them.
func TestSourcesOfHistory(t *testing.T) {
	t.Parallel()
	dbtest.Empty(t, func(t *testing.T, d *db.DB) {
		if err := d.Migrate(t.Context(), upTo(t, "0021_sources_of_history.sql")); err != nil {
			t.Fatal(err)
		}
		w := coretest.New(t, d)
		owner := w.User("owner")
		app, far := w.Project("team/app", authz.Public, w.Group("team", authz.Public, 0)), w.Project("Far/Secret", authz.Private, w.Group("Far", authz.Private, 0))
		ids := map[string]int64{}
		for _, i := range []struct {
			project any
			iid     int64
			name    string
		}{{app, 1, "one"}, {app, 2, "two"}, {far, 2, "far"}} {
			ids[i.name] = w.Insert("issues", coretest.Row{
				"iid": i.iid, "project_id": i.project, "author_id": owner.UserID, "title": "x", "state": "opened", "issue_type": "issue",
			})
		}
		for _, line := range []string{
			"marked this issue as related to #2",
			"removed the relation with Far/Secret#2",
			"moved from Far/Secret#2",
			"marked #2 as a duplicate of this issue",
			"marked Far/Secret#2 as a duplicate of this issue",
			"cloned to Far/Gone#9",
			"assigned to @owner",
			"changed title from **moved to #2** to **x**",
		} {
			w.Insert("notes", coretest.Row{
				"noteable_type": "Issue", "noteable_id": ids["one"], "project_id": app, "author_id": owner.UserID, "body": line, "system": true,
				"discussion_id": line,
			})
		}
		if err := d.Migrate(t.Context(), migrations.FS); err != nil {
			t.Fatal(err)
		}
		type row struct {
			Body    string  `db:"body"`
			Type    *string `db:"source_type"`
			Source  *int64  `db:"source_id"`
			Project *int64  `db:"source_project_id"`
		}
		rows, err := db.Select[row](t.Context(), d, "SELECT body, source_type, source_id, source_project_id FROM notes ORDER BY id")
		if err != nil || len(rows) != 8 {
			t.Fatalf("%d rows, %v", len(rows), err)
		}
		for n, want := range []string{"two", "far", "far", "two", "far", "hidden", "", ""} {
			r, got := rows[n], ""
			switch {
			case r.Type != nil && r.Source == nil:
				got = "hidden"
			case r.Type != nil && *r.Source == ids["two"] && *r.Project == int64(app):
				got = "two"
			case r.Type != nil && *r.Source == ids["far"] && *r.Project == int64(far):
				got = "far"
			}
			if got != want {
				t.Errorf("%q names %q (%v), want %q", r.Body, got, r, want)
			}
		}
	})
}
