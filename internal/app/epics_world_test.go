package app

import (
	"maps"
	"strings"
)

// epics makes epics in a group, with what hangs on one of them.
func (w *world) epics(path string) map[string]string {
	epicOf := func(body obj) map[string]any { return w.do("planner", "POST", path+"/epics", body) }
	epic := epicOf(obj{"title": "Epic", "labels": "bug"})
	secret, loose := epicOf(obj{"title": "Secret", "confidential": true}), epicOf(obj{"title": "Loose"})
	at, byID := path+"/epics/"+number(epic, "iid"), path+"/epics/"+number(epic, "id")
	first := w.do("planner", "POST", at+"/epics", obj{"title": "First child"})
	second := w.do("planner", "POST", at+"/epics", obj{"title": "Second child"})
	w.do("planner", "PUT", at, obj{"state_event": "close"})
	w.do("planner", "PUT", at, obj{"state_event": "reopen"})
	note := w.do("guest", "POST", byID+"/notes", obj{"body": "A word"})
	internal := w.do("planner", "POST", byID+"/notes", obj{"body": "Between us", "internal": true})
	award := w.do("developer", "POST", at+"/award_emoji", obj{"name": "tada"})
	onNote := w.do("developer", "POST", byID+"/notes/"+number(note, "id")+"/award_emoji", obj{"name": "tada"})
	related := w.do("planner", "POST", at+"/related_epics", obj{"target_group_id": strings.TrimPrefix(path, "/groups/"), "target_epic_iid": number(second, "iid"), "link_type": "blocks"})
	w.do("planner", "POST", path+"/epics/"+number(secret, "iid")+"/related_epics", obj{"target_group_id": strings.TrimPrefix(path, "/groups/"), "target_epic_iid": number(epic, "iid")})
	return map[string]string{
		":related_epic_link_id": number(related, "id"),
		":epic_iid":             number(epic, "iid"), "secret epic": number(secret, "iid"), "secret epic's id": number(secret, "id"), "loose epic": number(loose, "id"),
		"loose epic's iid": number(loose, "iid"), ":child_epic_id": number(first, "id"), "second child": number(second, "id"),
		"epics/:noteable_id": number(epic, "id"), "epics/:eventable_id": number(epic, "id"), "epics/:note_id": number(note, "id"), "internal": number(internal, "id"),
		"epics/:discussion_id": w.discussionOf(byID+"/notes", number(note, "id")), "epics/:award_id": number(award, "id"), "notes/:award_id": number(onNote, "id"),
		"resource_label_events/:event_id": w.first(byID + "/resource_label_events"), "resource_state_events/:event_id": w.first(byID + "/resource_state_events"),
	}
}

// include puts issues of the first project of a group into an epic.
func (w *world) include(group *place, issues ...map[string]any) {
	if group == nil || group.values[":epic_issue_id"] != "" {
		return
	}
	at := "/groups/" + group.values["groups/:id"] + "/epics/" + group.values[":epic_iid"] + "/issues/"
	for i, name := range []string{":epic_issue_id", "second epic issue"} {
		group.values[name] = number(w.do("owner", "POST", at+number(issues[i], "id"), nil), "id")
	}
	group.values["loose issue"] = number(issues[2], "id")
}

// epicSamples are those of epics and of what hangs on them.
func epicSamples() map[string][]sample {
	const path = "/groups/:id/epics/"
	secret, secretID := with{"epic_iid": "=secret epic"}, with{"noteable_id": "=secret epic's id"}
	iid := func(s sample) sample { // of award emoji on epics
		s.values = with{"noteable_id": "=:epic_iid"}
		if s.note == "" {
			s.note = "by iid"
		}
		return s
	}
	said := []sample{{body: obj{"body": "New"}}}
	out := map[string][]sample{
		"POST /groups/:id/epics":          {{body: obj{"title": "New", "parent_id": "=loose epic"}}},
		"GET " + path + ":epic_iid":       {{}, {note: "confidential", values: secret}},
		"PUT " + path + ":epic_iid":       {{body: obj{"title": "Other"}}, {note: "parent", body: obj{"parent_id": "=loose epic"}}, {note: "confidential", values: secret, body: obj{"title": "Other"}}},
		"DELETE " + path + ":epic_iid":    {{}, {note: "confidential", values: secret}},
		"GET " + path + ":epic_iid/epics": {{}, {note: "confidential", values: secret}},

		"POST " + path + ":epic_iid/epics":                  {{body: obj{"title": "New"}}},
		"POST " + path + ":epic_iid/epics/:child_epic_id":   {{note: "of any group", values: with{"child_epic_id": "=loose epic"}}},
		"PUT " + path + ":epic_iid/epics/:child_epic_id":    {{body: obj{"move_after_id": "=second child"}}},
		"DELETE " + path + ":epic_iid/epics/:child_epic_id": {{}},
	}
	maps.Copy(out, map[string][]sample{
		"GET " + path + ":epic_iid/issues":                   {{}, {note: "confidential", values: secret}},
		"POST " + path + ":epic_iid/issues/:issue_id":        {{note: "of any project", values: with{"issue_id": "=loose issue"}}},
		"PUT " + path + ":epic_iid/issues/:epic_issue_id":    {{body: obj{"move_before_id": "=second epic issue"}}},
		"DELETE " + path + ":epic_iid/issues/:epic_issue_id": {{}},

		"POST " + path + ":epic_iid/todo":                                  {{}, {note: "confidential", values: secret}},
		"GET " + path + ":epic_iid/related_epics":                          {{}, {note: "confidential", values: secret}},
		"POST " + path + ":epic_iid/related_epics":                         {{body: obj{"target_group_id": "=groups/:id", "target_epic_iid": "=loose epic's iid", "link_type": "blocks"}}},
		"DELETE " + path + ":epic_iid/related_epics/:related_epic_link_id": {{}},
	})
	const on, notes, discussion = path + ":noteable_id", path + ":noteable_id/notes", path + ":noteable_id/discussions/:discussion_id/notes"
	maps.Copy(out, map[string][]sample{
		"GET " + notes:                  {{}, {note: "confidential", values: secretID}},
		"GET " + notes + "/:note_id":    {{}, {note: "internal", values: with{"note_id": "=internal"}}},
		"POST " + notes:                 {{body: obj{"body": "New"}}, {note: "confidential", values: secretID, body: obj{"body": "New"}}},
		"PUT " + notes + "/:note_id":    {{note: "guest's", body: obj{"body": "Other"}}, {note: "internal", values: with{"note_id": "=internal"}, body: obj{"body": "Other"}}},
		"DELETE " + notes + "/:note_id": {{note: "guest's"}, {note: "internal", values: with{"note_id": "=internal"}}},

		"POST " + on + "/discussions":        said,
		"POST " + discussion:                 said,
		"PUT " + discussion + "/:note_id":    {{note: "guest's", body: obj{"body": "Other"}}},
		"DELETE " + discussion + "/:note_id": {{note: "guest's"}},

		"GET " + on + "/award_emoji":                          {iid(sample{})},
		"GET " + on + "/award_emoji/:award_id":                {iid(sample{})},
		"POST " + on + "/award_emoji":                         {iid(sample{body: obj{"name": "heart"}})},
		"DELETE " + on + "/award_emoji/:award_id":             {iid(sample{note: "developer's"})},
		"POST " + notes + "/:note_id/award_emoji":             {{body: obj{"name": "heart"}}},
		"DELETE " + notes + "/:note_id/award_emoji/:award_id": {{note: "developer's"}},
	})
	return out
}
