package graphql

import (
	"fmt"
	"strings"
	"testing"
)

// TestIssues_relations asks for what issues have to do with others.
func TestIssues_relations(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.team(3)
		app := s.rest("dev", "GET", "/projects/team%2Fapp", "")
		hidden := s.rest("owner", "POST", "/projects/team%2Fapp/issues", `{"title":"secret","confidential":true,"weight":5}`)
		for _, source := range []any{2.0, hidden["iid"]} {
			s.rest("owner", "POST", fmt.Sprintf("/projects/team%%2Fapp/issues/%v/links", source), fmt.Sprintf(`{"target_project_id":%v,"target_issue_iid":1,"link_type":"blocks"}`, app["id"]))
		}
		s.rest("dev", "PUT", "/projects/team%2Fapp/issues/2", `{"weight":2}`)
		s.rest("guest", "POST", "/projects/team%2Fapp/issues/1/notes", `{"body":"mine"}`)
		thread := s.rest("owner", "POST", "/projects/team%2Fapp/issues/1/discussions", `{"body":"thread"}`)
		s.rest("dev", "POST", fmt.Sprintf("/projects/team%%2Fapp/issues/1/discussions/%v/notes", thread["id"]), `{"body":"reply"}`)
		s.rest("owner", "POST", "/projects/team%2Fapp/issues/1/notes", `{"body":"among us","internal":true}`)
		const query = `{ project(fullPath: "team/app") { issue(iid: "1") { blocked blockedByCount blockingCount blockedByIssues { count weight nodes { title } } commenters { nodes { username } } participants { nodes { username } }
			userDiscussionsCount userNotesCount userPermissions { adminIssue createNote readIssue reopenIssue updateIssue } relatedMergeRequests { count } hidden } issues { weight } closed: issues(state: closed) { weight } issueStatusCounts { all opened closed } } }`
		answer := func(n, weight int, titles, notes, admin, sum string, all int) string {
			return fmt.Sprintf(`{"data":{"project":{"issue":{"blocked":true,"blockedByCount":%d,"blockingCount":0,"blockedByIssues":{"count":%d,"weight":%d,"nodes":[%s]},"commenters":{"nodes":[{"username":"guest"},{"username":"owner"},{"username":"dev"}]},`+
				`"participants":{"nodes":[{"username":"guest"},{"username":"dev"},{"username":"owner"}]},%s,"userPermissions":{"adminIssue":%s,"createNote":true,"readIssue":true,"reopenIssue":%s,"updateIssue":%s},"relatedMergeRequests":{"count":0},"hidden":false},`+
				`"issues":{"weight":%s},"closed":{"weight":0},"issueStatusCounts":{"all":%d,"opened":%d,"closed":0}}}}`, n, n, weight, titles, notes, admin, admin, admin, sum, all, all)
		}
		s.want("owner", query, nil, answer(2, 7, `{"title":"issue 2"},{"title":"secret"}`, `"userDiscussionsCount":3,"userNotesCount":4`, "true", "7", 4))
		s.want("guest", query, nil, answer(1, 2, `{"title":"issue 2"}`, `"userDiscussionsCount":2,"userNotesCount":3`, "false", "2", 3))
		s.want("stranger", query, nil, `{"data":{"project":null}}`)

		const list = `{ project(fullPath: "team/app") { issues { weight nodes { blocked blockedByCount blockedByIssues { weight nodes { title } } commenters { count nodes { username } } participants { count nodes { username } }
			userDiscussionsCount userPermissions { updateIssue createNote } relatedMergeRequests { nodes { title } } } } } }`
		few := s.statements("dev", list, nil)
		for i := range 6 {
			s.rest("dev", "POST", "/projects/team%2Fapp/issues", fmt.Sprintf(`{"title":"more %d"}`, i))
			s.rest("dev", "POST", fmt.Sprintf("/projects/team%%2Fapp/issues/%d/links", i+5), fmt.Sprintf(`{"target_project_id":%v,"target_issue_iid":3,"link_type":"blocks"}`, app["id"]))
			s.rest("guest", "POST", fmt.Sprintf("/projects/team%%2Fapp/issues/%d/notes", i+5), `{"body":"mine"}`)
		}
		if many := s.statements("dev", list, nil); many > few {
			t.Errorf("%d statements for ten issues, %d for four", many, few)
		}

		// An issue is hidden as long as its author is banned.
		s.rest("guest", "POST", "/projects/team%2Flib/issues", `{"title":"spam"}`)
		const banned = `{ project(fullPath: "team/lib") { issue(iid: "2") { hidden } } }`
		s.want("owner", banned, nil, `{"data":{"project":{"issue":{"hidden":false}}}}`)
		s.rest("root", "POST", fmt.Sprintf("/users/%d/ban", s.ids["guest"]), "")
		s.want("owner", banned, nil, `{"data":{"project":{"issue":{"hidden":true}}}}`)
		s.rest("root", "POST", fmt.Sprintf("/users/%d/unban", s.ids["guest"]), "")
		s.want("owner", banned, nil, `{"data":{"project":{"issue":{"hidden":false}}}}`)
	})
}

// TestEpics_tree asks for the issues, ancestors and people of epics, and moves what is in them.
func TestEpics_tree(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.team(3)
		ids := map[string]any{}
		epic := func(title, extra string) {
			made := s.rest("owner", "POST", "/groups/team/epics", fmt.Sprintf(`{"title":%q%s}`, title, extra))
			ids[title] = fmt.Sprintf("gid://gitlab/Epic/%v", made["id"])
			ids[title+" number"] = made["id"]
		}
		epic("Top", "")
		epic("Middle", fmt.Sprintf(`,"parent_id":%v`, ids["Top number"]))
		epic("Low", fmt.Sprintf(`,"parent_id":%v`, ids["Middle number"]))
		s.rest("owner", "PUT", "/projects/team%2Fapp/issues/2", `{"confidential":true,"weight":4}`)
		for i := range 3 {
			s.data("owner", fmt.Sprintf(`mutation { epicAddIssue(input: {groupPath: "team", iid: "3", projectPath: "team/app", issueIid: "%d"}) { errors epicIssue { title epicIssueId } } }`, i+1), nil)
		}
		s.rest("guest", "POST", fmt.Sprintf("/groups/team/epics/%v/notes", ids["Low number"]), `{"body":"*mine*"}`)
		s.rest("owner", "POST", fmt.Sprintf("/groups/team/epics/%v/notes", ids["Low number"]), `{"body":"among us","internal":true}`)
		s.rest("owner", "POST", "/groups/team/epics/3/related_epics", `{"target_group_id":"team","target_epic_iid":1,"link_type":"is_blocked_by"}`)
		const query = `{ group(fullPath: "team") { epic(iid: "3") { blocked blockedByCount blockingCount blockedByEpics { nodes { title } } ancestors(sort: CREATED_AT_ASC) { count nodes { title } } commenters { nodes { username } }
			notes(filter: ONLY_COMMENTS) { nodes { bodyHtml author { username } } } userNotesCount userDiscussionsCount issues { count weight nodes { title epic { title } reference(full: true) } } userPermissions { adminEpic createEpic createNote destroyEpic readEpic updateEpic } } } }`
		answer := func(notes, said, issues, may string) string {
			return `{"data":{"group":{"epic":{"blocked":true,"blockedByCount":1,"blockingCount":0,"blockedByEpics":{"nodes":[{"title":"Top"}]},"ancestors":{"count":2,"nodes":[{"title":"Top"},{"title":"Middle"}]},` + notes + `,` + said +
				`,"issues":{` + issues + `},"userPermissions":{` + may + `}}}}}`
		}
		got := s.ask("guest", query, nil)
		want := answer(`"commenters":{"nodes":[{"username":"guest"}]},"notes":{"nodes":[{"bodyHtml":"<p dir=\"auto\"><em>mine</em></p>\n","author":{"username":"guest"}}]}`, `"userNotesCount":1,"userDiscussionsCount":1`,
			`"count":2,"weight":0,"nodes":[{"title":"issue 3","epic":{"title":"Low"},"reference":"team/app#3"},{"title":"issue 1","epic":{"title":"Low"},"reference":"team/app#1"}]`,
			`"adminEpic":false,"createEpic":false,"createNote":true,"destroyEpic":false,"readEpic":true,"updateEpic":false`)
		if got != want {
			t.Errorf("a guest:\ngot  %s\nwant %s", got, want)
		}
		if got := s.ask("owner", query, nil); !strings.Contains(got, `"count":3,"weight":4,"nodes":[{"title":"issue 3"`) || !strings.Contains(got, `"userNotesCount":2,"userDiscussionsCount":2`) || !strings.Contains(got, `"adminEpic":true`) {
			t.Errorf("the owner: got %s", got)
		}

		// Issues and children move beside others and to other parents.
		links := map[string]any{}
		for _, n := range at(s.data("owner", `{ group(fullPath: "team") { epic(iid: "3") { issues { nodes { title epicIssueId } } } } }`, nil), "group", "epic", "issues", "nodes").([]any) {
			links[at(n, "title").(string)] = at(n, "epicIssueId")
		}
		const move = `mutation($base: EpicID!, $moved: EpicTreeNodeFieldsInputType!) { epicTreeReorder(input: {baseEpicId: $base, moved: $moved}) { errors } }`
		moved := func(in variables) string { return s.ask("owner", move, variables{"base": ids["Low"], "moved": in}) }
		const done = `{"data":{"epicTreeReorder":{"errors":[]}}}`
		for _, in := range []variables{
			{"id": links["issue 1"], "adjacentReferenceId": links["issue 3"], "relativePosition": "before"},
			{"id": links["issue 2"], "newParentId": ids["Middle"]},
			{"id": ids["Low"], "newParentId": ids["Top"]},
			{"id": ids["Middle"], "newParentId": ids["Top"], "adjacentReferenceId": ids["Low"], "relativePosition": "after"},
		} {
			if got := moved(in); got != done {
				t.Errorf("%v: got %s", in, got)
			}
		}
		s.want("owner", `{ group(fullPath: "team") { low: epic(iid: "3") { issues { nodes { title } } parent { title } } middle: epic(iid: "2") { issues { nodes { title } } } top: epic(iid: "1") { children { nodes { title } } } } }`, nil,
			`{"data":{"group":{"low":{"issues":{"nodes":[{"title":"issue 1"},{"title":"issue 3"}]},"parent":{"title":"Top"}},"middle":{"issues":{"nodes":[{"title":"issue 2"}]}},"top":{"children":{"nodes":[{"title":"Low"},{"title":"Middle"}]}}}}}`)
		if got := moved(variables{"id": links["issue 1"], "adjacentReferenceId": ids["Top"], "relativePosition": "before"}); !strings.Contains(got, "have to be of one type") {
			t.Errorf("an issue beside an epic: got %s", got)
		}
		if got := s.ask("stranger", move, variables{"base": ids["Low"], "moved": variables{"id": links["issue 1"]}}); !strings.HasPrefix(got, refused("epicTreeReorder")) {
			t.Errorf("a stranger: got %s", got)
		}

		const list = `{ group(fullPath: "team") { epics { nodes { blocked blockingCount blockedByEpics { nodes { title } } ancestors { count nodes { title } } commenters { nodes { username } } participants { nodes { username } }
			notes { nodes { body } } userNotesCount issues { weight count nodes { title author { username } } } userPermissions { updateEpic createNote } currentUserTodos { count nodes { id } } } } } }`
		epic("Below", fmt.Sprintf(`,"parent_id":%v`, ids["Middle number"])) // one whose parent has a parent
		few := s.statements("owner", list, nil)
		for i := range 6 {
			epic(fmt.Sprint("More ", i), fmt.Sprintf(`,"parent_id":%v`, ids["Middle number"]))
			s.rest("guest", "POST", fmt.Sprintf("/groups/team/epics/%v/notes", ids[fmt.Sprint("More ", i, " number")]), `{"body":"mine"}`)
		}
		if many := s.statements("owner", list, nil); many > few {
			t.Errorf("%d statements for ten epics, %d for four", many, few)
		}
	})
}
