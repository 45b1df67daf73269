package faults

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"tenon/test/servertest"
)

// contest is one thing that several people want at the same moment.
type contest struct {
	name  string
	token []string // in turn
	path  []string
	body  []string

	won, lost int              // the two statuses that there are
	other     int              // a third one, for the losers of a second path
	winners   int              // 1 where it is zero, -1 all
	says      []string         // one of these is in the answer of who lost
	rows      map[string]int64 // queries that count, and what they count in the end
}

// contestSize is how many requests there are at once.
const contestSize = 8

// parallelPeople lets people race for the names of users, groups and projects, for keys,
// addresses and memberships: one wins, the others get the contract's answer, and nothing
// is half made.
func (w *world) parallelPeople(t *testing.T) {
	const root = servertest.RootToken
	key := "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOpWpGgWYrjJ1RmbwQ4eHvwrLSqOB6vKOWc6K3v/Ucj8"
	second := "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f"
	quoted := func(s string) string {
		out, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	user := func(username string) string {
		return fmt.Sprintf(`{"username":%q,"name":"D","email":"%s@example.com","password":"correct horse d","skip_confirmation":true}`, username, username)
	}
	eveID, eve := w.user("eve")
	inGroup := func(what string) string { return fmt.Sprintf("/groups/%d/%s", w.group, what) }
	inProject := func(what string) string { return fmt.Sprintf("/projects/%d/%s", w.project, what) }
	guests := w.want(201, w.ann, "POST", "/groups", `{"name":"guests","path":"guests"}`).number("id")
	w.want(201, w.ann, "POST", "/groups", `{"name":"club","path":"club","visibility":"public"}`)
	taken := []string{"has already been taken"}

	for _, c := range []contest{
		{
			name: "username", token: []string{root}, path: []string{"/users"}, body: []string{user("desired"), user("Desired")},
			won: 201, lost: 409, says: []string{"Username has already been taken", "Email has already been taken"},
			rows: map[string]int64{
				"SELECT COUNT(*) FROM users WHERE username_fold = 'desired'": 1, "SELECT COUNT(*) FROM emails WHERE email_fold = 'desired@example.com'": 1,
			},
		},
		{
			name: "address", token: []string{root}, path: []string{"/users"},
			body: []string{
				`{"username":"first","name":"D","email":"shared@example.com","password":"correct horse d"}`,
				`{"username":"second","name":"D","email":"Shared@example.com","password":"correct horse d"}`,
			},
			won: 201, lost: 409, says: []string{"Username has already been taken", "Email has already been taken"},
			rows: map[string]int64{
				"SELECT COUNT(*) FROM users WHERE username_fold IN ('first', 'second')": 1, "SELECT COUNT(*) FROM emails WHERE email_fold = 'shared@example.com'": 1,
			},
		},
		{
			name: "group", token: []string{w.ann, w.ben}, path: []string{"/groups"},
			body: []string{`{"name":"wanted","path":"wanted"}`, `{"name":"Wanted","path":"WANTED"}`},
			won:  201, lost: 400, says: taken,
			rows: map[string]int64{"SELECT COUNT(*) FROM members m JOIN routes r ON r.namespace_id = m.namespace_id WHERE r.path_fold = 'wanted'": 1},
		},
		{
			name: "user and group of one path", token: []string{root, w.ann}, path: []string{"/users", "/groups"},
			body: []string{user("contested"), `{"name":"contested","path":"contested"}`},
			won:  201, lost: 409, other: 400, says: []string{"already been taken", "A user, alias, or group already exists with that username."},
			rows: map[string]int64{"SELECT COUNT(*) FROM routes WHERE path_fold = 'contested'": 1},
		},
		{
			name: "project", token: []string{w.ann}, path: []string{"/projects"}, body: []string{`{"name":"coveted","path":"coveted"}`, `{"name":"Coveted","path":"Coveted"}`},
			won: 201, lost: 400, says: taken,
			rows: map[string]int64{"SELECT COUNT(*) FROM projects p JOIN routes r ON r.namespace_id = p.namespace_id WHERE r.path_fold = 'ann/coveted'": 1},
		},
		{
			name: "project and subgroup of one path", token: []string{w.ann}, path: []string{"/projects", "/groups"},
			body: []string{fmt.Sprintf(`{"name":"both","path":"both","namespace_id":%d}`, w.group), fmt.Sprintf(`{"name":"both","path":"both","parent_id":%d}`, w.group)},
			won:  201, lost: 400, says: taken,
			rows: map[string]int64{"SELECT COUNT(*) FROM routes WHERE path_fold = 'team/both'": 1},
		},
		{
			name: "SSH key", token: []string{w.ann, w.ben}, path: []string{"/user/keys"}, body: []string{`{"title":"mine","key":"` + key + `"}`},
			won: 201, lost: 400, says: taken, rows: map[string]int64{"SELECT COUNT(*) FROM ssh_keys WHERE kind = 'user'": 1},
		},
		{
			name: "deploy key of one project", token: []string{w.ann}, path: []string{inProject("deploy_keys")}, body: []string{`{"title":"ci","key":"` + second + `"}`},
			won: 201, winners: -1, rows: map[string]int64{"SELECT COUNT(*) FROM ssh_keys WHERE kind = 'deploy'": 1, "SELECT COUNT(*) FROM deploy_key_projects": 1},
		},
		{
			name: "GPG key", token: []string{w.ann, w.ben}, path: []string{"/user/gpg_keys"}, body: []string{`{"key":` + quoted(strings.TrimSpace(servertest.GPGKey(t, "Somebody", "somebody@example.com"))) + `}`},
			won: 201, lost: 400, says: taken, rows: map[string]int64{"SELECT COUNT(*) FROM gpg_keys": 1},
		},
		{
			name: "secondary address", token: []string{root}, path: []string{fmt.Sprintf("/users/%d/emails", w.annID), fmt.Sprintf("/users/%d/emails", eveID)},
			body: []string{`{"email":"both@example.com","skip_confirmation":true}`},
			won:  201, lost: 400, says: taken, rows: map[string]int64{"SELECT COUNT(*) FROM emails WHERE email_fold = 'both@example.com'": 1},
		},
		{
			name: "member of a group", token: []string{w.ann}, path: []string{inGroup("members")},
			body: []string{fmt.Sprintf(`{"user_id":%d,"access_level":20}`, eveID), fmt.Sprintf(`{"user_id":%d,"access_level":30}`, eveID)},
			won:  201, lost: 409, says: []string{"Member already exists"},
			rows: map[string]int64{"SELECT COUNT(*) FROM members m JOIN users u ON u.id = m.user_id JOIN routes r ON r.namespace_id = m.namespace_id WHERE u.username = 'eve' AND r.path = 'team'": 1},
		},
		{
			name: "member of a project", token: []string{w.ann}, path: []string{inProject("members")}, body: []string{fmt.Sprintf(`{"user_id":%d,"access_level":40}`, eveID)},
			won: 201, lost: 409, says: []string{"Member already exists"},
			rows: map[string]int64{"SELECT COUNT(*) FROM members m JOIN users u ON u.id = m.user_id JOIN routes r ON r.namespace_id = m.namespace_id WHERE u.username = 'eve' AND r.path = 'team/app'": 1},
		},
		{
			name: "invitation", token: []string{w.ann}, path: []string{inGroup("invitations")}, body: []string{`{"email":"new@example.com","access_level":20}`},
			won: 201, winners: -1, rows: map[string]int64{"SELECT COUNT(*) FROM invitations WHERE email_fold = 'new@example.com'": 1},
		},
		{
			name: "access request", token: []string{eve}, path: []string{"/groups/club/access_requests"}, body: []string{`{}`},
			won: 201, lost: 400, says: []string{"already exists in source"}, rows: map[string]int64{"SELECT COUNT(*) FROM access_requests": 1},
		},
		{
			name: "share with a group", token: []string{w.ann}, path: []string{inGroup("share")}, body: []string{fmt.Sprintf(`{"group_id":%d,"group_access":30}`, guests)},
			won: 201, lost: 409, says: []string{"already been shared"}, rows: map[string]int64{"SELECT COUNT(*) FROM shares": 1},
		},
		{
			name: "star", token: []string{eve}, path: []string{inProject("star")}, body: []string{""},
			won: 201, lost: 304, rows: map[string]int64{"SELECT COUNT(*) FROM stars": 1, "SELECT star_count FROM projects WHERE id = 1": 1},
		},
		{
			name: "follower", token: []string{eve}, path: []string{fmt.Sprintf("/users/%d/follow", w.annID)}, body: []string{""},
			won: 201, lost: 304, rows: map[string]int64{"SELECT COUNT(*) FROM follows": 1},
		},
		{
			name: "personal tokens of one name", token: []string{root}, path: []string{fmt.Sprintf("/users/%d/personal_access_tokens", eveID)}, body: []string{`{"name":"same","scopes":["api"]}`},
			won: 201, winners: -1, rows: map[string]int64{"SELECT COUNT(DISTINCT digest) FROM access_tokens WHERE name = 'same'": contestSize},
		},
		{
			name: "project tokens of one name", token: []string{w.ann}, path: []string{inProject("access_tokens")},
			body: []string{`{"name":"bots","scopes":["api"],"access_level":20,"expires_at":"` + nextMonth() + `"}`},
			won:  201, winners: -1,
			rows: map[string]int64{
				"SELECT COUNT(DISTINCT user_id) FROM access_tokens WHERE name = 'bots'":                                                                                                         contestSize,
				"SELECT COUNT(*) FROM members m JOIN users u ON u.id = m.user_id JOIN namespaces n ON n.id = m.namespace_id WHERE u.user_type = 'bot' AND u.name = 'bots' AND n.kind <> 'user'": contestSize,
			},
		},
		{
			name: "deploy tokens of one name", token: []string{w.ann}, path: []string{inProject("deploy_tokens")}, body: []string{`{"name":"mirror","scopes":["read_repository"]}`},
			won: 201, winners: -1, rows: map[string]int64{"SELECT COUNT(DISTINCT username) FROM access_tokens WHERE name = 'mirror'": contestSize},
		},
	} {
		t.Run(c.name, func(t *testing.T) { w.in(t).contest(c) })
	}
	t.Run("nothing is half made", func(t *testing.T) { w.in(t).wholes(t) })
}

func nextMonth() string { return time.Now().UTC().AddDate(0, 1, 0).Format(time.DateOnly) }

func turn(list []string, i int) string { return list[i%len(list)] }

func (w *world) contest(c contest) {
	w.t.Helper()
	answers := w.together(contestSize, func(i int) (string, string, string, string) {
		return turn(c.token, i), "POST", turn(c.path, i), turn(c.body, i)
	})
	winners := c.winners
	switch winners {
	case 0:
		winners = 1
	case -1:
		winners = contestSize
	}
	got := statuses(answers)
	if got[c.won] != winners || got[c.won]+got[c.lost]+got[c.other] != contestSize {
		w.t.Errorf("%d at once: got %v, want %d times %d, %d for the others: %.300s", contestSize, got, winners, c.won, c.lost, answers[0].body)
	}
	for _, a := range answers {
		if a.status != c.won && len(c.says) > 0 && !slices.ContainsFunc(c.says, func(says string) bool { return bytesContain(a.body, says) }) {
			w.t.Errorf("who lost reads %.300s, want one of %q in it", a.body, c.says)
		}
	}
	d := w.open()
	for _, query := range slices.Sorted(maps.Keys(c.rows)) {
		if n := count(w.t, d, query); n != c.rows[query] {
			w.t.Errorf("%s: got %d, want %d", query, n, c.rows[query])
		}
	}
}

// wholes looks for users, groups and projects that have a part missing.
func (w *world) wholes(t *testing.T) {
	d := w.open()
	for what, query := range map[string]string{
		"people without a namespace": `SELECT COUNT(*) FROM users u WHERE u.user_type = 'human'
			AND NOT EXISTS (SELECT 1 FROM namespaces n WHERE n.id = u.namespace_id AND n.kind = 'user')`,
		"people without an address":   "SELECT COUNT(*) FROM users u WHERE NOT EXISTS (SELECT 1 FROM emails e WHERE e.user_id = u.id AND e.is_primary)",
		"namespaces without a route":  "SELECT COUNT(*) FROM namespaces n WHERE NOT EXISTS (SELECT 1 FROM routes r WHERE r.namespace_id = n.id)",
		"namespaces outside the tree": "SELECT COUNT(*) FROM namespaces n WHERE NOT EXISTS (SELECT 1 FROM namespace_ancestors a WHERE a.namespace_id = n.id AND a.ancestor_id = n.id)",
		"groups without their row":    "SELECT COUNT(*) FROM namespaces n WHERE n.kind = 'group' AND NOT EXISTS (SELECT 1 FROM groups g WHERE g.namespace_id = n.id)",
		"groups without an owner":     "SELECT COUNT(*) FROM namespaces n WHERE n.kind = 'group' AND NOT EXISTS (SELECT 1 FROM members m WHERE m.namespace_id = n.id AND m.access_level = 50)",
		"projects without their row":  "SELECT COUNT(*) FROM namespaces n WHERE n.kind = 'project' AND NOT EXISTS (SELECT 1 FROM projects p WHERE p.namespace_id = n.id)",
		"places of nobody":            "SELECT COUNT(*) FROM namespaces n WHERE n.kind = 'user' AND NOT EXISTS (SELECT 1 FROM users u WHERE u.namespace_id = n.id)",
		"bots without a membership":   "SELECT COUNT(*) FROM users u WHERE u.user_type = 'bot' AND NOT EXISTS (SELECT 1 FROM members m WHERE m.user_id = u.id)",
		"bots without a token":        "SELECT COUNT(*) FROM users u WHERE u.user_type = 'bot' AND NOT EXISTS (SELECT 1 FROM access_tokens t WHERE t.user_id = u.id)",
		"keys of nobody":              "SELECT COUNT(*) FROM ssh_keys k WHERE k.kind = 'deploy' AND NOT EXISTS (SELECT 1 FROM deploy_key_projects p WHERE p.key_id = k.id)",
	} {
		if n := count(t, d, query); n != 0 {
			t.Errorf("%s: %d", what, n)
		}
	}
}
