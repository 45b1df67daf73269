package app

import (
	"fmt"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/core"
	"tenon/internal/core/deploy"
	"tenon/internal/core/stats"
	"tenon/migrations"
)

// upgraded forgets what is known of deployments, and does what the migration does with the jobs that are there.
func (d *deployer) upgraded() {
	d.tb.Helper()
	for _, table := range []string{"deployment_merge_requests", "first_deployments", "deployments", "environments", "dora_months", "dora_marks"} {
		d.exec("DELETE FROM " + table)
	}
	d.exec("DELETE FROM internal_ids WHERE kind = 'deployment'")
	text, err := migrations.FS.ReadFile("0133_deployment_backfill.sql")
	if err != nil {
		d.tb.Fatal(err)
	}
	_, rows, _ := strings.Cut(string(text), ");\n")
	both, rest, _ := strings.Cut(rows, "-- only: sqlite\n")
	lite, rest, _ := strings.Cut(rest, "-- end\n-- only: postgres\n")
	other, _, _ := strings.Cut(rest, "-- end")
	if d.db.Dialect() == db.SQLite {
		other = lite
	}
	for query := range strings.SplitSeq(both+other, ";\n") {
		if strings.TrimSpace(query) != "" {
			d.exec(query)
		}
	}
}

// TestDeployments_backfill upgrades a server whose jobs deployed before it knew of deployments: their history is what it would have been, with DORA metrics
// and what was shipped. What is deployed meanwhile comes after it.
func TestDeployments_backfill(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		d := s.deployer()
		const text = "ship: {script: x, environment: {name: production, on_stop: unship}}\nunship: {script: x, when: manual, environment: {name: production, action: stop}}\n" +
			"later: {script: x, when: manual, environment: staging}\nready: {script: x, when: manual, environment: {name: prepared, action: prepare}}\nbuild: {script: x, when: manual}\n"
		d.commit("main", ".gitlab-ci.yml", text)
		d.run("success")
		merge := func(name string) {
			t.Helper()
			d.do("mona", "POST", d.at+"/repository/branches", obj{"branch": name, "ref": "main"})
			d.do("mona", "POST", d.at+"/repository/commits", obj{"branch": name, "commit_message": "Add " + name + " [skip ci]", "actions": []obj{{"action": "create", "file_path": name, "content": name}}})
			m := d.do("mona", "POST", d.at+"/merge_requests", obj{"source_branch": name, "target_branch": "main", "title": "Merge " + name})
			d.drained()
			d.do("mona", "PUT", d.at+"/merge_requests/"+number(m, "iid")+"/merge", nil)
			d.drained()
		}
		merge("one")
		d.run("failed")
		d.commit("main", ".gitlab-ci.yml", text+"# second\n")
		d.run("success")
		topic := strings.ReplaceAll(text, "production", "review/topic")
		d.commit("topic", ".gitlab-ci.yml", topic)
		d.run("success")
		d.do("dave", "POST", d.at+"/environments/"+number(d.environment("review/topic"), "id")+"/stop", nil)
		d.run("success")
		history := func() string {
			t.Helper()
			var out strings.Builder
			for _, row := range d.all("/deployments?per_page=100&sort=asc&order_by=iid") {
				fmt.Fprintln(&out, row["iid"], row["status"], row["ref"], row["sha"], row["environment"].(map[string]any)["name"], row["user"].(map[string]any)["username"],
					row["deployable"].(map[string]any)["id"])
				for _, m := range d.all("/deployments/" + number(row, "id") + "/merge_requests") {
					fmt.Fprintln(&out, "  shipped", m["iid"])
				}
			}
			for _, row := range d.all("/environments?per_page=100") {
				fmt.Fprintln(&out, row["name"], row["slug"], row["state"], row["tier"])
			}
			fmt.Fprintln(&out, d.send(t.Context(), get("mona", d.at+"/dora/metrics?interval=all&metric=deployment_frequency")).Body)
			fmt.Fprintln(&out, strings.Contains(d.send(t.Context(), get("mona", d.at+"/dora/metrics?interval=all&metric=lead_time_for_changes")).Body.String(), "null}"))
			fmt.Fprintln(&out, d.do("mona", "GET", d.at+"/merge_requests/1", nil)["first_deployed_to_production_at"] != nil)
			return out.String()
		}
		before := history()
		if strings.Count(before, "shipped 1") != 1 || !strings.Contains(before, "review/topic") || !strings.Contains(before, "stopped") || !strings.Contains(before, "blocked") {
			t.Fatalf("the history is too simple: %s", before)
		}

		service := core.Part[*deploy.Service](s.core)
		backfill := func() {
			t.Helper()
			if err := service.Backfill(t.Context(), deploy.Backfill{}); err != nil {
				t.Fatal(err)
			}
			s.exec("UPDATE river_job SET state = 'available', scheduled_at = created_at WHERE state = 'scheduled' AND kind = 'link_deployment'")
			d.drained()
			if err := core.Part[*stats.Service](s.core).Refresh(t.Context(), stats.Refresh{}); err != nil {
				t.Fatal(err)
			}
		}
		d.upgraded()
		d.expect("deployments before the job", len(d.all("/deployments")), 0)
		backfill()
		if after := history(); after != before {
			t.Errorf("after the upgrade:\n%s\nbefore:\n%s", after, before)
		}
		backfill() // again, with nothing to do
		d.expect("what is left to do", s.one("SELECT CAST(COUNT(*) AS VARCHAR) FROM deployment_backfills"), "0")

		// A deployment that is made before the job has run comes after those of earlier jobs, and has shipped nothing that they did.
		d.upgraded()
		sha := d.do("mona", "GET", d.at+"/repository/branches/main", nil)["commit"].(map[string]any)["id"]
		made := d.do("mona", "POST", d.at+"/deployments", obj{"environment": "production", "sha": sha, "ref": "main", "tag": false, "status": "success"})
		d.drained()
		d.expect("shipped, as far as is known", len(d.all("/deployments/"+number(made, "id")+"/merge_requests")), 0)
		backfill()
		rows := d.all("/deployments?environment=production&sort=desc")
		d.expect("the newest", number(rows[0], "id"), number(made, "id"))
		d.expect("the number of the newest is the greatest", rows[0]["iid"].(float64) > rows[1]["iid"].(float64), true)
		d.expect("shipped again", len(d.all("/deployments/"+number(made, "id")+"/merge_requests")), 0)
		d.expect("deployments to production", d.states("production"), "success failed canceled success success")
	})
}
