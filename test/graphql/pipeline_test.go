package graphql

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

const pipelineConfig = `
workflow: {rules: [{if: $CI_PIPELINE_SOURCE == "api"}]}
stages: [build, test]
build: {stage: build, script: [a], parallel: 2, tags: [big]}
lint: {stage: test, script: [a], when: manual, needs: [], allow_failure: true}
unit: {stage: test, script: [a], needs: ["build 1/2"]}
later: {stage: test, script: [a], when: delayed, start_in: 1 day, needs: []}
`

// withPipelines makes a project whose pipelines are read by the public.
func (s *server) withPipelines() {
	s.t.Helper()
	s.user("stranger")
	s.user("dev")
	s.rest("root", "POST", "/projects", `{"name":"app","path":"app","visibility":"public","initialize_with_readme":true}`)
	s.rest("root", "POST", "/projects/root%2Fapp/members", fmt.Sprintf(`{"user_id":%d,"access_level":30}`, s.ids["dev"]))
	s.rest("root", "DELETE", "/projects/root%2Fapp/protected_branches/main", "")
	content, err := json.Marshal(pipelineConfig)
	if err != nil {
		s.t.Fatal(err)
	}
	s.rest("root", "POST", "/projects/root%2Fapp/repository/commits", fmt.Sprintf(`{"branch":"main","commit_message":"ci","actions":[{"action":"create","file_path":".gitlab-ci.yml","content":%s}]}`, content))
}

func (s *server) pipeline() map[string]any {
	s.t.Helper()
	return s.rest("dev", "POST", "/projects/root%2Fapp/pipeline", `{"ref":"main"}`)
}

// TestPipelines reads pipelines with their stages, groups and jobs.
func TestPipelines(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.withPipelines()
		made := s.pipeline()
		n := id(made)
		const one = `{ project(fullPath: "root/app") { pipeline(iid: "1") { %s } } }`
		ask := func(as, fields, want string) {
			t.Helper()
			s.want(as, fmt.Sprintf(one, fields), nil, `{"data":{"project":{"pipeline":{`+want+`}}}}`)
		}
		ask("stranger", `id iid ref source status active complete cancelable retryable totalJobs usesNeeds warnings path user { username }`,
			fmt.Sprintf(`"id":"gid://gitlab/Ci::Pipeline/%d","iid":"1","ref":"main","source":"api","status":"PENDING","active":true,"complete":false,"cancelable":true,"retryable":false,"totalJobs":5,"usesNeeds":true,"warnings":false,"path":"/root/app/-/pipelines/%d","user":{"username":"dev"}`, n, n))
		ask("", `detailedStatus { id icon text label group tooltip hasDetails detailsPath favicon }`,
			fmt.Sprintf(`"detailedStatus":{"id":"pending-%d","icon":"status_pending","text":"Pending","label":"pending","group":"pending","tooltip":"pending","hasDetails":true,"detailsPath":"/root/app/-/pipelines/%d","favicon":"favicon_status_pending"}`, n, n))
		ask("", `stages { nodes { name status groups { nodes { name size jobs { count nodes { name } } } } } }`,
			`"stages":{"nodes":[{"name":"build","status":"pending","groups":{"nodes":[{"name":"build","size":2,"jobs":{"count":2,"nodes":[{"name":"build 1/2"},{"name":"build 2/2"}]}}]}},`+
				`{"name":"test","status":"scheduled","groups":{"nodes":[{"name":"later","size":1,"jobs":{"count":1,"nodes":[{"name":"later"}]}},{"name":"lint","size":1,"jobs":{"count":1,"nodes":[{"name":"lint"}]}},{"name":"unit","size":1,"jobs":{"count":1,"nodes":[{"name":"unit"}]}}]}}]}`)
		ask("", `job(name: "unit") { kind status schedulingType stage { name } needs { nodes { name } } previousStageJobsOrNeeds { nodes { __typename ... on CiBuildNeed { name } } } tags refName pipeline { iid } userPermissions { readBuild updateBuild } }`,
			`"job":{"kind":"BUILD","status":"CREATED","schedulingType":"dag","stage":{"name":"test"},"needs":{"nodes":[{"name":"build 1/2"}]},"previousStageJobsOrNeeds":{"nodes":[{"__typename":"CiBuildNeed","name":"build 1/2"}]},"tags":[],"refName":"main","pipeline":{"iid":"1"},"userPermissions":{"readBuild":true,"updateBuild":false}}`)
		ask("dev", `jobs(statuses: [PENDING], first: 1) { count nodes { name tags playable } pageInfo { hasNextPage } }`, `"jobs":{"count":2,"nodes":[{"name":"build 2/2","tags":["big"],"playable":false}],"pageInfo":{"hasNextPage":true}}`)
		ask("dev", `manual: jobs(whenExecuted: ["manual"]) { nodes { name manualJob playable } } userPermissions { adminPipeline destroyPipeline updatePipeline }`,
			`"manual":{"nodes":[{"name":"lint","manualJob":true,"playable":true}]},"userPermissions":{"adminPipeline":false,"destroyPipeline":false,"updatePipeline":true}`)
		ask("", `sourceJob { name } upstream { id } downstream { nodes { id } } jobArtifacts { name }`, `"sourceJob":null,"upstream":null,"downstream":{"nodes":[]},"jobArtifacts":[]`)
		s.want("", `{ project(fullPath: "root/app") { pipelineCounts { all pending running finished } pipelines(status: PENDING) { count } none: pipelines(ref: "x") { count } } }`, nil,
			`{"data":{"project":{"pipelineCounts":{"all":1,"pending":1,"running":0,"finished":0},"pipelines":{"count":1},"none":{"count":0}}}}`)

		const wide = `{ project(fullPath: "root/app") { pipelines(first: %d) { count nodes { detailedStatus { text } user { username } commit { title } stages { nodes { name groups { nodes { jobs { nodes { name tags needs { nodes { name } } artifacts { nodes { name } } } } } } } } downstream { nodes { id } } userPermissions { updatePipeline } } } } }`
		for range 4 {
			s.pipeline()
		}
		if few, all := s.statements("dev", fmt.Sprintf(wide, 1), nil), s.statements("dev", fmt.Sprintf(wide, 5), nil); few != all {
			t.Errorf("%d statements for one pipeline, %d for five", few, all)
		}
		const jobs = `{ project(fullPath: "root/app") { jobs(first: %d) { nodes { name stage { name } pipeline { iid } detailedStatus { text } } } } }`
		if few, all := s.statements("dev", fmt.Sprintf(jobs, 1), nil), s.statements("dev", fmt.Sprintf(jobs, 20), nil); few != all {
			t.Errorf("%d statements for one job, %d for twenty", few, all)
		}

		job := s.list("dev", fmt.Sprintf("/projects/root%%2Fapp/pipelines/%d/jobs", n))[0]
		single := fmt.Sprintf(`{ project(fullPath: "root/app") { job(id: "gid://gitlab/Ci::Build/%d") { name } } }`, id(job))
		s.want("", single, nil, fmt.Sprintf(`{"data":{"project":{"job":{"name":%q}}}}`, job["name"]))
		s.rest("root", "PUT", "/projects/root%2Fapp", `{"public_builds":false}`)
		s.want("stranger", single, nil, `{"data":{"project":{"job":null}}}`)
		s.want("stranger", fmt.Sprintf(one, "id"), nil, `{"data":{"project":{"pipeline":null}}}`)
		s.want("stranger", `{ project(fullPath: "root/app") { pipelineCounts { all } pipelines { count nodes { id } } jobs { nodes { id } } } }`, nil,
			`{"data":{"project":{"pipelineCounts":null,"pipelines":{"count":0,"nodes":[]},"jobs":{"nodes":[]}}}}`)
	})
}

// TestPipelines_change runs the mutations of pipelines and jobs, and compares them with REST by role.
func TestPipelines_change(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.withPipelines()
		s.want("dev", `mutation { pipelineCreate(input: {projectPath: "root/app", ref: "main", variables: [{key: "A", value: "b"}]}) { errors pipeline { iid user { username } } } }`, nil,
			`{"data":{"pipelineCreate":{"errors":[],"pipeline":{"iid":"1","user":{"username":"dev"}}}}}`)
		s.want("dev", `mutation { pipelineCreate(input: {projectPath: "root/app", ref: "none"}) { errors pipeline { iid } } }`, nil,
			`{"data":{"pipelineCreate":{"errors":["Reference not found"],"pipeline":null}}}`)
		n := id(s.list("dev", "/projects/root%2Fapp/pipelines")[0])
		if got := s.list("dev", fmt.Sprintf("/projects/root%%2Fapp/pipelines/%d/variables", n)); len(got) != 1 || got[0]["key"] != "A" || got[0]["value"] != "b" {
			t.Errorf("variables: got %v", got)
		}
		jobs := map[string]string{}
		for _, j := range s.list("dev", fmt.Sprintf("/projects/root%%2Fapp/pipelines/%d/jobs", n)) {
			jobs[j["name"].(string)] = fmt.Sprintf("gid://gitlab/Ci::Build/%d", id(j))
		}
		change := func(as, field, gid, fields, want string) {
			t.Helper()
			s.want(as, fmt.Sprintf(`mutation { %s(input: {id: %q}) { errors %s } }`, field, gid, fields), nil, want)
		}
		const refusal = `The resource that you are attempting to access does not exist or you don't have permission to perform this action`
		for _, as := range []string{"stranger", ""} {
			for field, gid := range map[string]string{"jobPlay": jobs["lint"], "jobRetry": jobs["lint"], "jobCancel": jobs["lint"], "jobUnschedule": jobs["later"]} {
				if got := s.ask(as, fmt.Sprintf(`mutation { %s(input: {id: %q}) { errors } }`, field, gid), nil); !strings.Contains(got, refusal) {
					t.Errorf("%s as %q: got %s", field, as, got)
				}
			}
		}
		const job = `job { name status }`
		change("dev", "jobPlay", jobs["lint"], job, `{"data":{"jobPlay":{"errors":[],"job":{"name":"lint","status":"PENDING"}}}}`)
		change("dev", "jobPlay", jobs["lint"], job, `{"data":{"jobPlay":{"errors":["Unplayable Job"],"job":null}}}`)
		change("dev", "jobCancel", jobs["lint"], job, `{"data":{"jobCancel":{"errors":[],"job":{"name":"lint","status":"CANCELED"}}}}`)
		change("dev", "jobRetry", jobs["lint"], job, `{"data":{"jobRetry":{"errors":[],"job":{"name":"lint","status":"PENDING"}}}}`)
		change("dev", "jobUnschedule", jobs["later"], job, `{"data":{"jobUnschedule":{"errors":[],"job":{"name":"later","status":"MANUAL"}}}}`)
		pipeline := fmt.Sprintf("gid://gitlab/Ci::Pipeline/%d", n)
		for _, field := range []string{"pipelineCancel", "pipelineRetry", "pipelineDestroy"} {
			if got := s.ask("stranger", fmt.Sprintf(`mutation { %s(input: {id: %q}) { errors } }`, field, pipeline), nil); !strings.Contains(got, refusal) {
				t.Errorf("%s: got %s", field, got)
			}
		}
		change("dev", "pipelineCancel", pipeline, "", `{"data":{"pipelineCancel":{"errors":[]}}}`)
		if got := s.rest("dev", "GET", fmt.Sprintf("/projects/root%%2Fapp/pipelines/%d", n), ""); got["status"] != "canceled" {
			t.Errorf("canceled: got %v", got["status"])
		}
		change("dev", "pipelineRetry", pipeline, `pipeline { iid active }`, `{"data":{"pipelineRetry":{"errors":[],"pipeline":{"iid":"1","active":true}}}}`)
		if got := s.ask("dev", fmt.Sprintf(`mutation { pipelineDestroy(input: {id: %q}) { errors } }`, pipeline), nil); !strings.Contains(got, refusal) {
			t.Errorf("pipelineDestroy of a Developer: got %s", got)
		}
		change("root", "pipelineDestroy", pipeline, "", `{"data":{"pipelineDestroy":{"errors":[]}}}`)
		if w := s.send("root", "GET", fmt.Sprintf("/api/v4/projects/root%%2Fapp/pipelines/%d", n), ""); w.Code != 404 {
			t.Errorf("deleted: got %d", w.Code)
		}
	})
}

// TestPipelines_protected changes the pipelines of a protected branch as a developer who may neither push to it nor merge into it.
func TestPipelines_protected(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.withPipelines()
		made := s.rest("root", "POST", "/projects/root%2Fapp/pipeline", `{"ref":"main"}`)
		n, sha := id(made), made["sha"].(string)
		s.rest("root", "POST", "/projects/root%2Fapp/protected_branches", `{"name":"main"}`)
		s.rest("root", "POST", "/projects/root%2Fapp/repository/branches", `{"branch":"other","ref":"main"}`)
		at := fmt.Sprintf("/api/v4/projects/root%%2Fapp/pipelines/%d", n)
		for _, call := range [][3]string{
			{"POST", at + "/cancel", ""},
			{"POST", at + "/retry", ""},
			{"PUT", at + "/metadata", `{"name":"x"}`},
			{"POST", "/api/v4/projects/root%2Fapp/statuses/" + sha, `{"state":"failed"}`},
			{"POST", "/api/v4/projects/root%2Fapp/statuses/" + sha, `{"state":"failed","ref":"main"}`},
			{"POST", "/api/v4/projects/root%2Fapp/statuses/" + sha, fmt.Sprintf(`{"state":"failed","pipeline_id":%d}`, n)},
		} {
			if w := s.send("dev", call[0], call[1], call[2]); w.Code != 403 || strings.TrimSpace(w.Body.String()) != `{"message":"403 Forbidden"}` {
				t.Errorf("%v: got %d %s", call, w.Code, w.Body)
			}
		}
		for _, field := range []string{"pipelineCancel", "pipelineRetry"} {
			got := s.ask("dev", fmt.Sprintf(`mutation { %s(input: {id: "gid://gitlab/Ci::Pipeline/%d"}) { errors } }`, field, n), nil)
			if !strings.Contains(got, "does not exist or you don't have permission to perform this action") {
				t.Errorf("%s: got %s", field, got)
			}
		}
		if got := s.rest("root", "GET", fmt.Sprintf("/projects/root%%2Fapp/pipelines/%d", n), ""); got["status"] != "pending" || got["name"] != nil {
			t.Errorf("after the developer: got %v", got)
		}
		const may = `{ project(fullPath: "root/app") { pipeline(iid: "1") { userPermissions { updatePipeline } job(name: "lint") { userPermissions { updateBuild } } } } }`
		for as, can := range map[string]bool{"dev": false, "root": true} {
			s.want(as, may, nil, fmt.Sprintf(`{"data":{"project":{"pipeline":{"userPermissions":{"updatePipeline":%v},"job":{"userPermissions":{"updateBuild":%v}}}}}}`, can, can))
		}
		s.rest("dev", "POST", "/projects/root%2Fapp/statuses/"+sha, `{"state":"success","ref":"other"}`)
		s.rest("root", "POST", fmt.Sprintf("/projects/root%%2Fapp/pipelines/%d/cancel", n), "")
	})
}
