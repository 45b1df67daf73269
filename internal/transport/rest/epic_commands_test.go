package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/job"
	"tenon/internal/core/limit"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/core/reference"
	"tenon/internal/core/systemnote"
	"tenon/internal/core/todo"
)

// newEpicNotices is newEpics with to-do items and lines of history.
func newEpicNotices(t *testing.T, d *db.DB) *planning {
	t.Helper()
	p := newEpics(t, d)
	p.Todos = todo.New(todo.Deps{
		DB: d, Policy: p.World.Policy, Subscriptions: p.Subscriptions, Namespaces: p.Namespaces,
		Texts: reference.NewReader(p.URLs), Now: p.World.Now,
		Kinds: noteable.Collect(p.Issues, p.Epics),
	})
	p.Commands.Register(p.Todos.Commands()...)
	p.Notes = note.New(note.Deps{
		Limits: &limit.Service{}, DB: d, Accounts: p.Accounts, Policy: p.World.Policy, Bus: p.Bus, Awards: p.Awards, Projects: p.World.Projects, Now: p.World.Now, Commands: p.Commands,
		Texts: reference.NewReader(p.URLs), Kinds: noteable.Collect(p.Issues, p.Epics),
		Jobs: job.EnqueuerFunc(func(context.Context, job.Args, ...job.Option) error { return nil }),
	})
	p.Todos.Subscribe(p.Bus)
	systemnote.New(systemnote.Deps{Times: p.Times, Notes: p.Notes, Kinds: p.Kinds, Users: p.Accounts, References: p.References, Now: p.World.Now}).Subscribe(p.Bus)
	p.Notes.Subscribe(p.Bus)
	return p
}

// TestEpics_commands runs quick actions on epics: in comments, discussions and descriptions.
func TestEpics_commands(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newEpicNotices(t, d)
		p.do("planner", "POST", teamEpics, `{"title":"a","description":"text\n/label ~sea\n\n/nothing","labels":"sea,sky"}`)
		p.do("planner", "POST", teamEpics, `{"title":"b"}`)
		p.do("planner", "POST", "/groups/team%2Fquiet/epics", `{"title":"c"}`)
		p.do("owner", "POST", teamEpics, `{"title":"secret","confidential":true}`)
		made := p.do("planner", "PUT", teamEpics+"/1", `{"description":"text\n/unlabel ~sky\n/close\n"}`)
		if got := fmt.Sprint(made["description"], made["labels"], made["state"]); got != "text[sea]closed" {
			t.Errorf("an epic whose description has commands: got %s", got)
		}
		notes := teamEpics + "/" + id(made, "id") + "/notes"
		discussions := strings.TrimSuffix(notes, "notes") + "discussions"
		const failed = `{"message":"400 Bad request - Failed to apply commands."}`
		for _, tt := range []struct{ as, body, want string }{
			{"planner", "/reopen\n/title A", `{"commands_changes":{},"summary":["Reopened this epic. Changed the title to \"A\"."]}`},
			{"planner", "/label ~sky", `{"commands_changes":{"add_label_ids":[2]},"summary":["Added ~2 label."]}`},
			{"planner", "/relabel ~sea", `{"commands_changes":{"label_ids":[1]},"summary":["Replaced all labels with ~1 label."]}`},
			{"planner", "/unlabel", `{"commands_changes":{"label_ids":[]},"summary":["Removed all labels."]}`},
			{"guest", "/award :tada:", `{"commands_changes":{"emoji_award":"tada"},"summary":["Toggled :tada: emoji award."]}`},
			{"guest", "/subscribe", `{"commands_changes":{"subscription_event":"subscribe"},"summary":["Subscribed to notifications."]}`},
			{"guest", "/unsubscribe", `{"commands_changes":{"subscription_event":"unsubscribe"},"summary":["Unsubscribed from notifications."]}`},
			{"guest", "/todo", `{"commands_changes":{"todo_event":"add"},"summary":["Added a to-do item."]}`},
			{"guest", "/done", `{"commands_changes":{"todo_event":"done"},"summary":["Marked to-do item as done."]}`},
			{"guest", "/child_epic &2", `{"commands_changes":{},"summary":["Added &2 as a child epic."]}`},
			{"guest", "/child_epic &2", `{"commands_changes":{},"summary":["Given epic is already related to this epic."]}`},
			{"guest", "/parent_epic &2", `{"commands_changes":{},"summary":["parent cannot be the epic itself or one below it"]}`},
			{"guest", "/remove_child_epic &2", `{"commands_changes":{},"summary":["Removed &2 from child epics."]}`},
			{"guest", "/remove_child_epic &2", `{"commands_changes":{},"summary":["Child epic doesn't exist."]}`},
			{"guest", "/parent_epic team/quiet&1", `{"commands_changes":{},"summary":["Set team/quiet&1 as the parent epic."]}`},
			{"guest", "/remove_parent_epic", `{"commands_changes":{},"summary":["Removed parent epic team/quiet&1."]}`},
			{"guest", "/remove_parent_epic", `{"commands_changes":{},"summary":["Parent epic is not present."]}`},
			{"guest", "/child_epic &3", `{"commands_changes":{},"summary":["This epic does not exist or you don't have sufficient permission."]}`}, // confidential
			{"guest", "/child_epic &9", `{"commands_changes":{},"summary":["This epic does not exist or you don't have sufficient permission."]}`},
			{"guest", "/relate &2 team/quiet&1", `{"commands_changes":{},"summary":["Added &2 and team/quiet&1 as linked items related to this epic."]}`},
			{"guest", "/unlink &2", `{"commands_changes":{},"summary":["Removed linked item &2."]}`},
			{"guest", "/unlink &3", `{"commands_changes":{},"summary":["No linked epic matches the provided parameter."]}`},
			{"guest", "/blocked_by &2", `{"commands_changes":{},"summary":["Added &2 as a linked item blocking this epic."]}`},
			{"planner", "/confidential", `{"commands_changes":{"confidential":true},"summary":["Made this epic confidential."]}`},
		} {
			p.want(tt.as, "POST", notes, fmt.Sprintf(`{"body":%q}`, tt.body), 202, tt.want)
		}
		if got, want := p.pick("planner", teamEpics+"/1/related_epics", "link_type"), "relates_to is_blocked_by"; got != want {
			t.Errorf("links: got %q, want %q", got, want)
		}
		if got := p.pick("owner", notes, "body"); strings.Contains(got, "/") && strings.Contains(got, "/child") {
			t.Errorf("commands alone made notes: %s", got)
		}
		p.do("planner", "PUT", teamEpics+"/1", `{"confidential":false}`)
		for _, body := range []string{"/close", "/label ~sea", "/relate &3", "/due 2023-01-01", "/promote"} {
			p.want("guest", "POST", notes, fmt.Sprintf(`{"body":%q}`, body), 400, failed)
		}
		begun := p.do("planner", "POST", discussions, `{"body":"done\n/close"}`)
		if e := p.do("", "GET", teamEpics+"/1", ""); e["state"] != "closed" {
			t.Errorf("after a discussion with /close: got %v of %v", e["state"], begun)
		}
		p.want("planner", "POST", discussions+"/"+id(begun, "id")+"/notes", `{"body":"/reopen"}`, 202, `{"commands_changes":{},"summary":["Reopened this epic."]}`)
		p.want("stranger", "POST", notes, `{"body":"/close"}`, 400, failed)
		note := p.do("planner", "POST", notes, `{"body":"words"}`)
		p.want("planner", "PUT", notes+"/"+id(note, "id"), `{}`, 400, `{"error":"body is missing"}`)
		p.want("planner", "PUT", notes+"/"+id(note, "id"), `{"body":"others"}`, 200, "")
	})
}

// TestEpics_promote makes epics of issues by a quick action.
func TestEpics_promote(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newEpicNotices(t, d)
		p.do("planner", "POST", "/groups/team/labels", `{"name":"group","color":"#fff"}`)
		p.do("planner", "POST", teamEpics, `{"title":"above"}`)
		const issues = "/projects/team%2Fapp/issues"
		p.do("planner", "POST", issues, `{"title":"Far","description":"as #1","labels":"group,own","epic_iid":1}`)
		p.do("guest", "POST", issues+"/1/notes", `{"body":"see #1"}`)
		p.do("planner", "POST", issues+"/1/notes", `{"body":"between us","internal":true}`)
		p.do("guest", "POST", issues+"/1/award_emoji", `{"name":"thumbsup"}`)
		p.do("guest", "POST", issues, `{"title":"own"}`)
		p.want("guest", "POST", issues+"/2/notes", `{"body":"/promote"}`, 400, "")

		p.want("planner", "POST", issues+"/1/notes", `{"body":"/promote"}`, 202, `{"commands_changes":{"promote_to_epic":true},"summary":["Promoted issue to an epic."]}`)
		made := p.do("planner", "GET", teamEpics+"/2", "")
		if got, want := fmt.Sprint(made["title"], made["description"], made["labels"], made["upvotes"], made["parent_iid"], made["confidential"]), "Faras team/app#1[group] 1 1 false"; got != want {
			t.Errorf("the epic: got %q, want %q", got, want)
		}
		if i := p.do("", "GET", issues+"/1", ""); i["state"] != "closed" {
			t.Errorf("the issue is %v", i["state"])
		}
		p.want("planner", "POST", issues+"/1/notes", `{"body":"/promote"}`, 400, "") // it is closed
		notes := teamEpics + "/" + id(made, "id") + "/notes?sort=asc"
		const told = "added parent epic team&1"
		for as, want := range map[string]string{
			"guest":   "added to epic team&1; see team/app#1; promoted from issue team/app#1; " + told,
			"planner": "added to epic team&1; see team/app#1; between us; promoted from issue team/app#1; " + told,
		} {
			if got := strings.Join(p.list(as, notes, "body"), "; "); got != want {
				t.Errorf("notes of the epic for %s: got %q, want %q", as, got, want)
			}
		}
		if got := p.list("guest", issues+"/1/notes", "body")[0]; got != "promoted to epic team&2" {
			t.Errorf("on the issue: got %q", got)
		}
		p.do("planner", "POST", issues, `{"title":"Hidden","confidential":true,"description":"/promote"}`)
		if e := p.do("planner", "GET", teamEpics+"/3", ""); e["title"] != "Hidden" || e["confidential"] != true {
			t.Errorf("an epic of a confidential issue: got %v", e)
		}
		if got := p.list("guest", teamEpics, "title"); len(got) != 2 {
			t.Errorf("the guest sees %q", got)
		}
	})
}

// TestEpics_todos makes and resolves to-do items about epics, of those alone who may read them.
func TestEpics_todos(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newEpicNotices(t, d)
		open := p.do("planner", "POST", teamEpics, `{"title":"Sail","description":"@guest take this, @stranger and @owner too"}`)
		secret := p.do("planner", "POST", teamEpics, `{"title":"Secret","description":"to @guest and @owner","confidential":true}`)
		p.do("planner", "POST", "/groups/team%2Fquiet/epics", `{"title":"Quiet","description":"@stranger @guest"}`)
		notes := teamEpics + "/" + id(open, "id") + "/notes"
		p.do("planner", "POST", notes, `{"body":"@guest @owner hush","internal":true}`)
		for as, want := range map[string]string{
			"guest": "Quiet:directly_addressed Sail:directly_addressed", "stranger": "Sail:mentioned", "owner": "Secret:mentioned Sail:mentioned", "planner": "",
		} {
			var got []string
			for i, body := range p.list(as, "/todos", "body") {
				got = append(got, body+":"+p.list(as, "/todos", "action_name")[i])
			}
			if strings.Join(got, " ") != want {
				t.Errorf("to-do items of %s: got %q, want %q", as, got, want)
			}
		}
		first := p.send("stranger", "GET", "/todos?type=Epic&group_id="+id(open, "group_id"), "").Body.String()
		for _, part := range []string{`"target_type":"Epic"`, `"target_url":"https://tenon.example/groups/team/-/epics/1"`, `"group":{"id":` + id(open, "group_id"), `"start_date_is_fixed"`} {
			if !strings.Contains(first, part) {
				t.Errorf("a to-do item: got %s, want %s in it", first, part)
			}
		}
		p.do("planner", "PUT", teamEpics+"/1", `{"confidential":true}`)
		if got := p.list("stranger", "/todos", "body"); len(got) != 0 {
			t.Errorf("to-do items about what became confidential: got %q", got)
		}
		p.do("planner", "PUT", teamEpics+"/1", `{"confidential":false,"title":"Sail on"}`)

		const path = teamEpics + "/1/todo"
		p.want("", "POST", path, "", 401, "")
		p.want("guest", "POST", teamEpics+"/2/todo", "", 404, `{"message":"404 Not found"}`)
		p.want("guest", "POST", path, "", 304, "")
		p.want("planner", "POST", path, "", 201, "")
		p.want("planner", "POST", path, "", 304, "")
		p.do("planner", "POST", notes, `{"body":"done"}`)
		if got := p.list("planner", "/todos?state=done", "action_name"); strings.Join(got, " ") != "marked" {
			t.Errorf("a comment resolves what waits: got %q", got)
		}
		p.do("guest", "POST", teamEpics+"/1/award_emoji", `{"name":"tada"}`)
		if got := p.list("guest", "/todos", "body"); strings.Join(got, " ") != "Quiet" {
			t.Errorf("a reaction resolves what waits: got %q", got)
		}
		p.want("owner", "DELETE", teamEpics+"/2", "", 204, "")
		if got := p.list("owner", "/todos?state=pending", "body"); strings.Join(got, " ") != "Sail on" {
			t.Errorf("after the deletion of %s: got %q", id(secret, "id"), got)
		}
	})
}

// TestEpics_mentions writes cross-references between epics and issues, which those see who may read
// what mentions.
func TestEpics_mentions(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newEpicNotices(t, d)
		const issues = "/projects/team%2Fapp/issues"
		sail := p.do("planner", "POST", teamEpics, `{"title":"Sail"}`)
		p.do("planner", "POST", issues, `{"title":"Wind","description":"for &1 and team&1"}`)
		p.do("planner", "POST", issues, `{"title":"Hush","confidential":true,"description":"https://tenon.example/groups/team/-/epics/1"}`)
		p.do("planner", "POST", teamEpics, `{"title":"Row","description":"after &1, see team/app#1"}`)
		p.do("planner", "PUT", teamEpics+"/2", `{"description":"after &1, see team/app#1 again"}`)
		p.do("owner", "POST", teamEpics, `{"title":"Secret","confidential":true,"description":"&1 and team/app#1"}`)
		p.do("planner", "POST", "/groups/team%2Fquiet/epics", `{"title":"Dive for team&1"}`)
		p.do("guest", "POST", issues+"/1/notes", `{"body":"see &2"}`)
		row := p.do("", "GET", teamEpics+"/2", "")
		p.do("guest", "POST", teamEpics+"/"+id(row, "id")+"/notes", `{"body":"and team/app#1"}`)
		p.do("planner", "POST", teamEpics+"/"+id(sail, "id")+"/notes", `{"body":"&2","internal":true}`)
		for path, all := range map[string]map[string]string{
			teamEpics + "/" + id(sail, "id"): {
				"stranger": "mentioned in issue team/app#1; mentioned in epic &2",
				"guest":    "mentioned in issue team/app#1; mentioned in epic &2; mentioned in epic team/quiet&1",
				"owner":    "mentioned in issue team/app#1; mentioned in issue team/app#2; mentioned in epic &2; mentioned in epic &3; mentioned in epic team/quiet&1",
			},
			teamEpics + "/" + id(row, "id"): {"stranger": "changed the description; mentioned in issue team/app#1"},
			issues + "/1":                   {"stranger": "mentioned in epic team&2", "owner": "mentioned in epic team&2; mentioned in epic team&3"},
		} {
			for as, want := range all {
				if got := strings.Join(p.list(as, path+"/notes?sort=asc&activity_filter=only_activity", "body"), "; "); got != want {
					t.Errorf("%s for %s: got %q\nwant %q", path, as, got, want)
				}
			}
		}
		p.want("owner", "DELETE", teamEpics+"/2", "", 204, "")
		if got := strings.Join(p.list("stranger", issues+"/1/notes?activity_filter=only_activity", "body"), "; "); got != "" {
			t.Errorf("after the deletion of an epic: got %q", got)
		}
	})
}

// list returns a field of each row of an answer.
func (p *planning) list(as, path, field string) []string {
	p.t.Helper()
	var out []string
	var rows []map[string]any
	if w := p.send(as, "GET", path, ""); json.Unmarshal(w.Body.Bytes(), &rows) != nil {
		p.t.Fatalf("%s: %s: %d %s", as, path, w.Code, w.Body)
	}
	for _, row := range rows {
		out = append(out, fmt.Sprint(row[field]))
	}
	return out
}
