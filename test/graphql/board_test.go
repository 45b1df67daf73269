package graphql

import (
	"fmt"
	"strings"
	"testing"
)

// columns returns a board as text: the titles of its lists with the titles of their issues.
func (s *server) columns(as, board string) string {
	s.t.Helper()
	var out []string
	lists := at(s.data(as, `query($id: BoardID!) { project(fullPath: "team/app") { board(id: $id) { lists { nodes { title issues { nodes { title } } } } } } }`,
		variables{"id": board}), "project", "board", "lists", "nodes").([]any)
	for _, l := range lists {
		var issues []string
		for _, i := range at(l, "issues", "nodes").([]any) {
			issues = append(issues, at(i, "title").(string))
		}
		out = append(out, fmt.Sprintf("%s: %s", at(l, "title"), strings.Join(issues, ", ")))
	}
	return strings.Join(out, "\n")
}

// TestBoards makes a board with lists of all kinds, and drags an issue through them.
func TestBoards(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.team(3)
		label := at(s.data("owner", `mutation { labelCreate(input: {projectPath: "team/app", title: "doing", color: "#00ff00"}) { label { id } } }`, nil), "labelCreate", "label", "id")
		milestone := fmt.Sprintf("gid://gitlab/Milestone/%d", id(s.rest("owner", "POST", "/projects/team%2Fapp/milestones", `{"title":"soon"}`)))
		board := at(s.data("owner", `mutation { createBoard(input: {projectPath: "team/app", name: "work", weight: 5}) { errors board { id weight } } }`, nil), "createBoard", "board", "id").(string)
		update := func(input variables, want string) {
			t.Helper()
			input["id"] = board
			s.want("owner", `mutation($in: UpdateBoardInput!) { updateBoard(input: $in) { errors board { name weight labels { nodes { title } } milestone { title } assignee { username } } } }`, variables{"in": input},
				`{"data":{"updateBoard":{"errors":[],"board":`+want+`}}}`)
		}
		user := fmt.Sprintf("gid://gitlab/User/%d", s.ids["dev"])
		update(variables{"labels": []string{"bug"}, "milestoneId": milestone, "assigneeId": user},
			`{"name":"work","weight":5,"labels":{"nodes":[{"title":"bug"}]},"milestone":{"title":"soon"},"assignee":{"username":"dev"}}`)
		if got := s.columns("guest", board); got != "Open: \nClosed: " {
			t.Errorf("with a scope: got %s", got)
		}
		update(variables{"labelIds": []string{}, "milestoneId": nil, "assigneeId": nil, "weight": nil, "name": "all"}, `{"name":"all","weight":null,"labels":{"nodes":[]},"milestone":null,"assignee":null}`)

		var lists []string
		for _, of := range []variables{{"labelId": label}, {"milestoneId": milestone}, {"assigneeId": user}} {
			of["boardId"] = board
			made := s.data("owner", `mutation($in: BoardListCreateInput!) { boardListCreate(input: $in) { errors list { id } } }`, variables{"in": of})
			lists = append(lists, at(made, "boardListCreate", "list", "id").(string))
		}
		s.rest("dev", "PUT", "/projects/team%2Fapp/issues/1", `{"assignee_ids":[]}`)
		if got, want := s.columns("dev", board), "Open: issue 1\ndoing: \nsoon: \n@dev: issue 2, issue 3\nClosed: "; got != want {
			t.Fatalf("got %s\nwant %s", got, want)
		}
		open, closed := strings.Replace(board, "Board/", "List/backlog-", 1), strings.Replace(board, "Board/", "List/closed-", 1)
		const drag = `mutation($in: IssueMoveListInput!) { issueMoveList(input: $in) { errors issue { state labels { nodes { title } } milestone { title } assignees { nodes { username } } } } }`
		for _, step := range []struct {
			from, to string
			more     variables
			want     string
		}{
			{open, lists[0], nil, "Open: \ndoing: issue 1\nsoon: \n@dev: issue 2, issue 3\nClosed: "},
			{lists[0], lists[1], nil, "Open: \ndoing: issue 1\nsoon: issue 1\n@dev: issue 2, issue 3\nClosed: "},
			{lists[0], open, nil, "Open: \ndoing: \nsoon: issue 1\n@dev: issue 2, issue 3\nClosed: "},
			{lists[1], open, nil, "Open: issue 1\ndoing: \nsoon: \n@dev: issue 2, issue 3\nClosed: "},
			{open, lists[2], variables{"positionInList": -1}, "Open: \ndoing: \nsoon: \n@dev: issue 2, issue 3, issue 1\nClosed: "},
			{lists[2], lists[2], variables{"positionInList": 0}, "Open: \ndoing: \nsoon: \n@dev: issue 1, issue 2, issue 3\nClosed: "},
			{lists[2], lists[2], variables{"positionInList": 1}, "Open: \ndoing: \nsoon: \n@dev: issue 2, issue 1, issue 3\nClosed: "},
			{"", "", variables{"moveBeforeId": "issue 3"}, "Open: \ndoing: \nsoon: \n@dev: issue 2, issue 3, issue 1\nClosed: "},
			{"", "", variables{"moveAfterId": "issue 2"}, "Open: \ndoing: \nsoon: \n@dev: issue 1, issue 2, issue 3\nClosed: "},
			{lists[2], closed, nil, "Open: \ndoing: \nsoon: \n@dev: issue 2, issue 3\nClosed: issue 1"},
			{closed, lists[0], nil, "Open: \ndoing: issue 1\nsoon: \n@dev: issue 1, issue 2, issue 3\nClosed: "},
		} {
			in := variables{"projectPath": "team/app", "iid": "1", "boardId": board, "fromListId": step.from, "toListId": step.to}
			for k, v := range step.more {
				if title, ok := v.(string); ok {
					iid := strings.TrimPrefix(title, "issue ")
					v = at(s.data("dev", `query($i: String!) { project(fullPath: "team/app") { issue(iid: $i) { id } } }`, variables{"i": iid}), "project", "issue", "id")
				}
				in[k] = v
			}
			s.data("dev", drag, variables{"in": in})
			if got := s.columns("dev", board); got != step.want {
				t.Fatalf("%v:\ngot  %s\nwant %s", in, got, step.want)
			}
		}
		s.want("dev", drag, variables{"in": variables{"projectPath": "team/app", "iid": "1", "boardId": board}},
			`{"data":{"issueMoveList":{"errors":["At least one of the arguments fromListId, toListId, afterId or beforeId is required"],"issue":null}}}`)
		for _, as := range []string{"guest", "stranger", ""} {
			if got := s.ask(as, drag, variables{"in": variables{"projectPath": "team/app", "iid": "2", "boardId": board, "fromListId": lists[2], "toListId": lists[0]}}); !strings.HasPrefix(got, refused("issueMoveList")) {
				t.Errorf("%q drags: got %s", as, got)
			}
		}
		s.boardLists(board, lists)
	})
}

// boardLists changes the lists of a board, and removes them.
func (s *server) boardLists(board string, lists []string) {
	s.t.Helper()
	const limits = `mutation($l: ListID!) { boardListUpdateLimitMetrics(input: {listId: $l, limitMetric: issue_count, maxIssueCount: 3}) { errors list { limitMetric maxIssueCount maxIssueWeight } } }`
	s.want("owner", limits, variables{"l": lists[0]}, `{"data":{"boardListUpdateLimitMetrics":{"errors":[],"list":{"limitMetric":"issue_count","maxIssueCount":3,"maxIssueWeight":0}}}}`)
	const move = `mutation($l: ListID!) { updateBoardList(input: {listId: $l, position: 2}) { errors list { position listType } } }`
	s.want("owner", move, variables{"l": lists[0]}, `{"data":{"updateBoardList":{"errors":[],"list":{"position":2,"listType":"label"}}}}`)
	s.rest("dev", "PUT", "/projects/team%2Fapp/issues/2", `{"weight":4}`)
	const one = `query($l: ListID!) { boardList(id: $l, issueFilters: {assigneeUsername: ["dev"], not: {labelName: ["doing"]}}) { title issuesCount totalIssueWeight assignee { username } label { title } issues { count weight nodes { title } } } }`
	s.want("guest", one, variables{"l": lists[2]},
		`{"data":{"boardList":{"title":"@dev","issuesCount":2,"totalIssueWeight":"4","assignee":{"username":"dev"},"label":null,"issues":{"count":2,"weight":4,"nodes":[{"title":"issue 2"},{"title":"issue 3"}]}}}}`)
	s.want("stranger", one, variables{"l": lists[2]}, `{"data":{"boardList":null}}`)
	s.want("", one, variables{"l": strings.Replace(board, "Board/", "List/closed-", 1)}, `{"data":{"boardList":null}}`)
	const remove = `mutation($l: ListID!) { destroyBoardList(input: {listId: $l}) { errors list { id } } }`
	if got := s.ask("dev", remove, variables{"l": strings.Replace(board, "Board/", "List/closed-", 1)}); !strings.HasPrefix(got, refused("destroyBoardList")) {
		s.t.Errorf("the list of closed issues: got %s", got)
	}
	s.want("owner", remove, variables{"l": lists[2]}, `{"data":{"destroyBoardList":{"errors":[],"list":null}}}`)
	s.data("owner", `mutation($b: BoardID!) { updateBoard(input: {id: $b, hideBacklogList: true, hideClosedList: true}) { errors } }`, variables{"b": board})
	if got := s.columns("dev", board); got != "soon: \ndoing: issue 1" {
		s.t.Errorf("without hidden lists: got %s", got)
	}
	s.want("owner", `mutation($b: BoardID!) { destroyBoard(input: {id: $b}) { errors board { id } } }`, variables{"b": board}, `{"data":{"destroyBoard":{"errors":[],"board":null}}}`)
	s.want("owner", `query($b: BoardID!) { project(fullPath: "team/app") { board(id: $b) { id } boards { nodes { name } } } }`, variables{"b": board}, `{"data":{"project":{"board":null,"boards":{"nodes":[]}}}}`)
}

// TestBoards_statements counts the statements of the boards of a group with one list each, and with
// more lists and issues.
func TestBoards_statements(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.team(3)
		s.rest("dev", "PUT", "/projects/team%2Fapp/issues/1", `{"state_event":"close"}`) // a list of one issue, whose labels take a statement less, and one of several
		s.rest("owner", "POST", "/groups/team/boards", `{"name":"one"}`)
		const query = `{ group(fullPath: "team") { boards { nodes { name webPath labels { nodes { title } } lists { nodes { title issuesCount totalIssueWeight label { title } issues { count nodes { title labels { nodes { title } } } } } } } } } }`
		few := s.statements("guest", query, nil)
		for i := range 3 {
			label := id(s.rest("owner", "POST", "/groups/team/labels", fmt.Sprintf(`{"name":"label %d","color":"#ff0000"}`, i)))
			s.rest("owner", "POST", "/groups/team/boards/1/lists", fmt.Sprintf(`{"label_id":%d}`, label))
			s.rest("dev", "POST", "/projects/team%2Fapp/issues", fmt.Sprintf(`{"title":"more","labels":"label %d"}`, i))
		}
		s.rest("owner", "POST", "/groups/team/boards", `{"name":"two"}`)
		if many := s.statements("guest", query, nil); many > few+1 { // one for the labels that lists are of
			t.Errorf("%d statements for two boards with five lists, %d for one with two", many, few)
		}
		if got := s.ask("guest", query, nil); !strings.Contains(got, `"webPath":"/groups/team/-/boards/`) || !strings.Contains(got, `{"title":"label 2","issuesCount":1,`) {
			t.Errorf("got %s", got)
		}
	})
}
