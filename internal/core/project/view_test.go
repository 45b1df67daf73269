package project_test

import (
	"testing"

	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// A part of a view is there for the callers that may see it, and what a part holds is nowhere
// else in the view.
func TestService_Views(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		owner := f.user("owner", 10)
		g := f.group(owner, "team", authz.Public)
		p := f.project(owner, "app", g, authz.Public)
		if _, err := f.db.Exec(t.Context(), "UPDATE projects SET import_error = 'no way', forks_count = 3, repository_access = ? WHERE id = ?",
			authz.FeatureMembers, p.ID); err != nil {
			t.Fatal(err)
		}
		actors := map[string]authz.Actor{"no one": {}, "stranger": f.user("stranger", 0), "owner": owner, "administrator": f.admin}
		for name, level := range map[string]authz.Level{
			"guest": authz.Guest, "reporter": authz.Reporter, "developer": authz.Developer, "maintainer": authz.Maintainer,
		} {
			actors[name] = f.user(name, 0)
			f.add(owner, g, actors[name], level)
		}
		type parts struct{ full, code, statistics, admin, storage bool }
		for name, want := range map[string]parts{
			"no one":        {},
			"stranger":      {full: true},
			"guest":         {full: true},
			"reporter":      {full: true, code: true, statistics: true},
			"developer":     {full: true, code: true, statistics: true},
			"maintainer":    {full: true, code: true, statistics: true, admin: true},
			"owner":         {full: true, code: true, statistics: true, admin: true},
			"administrator": {full: true, code: true, statistics: true, admin: true, storage: true},
		} {
			as := actors[name]
			found, err := f.FindByID(t.Context(), as, p.ID)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			views, err := f.Views(t.Context(), as, []*project.Project{found}, project.ViewOptions{Statistics: true, Permissions: true, License: true})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			v := views[0]
			got := parts{full: v.Full != nil, code: v.Code != nil, storage: v.Storage != nil}
			if v.Full != nil {
				got.statistics, got.admin = v.Full.Statistics != nil, v.Full.Admin != nil
			}
			if got != want {
				t.Errorf("%s: got %+v, want %+v", name, got, want)
			}
			if v.ImportError != nil || v.ForksCount != 0 || v.Project.Storage != "" || v.SettingsJSON != "" {
				t.Errorf("%s: the project itself shows what a part holds: %v, %d, %q, %q", name, v.ImportError, v.ForksCount, v.Project.Storage, v.SettingsJSON)
			}
		}
	})
}
