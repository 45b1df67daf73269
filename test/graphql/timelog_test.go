package graphql

import (
	"fmt"
	"strings"
	"testing"
)

// TestTimelogs notes time on an issue and a merge request, reads it through everything that has it, and
// deletes it.
func TestTimelogs(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.team(2)
		s.rest("owner", "POST", "/projects/team%2Fapp/repository/commits", `{"branch":"main","commit_message":"first","actions":[{"action":"create","file_path":"README","content":"x"}]}`)
		s.branch("dev", "team%2Fapp", "feature")
		request := fmt.Sprintf("gid://gitlab/MergeRequest/%d", id(s.rest("dev", "POST", "/projects/team%2Fapp/merge_requests", `{"title":"change","source_branch":"feature","target_branch":"main"}`)))
		issue := fmt.Sprintf("gid://gitlab/Issue/%d", id(s.rest("dev", "GET", "/projects/team%2Fapp/issues/1", "")))
		hidden := fmt.Sprintf("gid://gitlab/Issue/%d", id(s.rest("owner", "POST", "/projects/team%2Fapp/issues", `{"title":"hidden","confidential":true}`)))
		const create = `mutation($i: IssuableID!, $t: String!, $s: String!, $at: Time!) { timelogCreate(input: {issuableId: $i, timeSpent: $t, summary: $s, spentAt: $at}) { errors timelog { id timeSpent summary spentAt user { username } issue { iid } mergeRequest { iid } project { fullPath } userPermissions { adminTimelog } } } }`
		spend := func(as, on, time, at string) string {
			t.Helper()
			return at2(t, s.data(as, create, variables{"i": on, "t": time, "s": "work", "at": at}), "timelogCreate", "timelog", "id")
		}
		s.want("dev", create, variables{"i": issue, "t": "1h 30m", "s": "thinking", "at": "2026-01-02T10:00:00Z"},
			`{"data":{"timelogCreate":{"errors":[],"timelog":{"id":"gid://gitlab/Timelog/1","timeSpent":5400,"summary":"thinking","spentAt":"2026-01-02T10:00:00Z","user":{"username":"dev"},"issue":{"iid":"1"},"mergeRequest":null,"project":{"fullPath":"team/app"},"userPermissions":{"adminTimelog":true}}}}}`)
		second, third := spend("owner", request, "2h", "2026-01-03T10:00:00Z"), spend("owner", hidden, "1d", "2026-01-04T10:00:00Z")
		for _, c := range []struct{ time, at, want string }{
			{"sometime", "2026-01-02T10:00:00Z", "Time spent must be formatted correctly. For example: 1h 30m."},
			{"1h", "2999-01-02T10:00:00Z", "Spent at can't be a future date and time."},
			{"-9h", "2026-01-02T10:00:00Z", "Time to subtract exceeds the total time spent"},
		} {
			s.want("dev", create, variables{"i": issue, "t": c.time, "s": "x", "at": c.at}, fmt.Sprintf(`{"data":{"timelogCreate":{"errors":[%q],"timelog":null}}}`, c.want))
		}
		for _, as := range []string{"guest", "stranger", ""} {
			if got := s.ask(as, create, variables{"i": issue, "t": "1h", "s": "x", "at": "2026-01-02T10:00:00Z"}); !strings.HasPrefix(got, refused("timelogCreate")) {
				t.Errorf("%q: got %s", as, got)
			}
		}
		for _, c := range []struct{ as, list, want string }{
			{"dev", `timelogs(startDate: "2026-01-01") %s`, "5400 7200 28800 = 41400 of 3"},
			{"guest", `timelogs(startDate: "2026-01-01") %s`, "5400 = 5400 of 1"},
			{"owner", `timelogs(startDate: "2026-01-01", sort: TIME_SPENT_DESC) %s`, "28800 7200 5400 = 41400 of 3"},
			{"owner", `timelogs(startDate: "2026-01-03", endDate: "2026-01-03") %s`, "7200 = 7200 of 1"},
			{"owner", `timelogs(startTime: "2026-01-03T10:00:01Z") %s`, "28800 = 28800 of 1"},
			{"owner", `timelogs(username: "DEV") %s`, "5400 = 5400 of 1"},
			{"stranger", `timelogs(username: "dev") %s`, " = 0 of 0"},
			{"", `timelogs(username: "dev") %s`, " = 0 of 0"},
			{"owner", `group(fullPath: "team") { timelogs(sort: SPENT_AT_DESC) %s }`, "28800 7200 5400 = 41400 of 3"},
			{"guest", `project(fullPath: "team/app") { timelogs %s }`, "5400 = 5400 of 1"},
			{"owner", `project(fullPath: "team/lib") { timelogs %s }`, " = 0 of 0"},
			{"guest", `user(username: "owner") { timelogs %s }`, " = 0 of 0"},
			{"dev", `project(fullPath: "team/app") { issue(iid: "1") { timelogs %s } }`, "5400 = 5400 of 1"},
			{"dev", `project(fullPath: "team/app") { mergeRequest(iid: "1") { timelogs %s } }`, "7200 = 7200 of 1"},
		} {
			got := s.ask(c.as, "{ "+fmt.Sprintf(c.list, "{ count totalSpentTime nodes { timeSpent } }")+" }", nil)
			var times []string
			for _, part := range strings.Split(got, `{"timeSpent":`)[1:] {
				times = append(times, part[:strings.IndexByte(part, '}')])
			}
			var count, total string
			if _, rest, ok := strings.Cut(got, `"count":`); ok {
				count, rest, _ = strings.Cut(rest, ",")
				total = strings.Split(rest, `"`)[3]
			}
			if text := strings.Join(times, " ") + " = " + total + " of " + count; text != c.want {
				t.Errorf("%q: %s: got %s, want %s", c.as, c.list, got, c.want)
			}
		}
		for query, message := range map[string]string{
			`{ timelogs { count } }`: "Provide at least one argument",
			`{ timelogs(startDate: "2026-01-01", startTime: "2026-01-01") { count } }`: "Provide either a start date or time, but not both",
			`{ timelogs(startDate: "2026-01-02", endDate: "2026-01-01") { count } }`:   "Start argument must be before End argument",
		} {
			if got := s.ask("dev", query, nil); !strings.Contains(got, message) {
				t.Errorf("%s: got %s", query, got)
			}
		}
		const remove = `mutation($id: TimelogID!) { timelogDelete(input: {id: $id}) { errors timelog { timeSpent } } }`
		for _, as := range []string{"dev", "guest", "stranger", ""} {
			if got := s.ask(as, remove, variables{"id": second}); !strings.HasPrefix(got, refused("timelogDelete")) {
				t.Errorf("%q deletes: got %s", as, got)
			}
		}
		s.want("owner", remove, variables{"id": second}, `{"data":{"timelogDelete":{"errors":[],"timelog":{"timeSpent":7200}}}}`)
		s.want("owner", remove, variables{"id": third}, `{"data":{"timelogDelete":{"errors":[],"timelog":{"timeSpent":28800}}}}`)
		s.want("dev", remove, variables{"id": "gid://gitlab/Timelog/1"}, `{"data":{"timelogDelete":{"errors":[],"timelog":{"timeSpent":5400}}}}`)
		s.want("dev", `{ project(fullPath: "team/app") { issue(iid: "1") { totalTimeSpent timelogs { count } } mergeRequest(iid: "1") { totalTimeSpent } } }`, nil,
			`{"data":{"project":{"issue":{"totalTimeSpent":0,"timelogs":{"count":0}},"mergeRequest":{"totalTimeSpent":0}}}}`)
		if got := s.ask("dev", `{ project(fullPath: "team/app") { issue(iid: "1") { notes { nodes { body } } } } }`, nil); !strings.Contains(got, "deleted 1h 30m of spent time from 2026-01-02") {
			t.Errorf("notes of the server: got %s", got)
		}
	})
}

// at2 is at for a text that has to be there.
func at2(t *testing.T, v any, path ...any) string {
	t.Helper()
	text, ok := at(v, path...).(string)
	if !ok {
		t.Fatalf("%v: nothing at %v", v, path)
	}
	return text
}

// TestTimelogs_statements counts the statements of lists below many issues.
func TestTimelogs_statements(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.team(1)
		s.rest("dev", "POST", "/projects/team%2Fapp/issues/1/add_spent_time?duration=1h", "")
		const query = `{ project(fullPath: "team/app") { issues { nodes { timelogs { count totalSpentTime nodes { user { username } issue { iid } project { name } userPermissions { adminTimelog } } } } } } }`
		few := s.statements("dev", query, nil)
		for i := range 4 {
			s.rest("dev", "POST", "/projects/team%2Fapp/issues", `{"title":"more"}`)
			s.rest("dev", "POST", fmt.Sprintf("/projects/team%%2Fapp/issues/%d/add_spent_time?duration=1h", i+2), "")
		}
		if many := s.statements("dev", query, nil); many != few {
			t.Errorf("%d statements for five issues, %d for one", many, few)
		}
	})
}
