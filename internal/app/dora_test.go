package app

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/core"
	"tenon/internal/core/authz"
	"tenon/internal/core/deploy"
	"tenon/internal/core/project"
	"tenon/internal/core/stats"
)

// delivery is a server with projects that deploy and have incidents, at times of the test.
type delivery struct {
	*server
	clock    time.Time
	rand     *rand.Rand
	projects []string // paths of the API
	merged   int
}

// delivery makes the groups acme, acme/tools and elsewhere with projects.
func (s *server) delivery(at time.Time) *delivery {
	s.tb.Helper()
	d := &delivery{server: s, clock: at, rand: rand.New(rand.NewPCG(1, 31))}
	now := func() time.Time { return d.clock }
	core.Part[*deploy.Service](s.core).Now, core.Part[*stats.Service](s.core).Now = now, now
	s.core.Issues.Now, s.core.MergeRequests.Now = now, now
	acme := s.do("admin", "POST", "/groups", obj{"name": "acme", "path": "acme"})
	tools := s.do("admin", "POST", "/groups", obj{"name": "tools", "path": "tools", "parent_id": acme["id"]})
	other := s.do("admin", "POST", "/groups", obj{"name": "elsewhere", "path": "elsewhere"})
	for name, in := range map[string]any{"shop": acme["id"], "app": tools["id"], "site": other["id"]} {
		p := s.do("admin", "POST", "/projects", obj{"name": name, "namespace_id": in, "initialize_with_readme": true})
		d.projects = append(d.projects, "/projects/"+number(p, "id"))
	}
	slices.Sort(d.projects)
	return d
}

func (d *delivery) one(list []string) string { return list[d.rand.IntN(len(list))] }

// try makes a request that may be refused.
func (d *delivery) try(method, path string, body obj) {
	d.tb.Helper()
	if a := d.send(d.tb.Context(), request{as: "admin", method: method, path: path, body: body}); a.Code >= http.StatusInternalServerError {
		d.tb.Fatalf("%s %s %v: %d %s", method, path, body, a.Code, a.Body)
	}
}

// some is a row of a table as a path of the API, "" where there is none.
func (d *delivery) some(table, column, path string) string {
	d.tb.Helper()
	type row struct {
		Project int64 `db:"project_id"`
		Number  int64 `db:"number"`
	}
	in := "project_id"
	if table == "merge_requests" {
		in = "target_project_id AS project_id"
	}
	rows, err := db.Select[row](d.tb.Context(), d.db, "SELECT "+in+", "+column+" AS number FROM "+table+" ORDER BY id")
	if err != nil {
		d.tb.Fatal(err)
	}
	if len(rows) == 0 {
		return ""
	}
	r := rows[d.rand.IntN(len(rows))]
	return fmt.Sprintf("/projects/%d/%s/%d", r.Project, path, r.Number)
}

// merge merges a merge request of a project: by a merge commit, squashed or fast-forward, or one that is cherry-picked.
func (d *delivery) merge(at string) {
	d.tb.Helper()
	d.merged++
	name := fmt.Sprintf("change-%d", d.merged)
	d.do("admin", "POST", at+"/repository/commits", obj{
		"branch": name, "start_branch": "main", "commit_message": name, "actions": []obj{{"action": "create", "file_path": name, "content": name}},
	})
	d.do("admin", "PUT", at, obj{"merge_method": []string{"merge", "ff"}[d.merged%2]})
	m := d.do("admin", "POST", at+"/merge_requests", obj{"source_branch": name, "target_branch": "main", "title": name})
	d.drained()
	merged := d.do("admin", "PUT", at+"/merge_requests/"+number(m, "iid")+"/merge", obj{"squash": d.merged%3 == 0})
	d.drained()
	if sha, _ := merged["merge_commit_sha"].(string); sha != "" && d.merged%4 == 0 {
		d.try("POST", at+"/repository/branches", obj{"branch": "hot-" + name, "ref": "main"})
		d.try("POST", at+"/repository/commits/"+sha+"/cherry_pick", obj{"branch": "hot-" + name})
	}
}

// step lets time pass, often to the edge of a day, and something happen.
func (d *delivery) step() {
	d.tb.Helper()
	d.clock = d.clock.Add(time.Duration(d.rand.IntN(45*3600)) * time.Second).Add(time.Duration(d.rand.IntN(1e9)))
	if d.rand.IntN(4) == 0 {
		day := d.clock.Truncate(24 * time.Hour).Add(24 * time.Hour)
		d.clock = []time.Time{day, day.Add(-time.Microsecond)}[d.rand.IntN(2)]
	}
	at := d.one(d.projects)
	switch n := d.rand.IntN(100); {
	case n < 35:
		head := d.do("admin", "GET", at+"/repository/branches/main", nil)["commit"].(map[string]any)["id"]
		d.do("admin", "POST", at+"/deployments", obj{
			"environment": d.one([]string{"production", "prod-eu", "staging", "qa", "dev", "other"}), "sha": head, "ref": "main", "tag": false,
			"status": d.one([]string{"success", "success", "success", "running", "failed"}),
		})
		d.drained()
	case n < 42:
		d.try("PUT", cmp.Or(d.some("deployments", "id", "deployments"), "/version"), obj{"status": d.one([]string{"success", "failed"})})
		d.drained()
	case n < 48:
		d.try("DELETE", cmp.Or(d.some("deployments", "id", "deployments"), "/version"), nil)
	case n < 52:
		d.try("PUT", cmp.Or(d.some("environments", "id", "environments"), "/version"), obj{"tier": d.one([]string{"production", "staging", "other"})})
	case n < 54:
		if e := d.some("environments", "id", "environments"); e != "" {
			d.try("POST", e+"/stop", nil)
			d.try("DELETE", e, nil)
		}
	case n < 68:
		d.do("admin", "POST", at+"/issues", obj{"title": "Down", "issue_type": d.one([]string{"incident", "incident", "incident", "issue"})})
	case n < 82:
		d.try("PUT", cmp.Or(d.some("issues", "iid", "issues"), "/version"), obj{"state_event": d.one([]string{"close", "close", "reopen"})})
	case n < 86:
		d.try("PUT", cmp.Or(d.some("issues", "iid", "issues"), "/version"), obj{"issue_type": d.one([]string{"incident", "issue"})})
	case n < 89:
		if i, of := d.some("issues", "iid", "issues"), d.some("issues", "iid", "issues"); i != "" && strings.HasPrefix(of, strings.SplitAfter(i, "/issues/")[0]) {
			_, number, _ := strings.Cut(of, "/issues/")
			d.try("POST", i+"/notes", obj{"body": "/duplicate #" + number})
		}
	case n < 91:
		if i := d.some("issues", "iid", "issues"); i != "" {
			d.try("POST", i+"/move", obj{"to_project_id": strings.TrimPrefix(at, "/projects/")})
		}
	case n < 93:
		d.try("DELETE", cmp.Or(d.some("issues", "iid", "issues"), "/version"), nil)
	case n < 95:
		d.try("PUT", at+"/transfer", obj{"namespace": d.one([]string{"acme", "acme/tools", "elsewhere"})})
	case n < 96:
		d.try("DELETE", cmp.Or(d.some("merge_requests", "iid", "merge_requests"), "/version"), nil)
	default:
		d.merge(at)
	}
}

// rawDeployment, rawPair and rawIncident are rows as the naive computation reads them.
type (
	rawDeployment struct {
		ID       int64   `db:"id"`
		Project  int64   `db:"project_id"`
		Tier     string  `db:"tier"`
		Status   string  `db:"status"`
		Finished db.Time `db:"finished_at"`
	}
	rawPair struct {
		Deployment int64   `db:"deployment_id"`
		Merged     db.Time `db:"merged_at"`
	}
	rawIncident struct {
		Project   int64    `db:"project_id"`
		Created   db.Time  `db:"created_at"`
		Closed    *db.Time `db:"closed_at"`
		State     string   `db:"state"`
		Duplicate *int64   `db:"duplicated_to_id"`
	}
)

// rawHistory is all that happened.
type rawHistory struct {
	deployments []rawDeployment
	pairs       []rawPair
	incidents   []rawIncident
	production  map[int64]bool // projects with an environment of production
	paths       map[int64]string
}

func all[T any](d *delivery, query string) []T {
	d.tb.Helper()
	rows, err := db.Select[T](d.tb.Context(), d.db, query)
	if err != nil {
		d.tb.Fatal(err)
	}
	return rows
}

func (d *delivery) history() *rawHistory {
	d.tb.Helper()
	h := &rawHistory{production: map[int64]bool{}, paths: map[int64]string{}}
	h.deployments = all[rawDeployment](d, "SELECT d.id, d.project_id, e.tier, d.status, COALESCE(d.finished_at, d.created_at) AS finished_at FROM deployments d JOIN environments e ON e.id = d.environment_id ORDER BY d.id")
	h.pairs = all[rawPair](d, "SELECT l.deployment_id, m.merged_at FROM deployment_merge_requests l JOIN merge_requests m ON m.id = l.merge_request_id ORDER BY 1, 2")
	h.incidents = all[rawIncident](d, "SELECT project_id, created_at, closed_at, state, duplicated_to_id FROM issues WHERE issue_type = 'incident' ORDER BY id")
	for _, id := range all[int64](d, "SELECT project_id FROM environments WHERE tier = 'production' ORDER BY id") {
		h.production[id] = true
	}
	type placed struct {
		ID   int64  `db:"id"`
		Path string `db:"path"`
	}
	for _, p := range all[placed](d, "SELECT p.id, r.path FROM projects p JOIN routes r ON r.namespace_id = p.namespace_id ORDER BY p.id") {
		h.paths[p.ID] = p.Path
	}
	return h
}

// naive computes a metric from all that happened, day by day.
func (h *rawHistory) naive(in func(project int64) bool, q stats.Query) []string {
	type totals struct {
		rows, incidentRows, deployments, incidents int
		medians                                    []float64
	}
	keys, sums := []string{}, map[string]*totals{}
	key := func(day string) string {
		switch q.Interval {
		case stats.All:
			return "null"
		case stats.Monthly:
			return day[:8] + "01"
		}
		return day
	}
	if q.Interval == stats.All {
		keys, sums["null"] = append(keys, "null"), &totals{}
	}
	production := slices.Contains(q.Tiers, deploy.Production)
	for at := q.Start; !at.After(q.End); at = at.AddDate(0, 0, 1) {
		day := at.Format(time.DateOnly)
		on := func(t db.Time) bool { return t.UTC().Format(time.DateOnly) == day }
		var d totals
		var seconds []float64
		for _, r := range h.deployments {
			if !in(r.Project) || r.Status != "success" || !on(r.Finished) || !slices.Contains(q.Tiers, deploy.Tier(r.Tier)) {
				continue
			}
			d.rows++
			if r.Tier == "production" {
				d.incidentRows++
			}
			if r.Tier == "production" || q.Metric != stats.ChangeFailureRate {
				d.deployments++
			}
			for _, p := range h.pairs {
				if p.Deployment == r.ID && q.Metric == stats.LeadTimeForChanges {
					seconds = append(seconds, max(0, float64(r.Finished.UnixMilli()-p.Merged.UnixMilli())/1000))
				}
			}
		}
		for _, i := range h.incidents {
			if !in(i.Project) || !h.production[i.Project] || !production {
				continue
			}
			if i.Duplicate == nil && on(i.Created) {
				d.rows, d.incidentRows, d.incidents = d.rows+1, d.incidentRows+1, d.incidents+1
			}
			if i.State == "closed" && i.Closed != nil && on(*i.Closed) {
				d.rows, d.incidentRows = d.rows+1, d.incidentRows+1
				if q.Metric == stats.TimeToRestoreService {
					seconds = append(seconds, max(0, float64(i.Closed.UnixMilli()-i.Created.UnixMilli())/1000))
				}
			}
		}
		if d.rows == 0 {
			continue
		}
		if sums[key(day)] == nil {
			keys, sums[key(day)] = append(keys, key(day)), &totals{}
		}
		t := sums[key(day)]
		t.rows, t.incidentRows, t.deployments, t.incidents = t.rows+d.rows, t.incidentRows+d.incidentRows, t.deployments+d.deployments, t.incidents+d.incidents
		if len(seconds) > 0 {
			t.medians = append(t.medians, middle(seconds))
		}
	}
	out := []string{}
	for _, k := range keys {
		t, value := sums[k], math.NaN()
		switch {
		case t.rows == 0:
		case q.Metric == stats.DeploymentFrequency:
			value = float64(t.deployments)
		case q.Metric == stats.ChangeFailureRate && t.incidentRows > 0:
			value = float64(t.incidents) / float64(max(1, t.deployments))
		case q.Metric == stats.ChangeFailureRate:
		case len(t.medians) > 0:
			value = middle(t.medians)
		}
		out = append(out, fmt.Sprintf("%s %.6f", k, value))
	}
	return out
}

func middle(list []float64) float64 {
	list = slices.Sorted(slices.Values(list))
	return (list[(len(list)-1)/2] + list[len(list)/2]) / 2
}

// compare holds each metric of each place against the naive computation.
func (d *delivery) compare(when string) {
	d.tb.Helper()
	h, service := d.history(), core.Part[*stats.Service](d.core)
	today := d.clock.UTC().Truncate(24 * time.Hour)
	short := today.AddDate(0, 0, -d.rand.IntN(100))
	places := map[string]authz.Place{}
	for _, path := range []string{"acme", "acme/tools", "elsewhere"} {
		g, err := d.core.Namespaces.Find(d.tb.Context(), authz.System(), path)
		if err != nil {
			d.tb.Fatal(err)
		}
		places[path] = g.Place()
	}
	for id, path := range h.paths {
		found, err := d.core.Projects.Load(d.tb.Context(), []project.ID{project.ID(id)})
		if err != nil {
			d.tb.Fatal(err)
		}
		places[path] = found[project.ID(id)].Place()
	}
	compared := 0
	for path, at := range places {
		in := func(id int64) bool { return h.paths[id] == path || strings.HasPrefix(h.paths[id], path+"/") }
		for _, metric := range stats.Metrics {
			for _, interval := range stats.Intervals {
				for _, tiers := range [][]deploy.Tier{{deploy.Production}, {deploy.Staging, deploy.Testing}, {deploy.Other, deploy.Production, deploy.Staging, deploy.Development, deploy.Testing}} {
					for _, span := range [][2]time.Time{{today.AddDate(0, 0, -180), today}, {short.AddDate(0, 0, -1-d.rand.IntN(60)), short}} {
						q := stats.Query{Metric: metric, Interval: interval, Tiers: tiers, Start: span[0], End: span[1]}
						points, err := service.DORA(d.tb.Context(), authz.System(), at, q)
						if err != nil {
							d.tb.Fatal(err)
						}
						got := []string{}
						for _, p := range points {
							date, value := "null", math.NaN()
							if p.Date != nil {
								date = p.Date.Format(time.DateOnly)
							}
							if p.Value != nil {
								value = *p.Value
							}
							got = append(got, fmt.Sprintf("%s %.6f", date, value))
						}
						if want := h.naive(in, q); !slices.Equal(got, want) {
							d.tb.Fatalf("%s, %s, %+v:\ngot  %v\nwant %v", when, path, q, got, want)
						}
						compared += len(points)
					}
				}
			}
		}
	}
	d.tb.Logf("%s: %d deployments, %d pairs, %d incidents, %d points", when, len(h.deployments), len(h.pairs), len(h.incidents), compared)
}

// TestDORA_history compares the metrics with those that are computed from all rows, while a generated history of half a year goes on: before
// and after the job has counted, and where everything is counted anew.
func TestDORA_history(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		d := s.delivery(time.Date(2023, 12, 29, 20, 0, 0, 0, time.UTC))
		service := core.Part[*stats.Service](s.core)
		refresh := func() {
			t.Helper()
			if err := service.Refresh(t.Context(), stats.Refresh{}); err != nil {
				t.Fatal(err)
			}
			if left := all[int64](d, "SELECT COUNT(*) FROM dora_marks"); left[0] != 0 {
				t.Fatalf("%d marks are left", left[0])
			}
		}
		for _, at := range d.projects {
			d.merge(at)
		}
		for round := range 9 {
			for range 25 {
				d.step()
			}
			if round%3 != 2 {
				d.compare(fmt.Sprintf("round %d, marked", round))
			}
			if round%2 == 0 {
				refresh()
				d.compare(fmt.Sprintf("round %d, counted", round))
			}
		}
		s.exec("DELETE FROM dora_months")
		s.exec("DELETE FROM dora_marks")
		s.exec("INSERT INTO dora_marks (project_id, month) SELECT DISTINCT project_id, 0 FROM environments") // as the migration does
		d.compare("at the migration")
		refresh()
		d.compare("after the migration")
	})
}

// TestDORA refuses what does not fit in the order of the contract, and answers members who report at least, with a fixed number of statements.
func TestDORA(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		d := s.delivery(time.Date(2024, 5, 31, 12, 0, 0, 0, time.UTC))
		for _, name := range []string{"rita", "gus", "stan"} {
			s.user(name, nil)
		}
		for name, level := range map[string]int{"rita": 20, "gus": 10} {
			s.do("admin", "POST", "/groups/acme/members", obj{"user_id": s.ids[name], "access_level": level})
		}
		const group, shop = "/groups/acme/dora/metrics", "/projects/acme%2Fshop/dora/metrics"
		for _, path := range []string{group, shop} {
			for _, tt := range []struct {
				as, query string
				status    int
				want      string
			}{
				{"stan", "", 400, `{"error":"metric is missing"}`},
				{"stan", "?metric=x&start_date=soon", 400, `{"error":"start_date is invalid"}`},
				{"stan", "?metric=x", 404, "Not Found"},
				{"", "?metric=x", 401, ""},
				{"gus", "?metric=x&interval=x", 401, `{"message":"You do not have permission to access dora metrics."}`},
				{"rita", "?metric=x&interval=x&environment_tier=x&start_date=2024-01-01&end_date=2024-06-30", 400, `{"message":"Date range must be shorter than 180 days."}`},
				{"rita", "?metric=x&interval=x&environment_tier=x&start_date=2024-01-02&end_date=2024-01-02", 400, `{"message":"The start date must be earlier than the end date."}`},
				{"rita", "?metric=x&interval=x&environment_tier=x", 400, `{"message":"The interval must be one of all,monthly,daily."}`},
				{"rita", "?metric=x&environment_tier=x", 400, `{"message":"The metric must be one of deployment_frequency,lead_time_for_changes,time_to_restore_service,change_failure_rate."}`},
				{"rita", "?metric=deployment_frequency&environment_tiers[]=production&environment_tier=x", 400, `{"message":"The environment tiers must be from production, staging, testing, development, other."}`},
				{"rita", "?metric=deployment_frequency", 200, `[]`},
				{"rita", "?metric=change_failure_rate&interval=monthly", 200, `[]`},
				{"rita", "?metric=lead_time_for_changes&interval=all&start_date=2024-01-01&end_date=2024-06-29", 200, `[{"date":null,"value":null}]`},
			} {
				s.want(tt.as, "GET", path+tt.query, nil, tt.status, tt.want)
			}
		}

		deploy := func(project, environment string, at time.Time) {
			t.Helper()
			d.clock = at
			sha := s.do("admin", "GET", "/projects/"+project+"/repository/branches/main", nil)["commit"].(map[string]any)["id"]
			s.do("admin", "POST", "/projects/"+project+"/deployments", obj{"environment": environment, "sha": sha, "ref": "main", "tag": false, "status": "success"})
		}
		day := func(month time.Month, n, hour int) time.Time {
			return time.Date(2024, month, n, hour, 0, 0, 0, time.UTC)
		}
		deploy("acme%2Fshop", "production", day(2, 28, 23))
		deploy("acme%2Fshop", "production", day(2, 29, 0))
		deploy("acme%2Fshop", "staging", day(2, 29, 1))
		deploy("acme%2Ftools%2Fapp", "prod-eu", day(2, 29, 10))
		deploy("acme%2Ftools%2Fapp", "prod-eu", day(5, 31, 10))
		d.clock = day(5, 30, 8)
		incident := s.do("admin", "POST", "/projects/acme%2Fshop/issues", obj{"title": "Down", "issue_type": "incident"})
		d.clock = day(5, 31, 9)
		s.do("admin", "PUT", "/projects/acme%2Fshop/issues/"+number(incident, "iid"), obj{"state_event": "close"})
		d.clock = day(5, 31, 23)
		for range 2 {
			s.want("rita", "GET", group+"?metric=deployment_frequency", nil, 200, `[{"date":"2024-02-29","value":2},{"date":"2024-05-30","value":0},{"date":"2024-05-31","value":1}]`)
			s.want("rita", "GET", group+"?metric=deployment_frequency&interval=monthly", nil, 200, `[{"date":"2024-02-01","value":2},{"date":"2024-05-01","value":1}]`)
			s.want("rita", "GET", group+"?metric=deployment_frequency&interval=all&start_date=2024-02-28", nil, 200, `[{"date":null,"value":4}]`)
			s.want("rita", "GET", group+"?metric=deployment_frequency&environment_tier=staging", nil, 200, `[{"date":"2024-02-29","value":1}]`)
			s.want("rita", "GET", group+"?metric=deployment_frequency&environment_tier=staging&environment_tiers[]=production&end_date=2024-03-01", nil, 200, `[{"date":"2024-02-29","value":3}]`)
			s.want("rita", "GET", group+"?metric=change_failure_rate", nil, 200, `[{"date":"2024-02-29","value":0},{"date":"2024-05-30","value":1},{"date":"2024-05-31","value":0}]`)
			s.want("rita", "GET", group+"?metric=change_failure_rate&interval=all&environment_tiers[]=staging&environment_tiers[]=production", nil, 200, `[{"date":null,"value":0.3333333333333333}]`)
			s.want("rita", "GET", group+"?metric=deployment_frequency&environment_tiers=staging,production&interval=all", nil, 200, `[{"date":null,"value":4}]`)
			s.want("rita", "GET", group+"?metric=change_failure_rate&environment_tiers[]=staging", nil, 200, `[{"date":"2024-02-29","value":null}]`)
			s.want("rita", "GET", shop+"?metric=time_to_restore_service&start_date=2024-05-01", nil, 200, `[{"date":"2024-05-30","value":null},{"date":"2024-05-31","value":90000}]`)
			s.want("rita", "GET", shop+"?metric=time_to_restore_service&start_date=2024-05-01&interval=monthly", nil, 200, `[{"date":"2024-05-01","value":90000}]`)
			if err := core.Part[*stats.Service](s.core).Refresh(t.Context(), stats.Refresh{}); err != nil {
				t.Fatal(err)
			}
		}
		const most = 6 // statements of an answer
		for _, path := range []string{group, shop} {
			for _, metric := range stats.Metrics {
				q := get("rita", path+"?metric="+string(metric))
				s.send(t.Context(), q)
				before := s.db.Statements()
				s.send(t.Context(), q)
				if n := s.db.Statements() - before; n > most {
					t.Errorf("%s of %s took %d statements", metric, path, n)
				}
			}
		}
	})
}
