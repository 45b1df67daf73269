package graphql

import (
	"fmt"
	"testing"
)

func TestMilestones(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		_, project := s.place()
		own := fmt.Sprintf("/projects/%d/milestones", project)
		first := id(s.rest("owner", "POST", own, `{"title":"first","description":"text","start_date":"2020-01-01","due_date":"2020-02-01"}`))
		s.rest("owner", "POST", own, `{"title":"next","start_date":"2999-01-01","due_date":"2999-02-01"}`)
		s.rest("owner", "POST", "/groups/team%2Fsub/milestones", `{"title":"open"}`)
		s.rest("owner", "PUT", fmt.Sprintf("%s/%d", own, first), `{"state_event":"close"}`)
		issues := fmt.Sprintf("/projects/%d/issues", project)
		for i := range 3 {
			made := s.rest("owner", "POST", issues, fmt.Sprintf(`{"title":"i","milestone_id":%d,"confidential":%t}`, first, i == 0))
			if i == 1 {
				s.rest("owner", "PUT", fmt.Sprintf("%s/%v", issues, made["iid"]), `{"state_event":"close"}`)
			}
		}
		s.rest("root", "POST", fmt.Sprintf("/projects/%d/members", project), fmt.Sprintf(`{"user_id":%d,"access_level":10}`, s.ids["other"]))

		const whole = `query($id: MilestoneID!) { milestone(id: $id) { id iid title description state startDate dueDate expired upcoming webPath groupMilestone projectMilestone
			subgroupMilestone project { fullPath } group { fullPath } stats { totalIssuesCount closedIssuesCount } } }`
		gid := fmt.Sprintf("gid://gitlab/Milestone/%d", first)
		answer := func(issues string) string {
			return `{"data":{"milestone":{"id":"` + gid + `","iid":"1","title":"first","description":"text","state":"closed","startDate":"2020-01-01","dueDate":"2020-02-01","expired":true,` +
				`"upcoming":false,"webPath":"/team/sub/app/-/milestones/1","groupMilestone":false,"projectMilestone":true,"subgroupMilestone":false,"project":{"fullPath":"team/sub/app"},"group":null,` +
				`"stats":{"totalIssuesCount":` + issues + `,"closedIssuesCount":1}}}}`
		}
		s.want("owner", whole, variables{"id": gid}, answer("3"))
		s.want("other", whole, variables{"id": gid}, answer("2")) // the confidential issue is not counted
		s.want("", whole, variables{"id": gid}, `{"data":{"milestone":null}}`)

		for arguments, want := range map[string]string{
			``:                                  `"first" "next"`,
			`(sort: EXPIRED_LAST_DUE_DATE_ASC)`: `"next" "first"`,
			`(sort: CREATED_DESC)`:              `"next" "first"`,
			`(includeAncestors: true)`:          `"first" "next" "open"`,
			`(state: active)`:                   `"next"`,
			`(title: "next")`:                   `"next"`,
			`(searchTitle: "IRS")`:              `"first"`,
			`(searchTitle: "text")`:             ``,
			`(ids: ["` + gid + `"])`:            `"first"`,
			`(timeframe: {start: "2020-01-15", end: "2020-03-01"})`: `"first"`,
			`(containingDate: "2999-01-20")`:                        `"next"`,
			`(first: 1)`:                                            `"first"`,
			`(last: 1)`:                                             `"next"`,
		} {
			list, _ := at(s.data("owner", inApp+`milestones`+arguments+` { nodes { title } } } }`, nil), "project", "milestones", "nodes").([]any)
			got := ""
			for i := range list {
				got += fmt.Sprintf(" %q", at(list, i, "title"))
			}
			if got != "" {
				got = got[1:]
			}
			if got != want {
				t.Errorf("milestones%s: got %s, want %s", arguments, got, want)
			}
		}
		s.want("owner", `{ group(fullPath: "team/sub") { milestones { nodes { title subgroupMilestone groupMilestone group { name } } } below: milestones(includeDescendants: true) { nodes { title } } } }`, nil,
			`{"data":{"group":{"milestones":{"nodes":[{"title":"open","subgroupMilestone":true,"groupMilestone":true,"group":{"name":"Sub"}}]},`+
				`"below":{"nodes":[{"title":"first"},{"title":"next"},{"title":"open"}]}}}}`)
		s.want("owner", inApp+`milestones(timeframe: {start: "2020-02-01", end: "2020-01-01"}) { nodes { title } } } }`, nil,
			`{"data":{"project":{"milestones":null}},"errors":[{"message":"start must be before end","locations":[{"line":1,"column":39}],"path":["project","milestones"]}]}`)

		const query = inApp + `milestones { nodes { id stats { totalIssuesCount } project { id } group { id } } } } }`
		few := s.statements("owner", query, nil)
		for i := range 20 {
			s.rest("owner", "POST", own, fmt.Sprintf(`{"title":"m %d"}`, i))
		}
		if many := s.statements("owner", query, nil); many != few {
			t.Errorf("%d statements for 22 milestones, %d for two", many, few)
		}
	})
}
