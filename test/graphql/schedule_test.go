package graphql

import (
	"fmt"
	"strings"
	"testing"
)

// TestSchedules makes, reads and changes pipeline schedules, and compares who may with REST.
func TestSchedules(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.withPipelines()
		s.user("keeper")
		s.rest("root", "POST", "/projects/root%2Fapp/members", fmt.Sprintf(`{"user_id":%d,"access_level":40}`, s.ids["keeper"]))
		const create = `mutation { pipelineScheduleCreate(input: {projectPath: "root/app", description: %q, cron: %q, cronTimezone: "Europe/Vienna", ref: "main", variables: [{key: "A", value: "one", variableType: ENV_VAR}, {key: "B", value: "two", variableType: FILE}]}) { errors pipelineSchedule { description active owner { username } variables { nodes { key value variableType raw } } } } }`
		s.want("dev", fmt.Sprintf(create, "nightly", "0 4 * * *"), nil, `{"data":{"pipelineScheduleCreate":{"errors":[],"pipelineSchedule":{"description":"nightly","active":true,"owner":{"username":"dev"},"variables":{"nodes":[{"key":"A","value":"one","variableType":"ENV_VAR","raw":false},{"key":"B","value":"two","variableType":"FILE","raw":false}]}}}}}`)
		s.want("dev", fmt.Sprintf(create, "wrong", "every day"), nil, `{"data":{"pipelineScheduleCreate":{"errors":["Cron syntax is invalid"],"pipelineSchedule":null}}}`)
		const refusal = `The resource that you are attempting to access does not exist or you don't have permission to perform this action`
		if got := s.ask("stranger", fmt.Sprintf(create, "mine", "0 4 * * *"), nil); !strings.Contains(got, refusal) {
			t.Errorf("create as a stranger: got %s", got)
		}
		made := s.list("root", "/projects/root%2Fapp/pipeline_schedules")
		if len(made) != 1 {
			t.Fatalf("got %v, want one schedule", made)
		}
		gid := fmt.Sprintf("gid://gitlab/Ci::PipelineSchedule/%d", id(made[0]))
		const one = `{ project(fullPath: "root/app") { pipelineSchedules { count nodes { id cron cronTimezone ref refForDisplay refPath forTag lastPipeline { iid } userPermissions { adminPipelineSchedule playPipelineSchedule takeOwnershipPipelineSchedule updatePipelineSchedule } variables { nodes { key } } project { fullPath } } } } }`
		for as, want := range map[string]string{
			"stranger": `"adminPipelineSchedule":false,"playPipelineSchedule":false,"takeOwnershipPipelineSchedule":false,"updatePipelineSchedule":false},"variables":{"nodes":[]}`,
			"dev":      `"adminPipelineSchedule":true,"playPipelineSchedule":true,"takeOwnershipPipelineSchedule":false,"updatePipelineSchedule":true},"variables":{"nodes":[{"key":"A"},{"key":"B"}]}`,
			"keeper":   `"adminPipelineSchedule":true,"playPipelineSchedule":true,"takeOwnershipPipelineSchedule":true,"updatePipelineSchedule":false},"variables":{"nodes":[]}`,
		} {
			s.want(as, one, nil, `{"data":{"project":{"pipelineSchedules":{"count":1,"nodes":[{"id":"`+gid+`","cron":"0 4 * * *","cronTimezone":"Europe/Vienna","ref":"main","refForDisplay":"main","refPath":"/root/app/-/commits/main","forTag":false,"lastPipeline":null,"userPermissions":{`+want+`,"project":{"fullPath":"root/app"}}]}}}}`)
		}
		s.want("", one, nil, `{"data":{"project":{"pipelineSchedules":{"count":0,"nodes":[]}}}}`)
		s.want("dev", fmt.Sprintf(`{ project(fullPath: "root/app") { pipelineSchedules(status: ACTIVE, ids: [%q]) { count } none: pipelineSchedules(status: INACTIVE) { count } other: pipelineSchedules(ids: []) { count } } }`, gid), nil,
			`{"data":{"project":{"pipelineSchedules":{"count":1},"none":{"count":0},"other":{"count":1}}}}`)

		for _, field := range []string{"pipelineScheduleDelete", "pipelineSchedulePlay", "pipelineScheduleTakeOwnership", "pipelineScheduleUpdate"} {
			for _, as := range []string{"", "stranger"} {
				if got := s.ask(as, fmt.Sprintf(`mutation { %s(input: {id: %q}) { errors } }`, field, gid), nil); !strings.Contains(got, refusal) {
					t.Errorf("%s as %q: got %s", field, as, got)
				}
			}
		}
		update := fmt.Sprintf(`mutation { pipelineScheduleUpdate(input: {id: %q, active: false, cron: "5 5 * * *", variables: [{key: "A", value: "three", variableType: FILE}, {key: "B", value: "", variableType: FILE, destroy: true}, {key: "C", value: "new", variableType: ENV_VAR}]}) { errors pipelineSchedule { active cron description variables { nodes { key value variableType } } } } }`, gid)
		if got := s.ask("keeper", update, nil); !strings.Contains(got, refusal) {
			t.Errorf("update as another Maintainer: got %s", got)
		}
		s.want("dev", update, nil, `{"data":{"pipelineScheduleUpdate":{"errors":[],"pipelineSchedule":{"active":false,"cron":"5 5 * * *","description":"nightly","variables":{"nodes":[{"key":"A","value":"three","variableType":"FILE"},{"key":"C","value":"new","variableType":"ENV_VAR"}]}}}}}`)
		broken := strings.NewReplacer(`, destroy: true`, "", `key: "C"`, `key: "1 2"`, `"three"`, `"four"`).Replace(update)
		if got := s.ask("dev", broken, nil); !strings.Contains(got, `"errors":["`) || !strings.Contains(got, `"pipelineSchedule":null`) {
			t.Errorf("update with a broken key: got %s", got)
		}
		if got := s.rest("dev", "GET", fmt.Sprintf("/projects/root%%2Fapp/pipeline_schedules/%d/variables/A", id(made[0])), ""); got["value"] != "three" {
			t.Errorf("a part of what was refused was kept: got %v", got)
		}
		// Below the role that the project asks for variables they can be deleted, and not set.
		s.rest("root", "PUT", "/projects/root%2Fapp", `{"restrict_user_defined_variables":true,"ci_pipeline_variables_minimum_override_role":"maintainer"}`)
		edit := func(variable string) string {
			return s.ask("dev", fmt.Sprintf(`mutation { pipelineScheduleUpdate(input: {id: %q, variables: [{key: "C", value: "", variableType: ENV_VAR%s}]}) { errors } }`, gid, variable), nil)
		}
		if got := edit(""); !strings.Contains(got, refusal) {
			t.Errorf("set below the role: got %s", got)
		}
		if got := edit(", destroy: true"); got != `{"data":{"pipelineScheduleUpdate":{"errors":[]}}}` {
			t.Errorf("deleted below the role: got %s", got)
		}
		s.rest("root", "PUT", "/projects/root%2Fapp", `{"restrict_user_defined_variables":false}`)
		take := fmt.Sprintf(`mutation { pipelineScheduleTakeOwnership(input: {id: %q}) { errors pipelineSchedule { owner { username } } } }`, gid)
		if got := s.ask("dev", take, nil); !strings.Contains(got, refusal) {
			t.Errorf("taken by a Developer: got %s", got)
		}
		s.want("keeper", take, nil, `{"data":{"pipelineScheduleTakeOwnership":{"errors":[],"pipelineSchedule":{"owner":{"username":"keeper"}}}}}`)
		s.want("dev", fmt.Sprintf(`mutation { pipelineSchedulePlay(input: {id: %q}) { errors pipelineSchedule { id } } }`, gid), nil, `{"data":{"pipelineSchedulePlay":{"errors":[],"pipelineSchedule":{"id":"`+gid+`"}}}}`)

		for i := range 9 {
			s.rest("dev", "POST", "/projects/root%2Fapp/pipeline_schedules", fmt.Sprintf(`{"description":"more %d","cron":"0 4 * * *","ref":"main"}`, i))
		}
		const wide = `{ project(fullPath: "root/app") { pipelineSchedules(first: %d) { count nodes { owner { username } lastPipeline { iid } variables { nodes { key } } userPermissions { playPipelineSchedule } } } } }`
		if few, all := s.statements("dev", fmt.Sprintf(wide, 2), nil), s.statements("dev", fmt.Sprintf(wide, 10), nil); few != all {
			t.Errorf("%d statements for two schedules, %d for ten", few, all)
		}
		if got := s.ask("dev", fmt.Sprintf(`mutation { pipelineScheduleDelete(input: {id: %q}) { errors } }`, gid), nil); !strings.Contains(got, refusal) {
			t.Errorf("delete as a Developer who does not own it: got %s", got)
		}
		s.want("keeper", fmt.Sprintf(`mutation { pipelineScheduleDelete(input: {id: %q}) { errors } }`, gid), nil, `{"data":{"pipelineScheduleDelete":{"errors":[]}}}`)
		s.rest("root", "PUT", "/projects/root%2Fapp", `{"public_builds":false}`)
		s.want("stranger", `{ project(fullPath: "root/app") { pipelineSchedules { count nodes { id } } } }`, nil, `{"data":{"project":{"pipelineSchedules":{"count":0,"nodes":[]}}}}`)
	})
}
