package graphql

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestStreams_pipelines follows how a pipeline and its jobs go, and no longer than one may.
func TestStreams_pipelines(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.projectWith("app", map[string]string{".gitlab-ci.yml": notOfPushes + "stages: [one, two]\nbuild: {stage: one, script: x}\nship: {stage: two, script: x, when: manual}\n"})
		web := httptest.NewServer(s.Handler())
		t.Cleanup(web.Close)
		runner := s.rest("root", "POST", "/user/runners", `{"runner_type":"instance_type"}`)["token"].(string)
		made := s.rest("dev", "POST", "/projects/root%2Fapp/pipeline", `{"ref":"main"}`)
		jobs := map[string]string{}
		for _, j := range s.list("dev", fmt.Sprintf("/projects/root%%2Fapp/pipelines/%d/jobs", id(made))) {
			jobs[j["name"].(string)] = fmt.Sprintf("gid://gitlab/Ci::Build/%d", id(j))
		}
		pipeline := variables{"id": fmt.Sprintf("gid://gitlab/Ci::Pipeline/%d", id(made))}
		const ofPipeline = `subscription($id: CiPipelineID!) { ciPipelineStatusUpdated(pipelineId: $id) { status stages { nodes { name status } } userPermissions { updatePipeline } } }`
		const ofJob = `subscription($id: JobID!) { ciJobStatusUpdated(jobId: $id) { name status runner { runnerType } pipeline { iid } } }`

		s.token("reader", "dev", "read_api")
		member, anyone := s.follow(web, "reader", ofPipeline, pipeline), s.follow(web, "", ofPipeline, pipeline)
		build, ship := s.follow(web, "dev", ofJob, variables{"id": jobs["build"]}), s.follow(web, "stranger", ofJob, variables{"id": jobs["ship"]})
		taken := s.take(runner)
		build.want(`{"data":{"ciJobStatusUpdated":{"name":"build","status":"RUNNING","runner":{"runnerType":"INSTANCE_TYPE"},"pipeline":{"iid":"1"}}}}`)
		event := func(st *stream, status, one, two string, may bool) {
			t.Helper()
			st.want(fmt.Sprintf(`{"data":{"ciPipelineStatusUpdated":{"status":%q,"stages":{"nodes":[{"name":"one","status":%q},{"name":"two","status":%q}]},"userPermissions":{"updatePipeline":%v}}}}`, status, one, two, may))
		}
		event(member, "RUNNING", "running", "created", true)
		event(anyone, "RUNNING", "running", "created", false)
		s.send("", "PUT", fmt.Sprintf("/api/v4/jobs/%d", id(taken)), fmt.Sprintf(`{"token":%q,"state":"success"}`, taken["token"]))
		build.want(`{"data":{"ciJobStatusUpdated":{"name":"build","status":"SUCCESS","runner":{"runnerType":"INSTANCE_TYPE"},"pipeline":{"iid":"1"}}}}`)
		ship.want(`{"data":{"ciJobStatusUpdated":{"name":"ship","status":"MANUAL","runner":null,"pipeline":{"iid":"1"}}}}`)
		event(member, "SUCCESS", "success", "skipped", true)
		event(anyone, "SUCCESS", "success", "skipped", false)

		// What one may no longer read ends with the next change.
		s.rest("root", "PUT", "/projects/root%2Fapp", `{"visibility":"private"}`)
		s.rest("dev", "POST", fmt.Sprintf("/projects/root%%2Fapp/jobs/%s/play", jobs["ship"][len("gid://gitlab/Ci::Build/"):]), "{}")
		ship.want("complete")
		anyone.want("complete")
		event(member, "RUNNING", "success", "pending", true)
		for _, query := range []string{ofPipeline, ofJob} {
			v := pipeline
			if query == ofJob {
				v = variables{"id": jobs["ship"]}
			}
			for _, as := range []string{"stranger", ""} {
				st := s.follow(web, as, query, v)
				if got := st.next(); !strings.Contains(got, "does not exist or you don't have permission") || strings.Contains(got, "status") {
					t.Errorf("%q: got %s", as, got)
				}
				st.want("complete")
			}
		}

		// Streams end with the token, the account and the pipeline.
		self := s.rest("reader", "GET", "/personal_access_tokens/self", "")
		s.rest("root", "DELETE", fmt.Sprintf("/personal_access_tokens/%d", id(self)), "")
		member.want("complete")
		admin, adminJob := s.follow(web, "root", ofPipeline, pipeline), s.follow(web, "root", ofJob, variables{"id": jobs["ship"]})
		s.rest("root", "POST", fmt.Sprintf("/users/%d/block", s.ids["dev"]), "{}")
		build.want("complete")
		s.rest("root", "DELETE", fmt.Sprintf("/projects/root%%2Fapp/pipelines/%d", id(made)), "")
		admin.want("complete")
		adminJob.want("complete")
	})
}
