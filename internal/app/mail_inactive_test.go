package app

import (
	"slices"
	"strings"
	"testing"

	"tenon/internal/base/mail/mailtest"
	"tenon/internal/core/project"
)

// testMailOfInactive leaves projects without activity: their maintainers are warned once, and the projects are deleted afterwards, as the
// settings say.
func testMailOfInactive(t *testing.T, s *server, post *mailtest.Server) {
	paths := map[string]string{}
	for _, name := range []string{"Large", "Small", "Busy"} {
		p := s.do("mona", "POST", "/projects", obj{"name": name})
		paths[name] = "/projects/" + number(p, "id")
		s.do("mona", "POST", paths[name]+"/members", obj{"user_id": s.ids["rick"], "access_level": 40})
		s.do("mona", "POST", paths[name]+"/members", obj{"user_id": s.ids["ada"], "access_level": 30})
	}
	s.exec("INSERT INTO project_measures (project_id, commit_id, commit_count, repository_size, readme_path, license_path, license_key) SELECT id, '', 0, 3145728, '', '', '' FROM projects WHERE name = 'Large'")
	idle := func(name string, months int) {
		t.Helper()
		s.exec("UPDATE projects SET last_activity_at = ? WHERE name = ?", s.now().AddDate(0, -months, -1), name)
	}
	warned := func(months int) {
		t.Helper()
		s.exec("UPDATE inactive_projects SET warned_at = ?", s.now().AddDate(0, -months, -1))
	}
	run := func(what string, mails ...string) {
		t.Helper()
		post.Take()
		if err := s.core.Projects.DeleteInactive(t.Context(), project.DeleteInactive{}); err != nil {
			t.Fatal(err)
		}
		if err := s.jobs.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range post.Take() {
			got = append(got, strings.Split(m.To, "@")[0]+" "+m.Get("Subject"))
			if !strings.Contains(m.Text, "There was no activity in project") || !strings.Contains(m.Text, "because you maintain the project") || strings.Contains(m.Text, "git remote") {
				t.Errorf("%s: %s", what, m.Raw)
			}
		}
		if slices.Sort(got); !slices.Equal(got, mails) {
			t.Errorf("%s: mail %q, want %q", what, got, mails)
		}
	}
	state := func(name string, status int, marked bool) {
		t.Helper()
		a := s.send(t.Context(), request{as: "admin", method: "GET", path: paths[name]})
		if a.Code != status || status == 200 && strings.Contains(a.Body.String(), `"marked_for_deletion_at":null`) == marked {
			t.Errorf("%s: got %d %s, want %d, marked %v", name, a.Code, a.Body, status, marked)
		}
	}
	s.exec("UPDATE projects SET last_activity_at = ?", s.now()) // of other tests
	for _, name := range []string{"Large", "Small"} {
		idle(name, 30)
	}
	run("the setting is off")
	s.want("admin", "PUT", "/application/settings", obj{"inactive_projects_send_warning_email_after_months": 2}, 400, "must be less than 2")
	s.set(obj{"delete_inactive_projects": true, "inactive_projects_min_size_mb": 3, "inactive_projects_delete_after_months": 6, "inactive_projects_send_warning_email_after_months": 4})
	day := s.now().UTC().AddDate(0, 2, 0).Format("2006-01-02")
	run("the first day", "mona Large | Project will be deleted on "+day, "rick Large | Project will be deleted on "+day)
	run("the second day")
	state("Large", 200, false)
	warned(1)
	run("a month later")
	state("Large", 200, false)
	s.do("rick", "POST", paths["Large"]+"/issues", obj{"title": "Still here"})
	if err := s.jobs.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.exec("UPDATE projects SET last_activity_at = ? WHERE name = 'Large'", s.now())
	warned(2)
	run("there was activity")
	state("Large", 200, false)
	idle("Large", 5)
	run("inactive again", "mona Large | Project will be deleted on "+day, "rick Large | Project will be deleted on "+day)
	warned(2)
	s.set(obj{"delayed_project_deletion": true})
	run("the time is over")
	state("Large", 200, true)
	s.want("admin", "GET", "/audit_events?entity_type=Project&entity_id="+strings.TrimPrefix(paths["Large"], "/projects/"), nil, 200, "marked for deletion")
	s.do("mona", "POST", paths["Large"]+"/restore", nil)
	run("restored", "mona Large | Project will be deleted on "+day, "rick Large | Project will be deleted on "+day)

	s.set(obj{"delayed_project_deletion": false, "inactive_projects_min_size_mb": 0})
	run("of any size", "mona Small | Project will be deleted on "+day, "rick Small | Project will be deleted on "+day)
	warned(2)
	s.set(obj{"delete_inactive_projects": false})
	run("off again")
	s.set(obj{"delete_inactive_projects": true})
	run("on again", "mona Large | Project will be deleted on "+day, "mona Small | Project will be deleted on "+day,
		"rick Large | Project will be deleted on "+day, "rick Small | Project will be deleted on "+day)
	warned(2)
	run("the time is over, without delay")
	state("Large", 404, false)
	state("Small", 404, false)
	state("Busy", 200, false)
	s.set(obj{"delete_inactive_projects": false, "inactive_projects_delete_after_months": 2, "inactive_projects_send_warning_email_after_months": 1})
}
