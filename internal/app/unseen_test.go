package app

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http/httptest"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tenon/internal/transport/rest/api"
)

// hush is in the text of everything that is hidden.
const hush = "hushword"

// TestUnseen reads every route, then adds confidential issues, internal notes and things of
// a private project, which refer to what is public and mention people, and reads every route
// again: to who may not read them the answers are the same byte by byte, lists, counts,
// totals, filters, searches and to-do items among them. What is asked of the hidden things
// themselves is answered as for things that do not exist.
func TestUnseen(t *testing.T) {
	walker(t)
	eachEngine(t, func(t *testing.T, s *server) {
		w := newWorld(s)
		readers := []string{"", "stranger", "guest"}
		rows := w.readable()
		w.readings(t, rows, []string{""}) // what is found out at the first reading is known from now on
		before := w.readings(t, rows, readers)
		places := w.hide()
		after := w.readings(t, rows, readers)
		if len(before) < 1000 {
			t.Errorf("only %d answers were compared", len(before))
		}
		for _, name := range slices.Sorted(maps.Keys(before)) {
			if at := differ(before[name], after[name]); at >= 0 {
				t.Errorf("%s\nbefore %s\n after %s", name, around(before[name], at), around(after[name], at))
			}
		}
		w.unreachable(t, places, readers)
	})
}

// differ is where two texts begin to differ, -1 where they are equal.
func differ(a, b string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	if len(a) == len(b) {
		return -1
	}
	return min(len(a), len(b))
}

// around is the part of a text near a place.
func around(text string, at int) string {
	return text[max(0, at-100):min(len(text), at+100)]
}

// readable returns the rows of the routes that read, in the public places and the instance;
// those that read nothing but a git repository are left out.
func (w *world) readable() []row {
	all := samples()
	var out []row
	for _, route := range w.kit().Routes() {
		_, inside, git := strings.Cut(route.Path, "/repository/")
		if !reads(route) || git && !strings.Contains(inside, ":sha/") {
			continue
		}
		for _, r := range w.rows(route, all) {
			if slices.Contains([]string{"public", "instance"}, r.place.name) && r.sample.note == "" {
				out = append(out, r)
			}
		}
	}
	return out
}

// queries are what a list is asked with: each of its filters and orders by itself.
func (r row) queries(values map[string]string) []string {
	out := []string{""}
	var add func(params []api.Param)
	add = func(params []api.Param) {
		for _, p := range params {
			add(p.Inside)
			kind := p.Type
			for kind.Kind() == reflect.Pointer {
				kind = kind.Elem()
			}
			choices := slices.Clone(p.Values)
			if value, ok := values[strings.TrimSuffix(strings.TrimPrefix(p.Name, "not["), "]")]; ok {
				choices = []string{value}
			} else if kind.Kind() == reflect.Bool {
				choices = []string{"true", "false"}
			}
			if p.InPath || p.Header || p.Name == "sort" || p.Name == "pagination" {
				continue
			}
			for _, choice := range choices {
				if p.Name == "order_by" && slices.Contains([]string{"updated_at", "last_activity_at"}, choice) {
					continue // as above
				}
				out = append(out, p.Name+"="+choice)
			}
		}
	}
	add(r.route.Params)
	return out
}

// changing are values that tell when something was written, which the clock of the two
// readings would tell apart.
var changing = regexp.MustCompile(`"(?:updated_at|last_activity_at|last_used_at|last_activity_on)":"[^"]*"|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`)

// readings asks each row as each reader and returns what was answered by what was asked. The
// stranger asks without filters.
func (w *world) readings(t *testing.T, rows []row, readers []string) map[string]string {
	t.Helper()
	values := map[string]string{
		"search": hush, "labels": "bug%20of%20public", "milestone": "First%20of%20public", "my_reaction_emoji": "tada",
		"author_username": "owner", "assignee_username": "owner", "weight": "5", "target_type": "issue", "health_status": "at_risk",
	}
	out := map[string]string{}
	for _, r := range rows {
		q, missing := r.request()
		if missing != "" {
			t.Fatalf("%s: no value for :%s", r.title(), missing)
		}
		for _, as := range readers {
			queries := r.queries(values)
			if as == "stranger" {
				queries = queries[:1]
			}
			for _, query := range queries {
				asked := q
				asked.as, asked.path = as, wide(withQuery(q.path, query))
				out[fmt.Sprintf("%s as %q", asked.path, as)] = stable(w.send(t.Context(), asked))
			}
		}
	}
	return out
}

// stable is an answer without what changes from one request to the next.
func stable(a *httptest.ResponseRecorder) string {
	var head []string
	for _, name := range []string{"X-Total", "X-Total-Pages", "X-Next-Page", "Link"} {
		if v := a.Header().Get(name); v != "" {
			head = append(head, name+": "+v)
		}
	}
	return fmt.Sprintf("%d %s\n%s", a.Code, strings.Join(head, "; "), changing.ReplaceAllString(a.Body.String(), ""))
}

// concealed is a place with the numbers of something hidden, and the same place with those of
// what stands open.
type concealed struct{ hidden, open *place }

// hide adds what is hidden from all but members, and returns the places to ask for it under.
func (w *world) hide() []concealed {
	open := w.projects[2]
	at, issue := "/projects/"+open.values["projects/:id"], open.values[":issue_iid"]
	const people = "@guest @stranger @developer"
	name := open.values["full_path"]
	request, loose := open.values[":merge_request_iid"], open.values["loose"]

	secret := w.do("owner", "POST", at+"/issues", obj{
		"title": hush, "confidential": true, "description": hush + " #" + issue + " !" + request + " " + people, "labels": "bug of public",
		"assignee_ids": []any{w.ids["owner"]}, "milestone_id": open.values[":milestone_id"], "weight": 5, "due_date": "2023-06-01", "issue_type": "incident",
	})
	iid := number(secret, "iid")
	hidden := at + "/issues/" + iid
	w.do("owner", "POST", hidden+"/award_emoji", obj{"name": "tada"})
	w.do("owner", "POST", hidden+"/add_spent_time?duration=1h", nil)
	w.do("owner", "POST", hidden+"/links", obj{"target_project_id": open.values["projects/:id"], "target_issue_iid": issue, "link_type": "blocks"})
	w.do("owner", "POST", hidden+"/links", obj{"target_project_id": open.values["projects/:id"], "target_issue_iid": loose})
	w.do("owner", "PUT", hidden, obj{"state_event": "close"})
	w.do("owner", "PUT", hidden, obj{"state_event": "reopen"})
	note := w.do("owner", "POST", hidden+"/notes", obj{"body": hush + " #" + loose + " " + people})
	w.do("owner", "POST", hidden+"/notes/"+number(note, "id")+"/award_emoji", obj{"name": "tada"})

	internal := w.do("owner", "POST", at+"/issues/"+issue+"/notes", obj{"body": hush + " #" + loose + " !" + request + " " + people, "internal": true})
	inNote := number(internal, "id")
	thread := w.discussionOf(at+"/issues/"+issue+"/notes", inNote)
	w.do("owner", "POST", at+"/issues/"+issue+"/notes/"+inNote+"/award_emoji", obj{"name": "tada"})
	w.do("owner", "POST", at+"/issues/"+issue+"/discussions/"+thread+"/notes", obj{"body": hush + " " + people})

	away := "/projects/" + number(w.do("owner", "POST", "/projects", obj{"name": hush, "initialize_with_readme": true}), "id")
	elsewhere := w.do("owner", "POST", away+"/issues", obj{"title": hush, "description": name + "#" + issue + " " + name + "!" + request + " " + people})
	w.do("owner", "POST", away+"/issues/"+number(elsewhere, "iid")+"/links", obj{"target_project_id": open.values["projects/:id"], "target_issue_iid": issue})
	w.do("owner", "POST", away+"/issues/"+number(elsewhere, "iid")+"/notes", obj{"body": hush + " " + name + "#" + loose + " " + people})
	file := obj{"branch": hush, "start_branch": "main", "content": hush, "commit_message": hush + " " + name + "#" + issue}
	w.do("owner", "POST", away+"/repository/files/hush.md", file)
	w.do("owner", "POST", away+"/merge_requests", obj{"title": hush, "source_branch": hush, "target_branch": "main", "description": "Closes " + name + "#" + loose})
	w.do("owner", "POST", "/snippets", obj{"title": hush, "visibility": "private", "files": []obj{{"file_path": "hush.txt", "content": "#" + issue}}})

	asIssue := maps.Clone(open.values)
	maps.Copy(asIssue, with{
		":issue_iid": iid, "issues/:noteable_id": iid, "issues/:eventable_id": iid, "issues/:id": number(secret, "id"), "issues/:note_id": number(note, "id"),
	})
	asNote := maps.Clone(open.values)
	maps.Copy(asNote, with{"issues/:note_id": inNote, "issues/:discussion_id": thread})
	return append(w.hideEpic(number(secret, "id"), people),
		concealed{&place{name: "issue", values: asIssue, project: true}, open},
		concealed{&place{name: "note", values: asNote, project: true}, open})
}

// hideEpic adds a confidential epic with the hidden issue in it, below an open one, and an
// internal note to that one.
func (w *world) hideEpic(issue, people string) []concealed {
	open := w.groups[2]
	at := "/groups/" + open.values["groups/:id"] + "/epics"
	text := hush + " &" + open.values[":epic_iid"] + " " + w.projects[2].values["full_path"] + "#" + w.projects[2].values[":issue_iid"] + " " + people
	epic := w.do("owner", "POST", at, obj{
		"title": hush, "description": text, "confidential": true, "labels": "bug", "parent_id": open.values["epics/:noteable_id"],
		"start_date_is_fixed": true, "start_date_fixed": "2020-01-01",
	})
	w.do("owner", "POST", at+"/"+number(epic, "iid")+"/issues/"+issue, nil)
	w.do("owner", "POST", at+"/"+number(epic, "iid")+"/related_epics", obj{"target_group_id": open.values["groups/:id"], "target_epic_iid": open.values[":epic_iid"]})
	w.do("owner", "POST", at+"/"+number(epic, "iid")+"/award_emoji", obj{"name": "tada"})
	w.do("owner", "POST", at+"/"+number(epic, "id")+"/notes", obj{"body": text})
	internal := w.do("owner", "POST", at+"/"+open.values["epics/:noteable_id"]+"/notes", obj{"body": text, "internal": true})
	asEpic, asNote := maps.Clone(open.values), maps.Clone(open.values)
	maps.Copy(asEpic, with{":epic_iid": number(epic, "iid"), "epics/:noteable_id": number(epic, "id"), "epics/:eventable_id": number(epic, "id"), ":child_epic_id": number(epic, "id")})
	maps.Copy(asNote, with{"epics/:note_id": number(internal, "id")})
	return []concealed{{&place{name: "epic", values: asEpic}, open}, {&place{name: "note of an epic", values: asNote}, open}}
}

// unreachable asks every route for the hidden things and for others that do not exist; the
// answers are the same.
func (w *world) unreachable(t *testing.T, places []concealed, readers []string) {
	t.Helper()
	missing := map[string]string{":discussion_id": strings.Repeat("f", 40)}
	all := samples()
	for _, c := range places {
		asked := 0
		absent := &place{name: c.hidden.name, values: maps.Clone(c.hidden.values), project: c.open.project}
		for name, value := range c.hidden.values {
			if c.open.values[name] == value {
				continue
			}
			_, last, _ := strings.Cut(name, "/")
			absent.values[name] = "987654"
			if other, ok := missing[last]; ok {
				absent.values[name] = other
			}
		}
		for _, route := range w.kit().Routes() {
			for _, r := range w.rows(route, all) {
				if r.place != c.open || r.sample.first != "" {
					continue
				}
				q, _ := row{route, r.sample, c.hidden}.request()
				gone, _ := row{route, r.sample, absent}.request()
				if q.path == gone.path {
					continue
				}
				asked++
				for _, as := range readers {
					q.as, gone.as = as, as
					if got, want := stable(w.undone(q, nil)), stable(w.undone(gone, nil)); got != want {
						body, _ := json.Marshal(q.body)
						t.Errorf("%s %s as %q %s\nhidden %s\nabsent %s", q.method, q.path, as, body, got, want)
					}
				}
			}
		}
		if asked < 8 {
			t.Errorf("only %d requests were made of the hidden %s", asked, c.hidden.name)
		}
	}
}
