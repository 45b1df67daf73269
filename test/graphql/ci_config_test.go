package graphql

import (
	"strings"
	"testing"
)

// TestCIConfig checks configurations as each role.
func TestCIConfig(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.withPipelines()
		const query = `query($content: String!, $dry: Boolean, $sha: String) { ciConfig(projectPath: "root/app", content: $content, dryRun: $dry, sha: $sha) { status errors warnings includes { type location } stages { nodes { name groups { nodes { name size jobs { nodes { name stage groupName script tags when allowFailure environment only { refs } except { refs } needs { nodes { name } } } } } } } } } }`
		const config = `
stages: [one, two]
b: {stage: two, script: [make], needs: ["a 1/2"], when: manual, allow_failure: true, environment: prod}
a: {stage: one, script: [echo, ls], parallel: 2, tags: [big]}
`
		job := func(name string) string {
			return `{"name":"` + name + `","stage":"one","groupName":"a","script":["echo","ls"],"tags":["big"],"when":"on_success","allowFailure":false,"environment":null,"only":{"refs":["branches","tags"]},"except":null,"needs":{"nodes":[]}}`
		}
		valid := `{"data":{"ciConfig":{"status":"VALID","errors":[],"warnings":[],"includes":[],"stages":{"nodes":[` +
			`{"name":"one","groups":{"nodes":[{"name":"a","size":2,"jobs":{"nodes":[` + job("a 1/2") + `,` + job("a 2/2") + `]}}]}},` +
			`{"name":"two","groups":{"nodes":[{"name":"b","size":1,"jobs":{"nodes":[{"name":"b","stage":"two","groupName":"b","script":["make"],"tags":[],"when":"manual","allowFailure":true,"environment":"prod","only":{"refs":["branches","tags"]},"except":null,"needs":{"nodes":[{"name":"a 1/2"}]}}]}}]}}]}}}}`
		s.want("dev", query, variables{"content": config}, valid)
		s.want("dev", query, variables{"content": config, "dry": true}, valid)
		head := s.rest("dev", "GET", "/projects/root%2Fapp/repository/commits/main", "")["id"].(string)
		if got := s.ask("dev", query, variables{"content": "include: .gitlab-ci.yml", "sha": head}); !strings.Contains(got, `"includes":[{"type":"local","location":".gitlab-ci.yml"}]`) {
			t.Errorf("with an included file: got %s", got)
		}
		s.want("dev", query, variables{"content": "a: {stage: none, script: [x]}"}, `{"data":{"ciConfig":{"status":"INVALID","errors":["a job: chosen stage none does not exist; available stages are .pre, build, test, deploy, .post"],"warnings":[],"includes":[],"stages":{"nodes":[]}}}}`)
		const refusal = `The resource that you are attempting to access does not exist or you don't have permission to perform this action`
		for _, as := range []string{"", "stranger"} {
			if got := s.ask(as, query, variables{"content": config}); !strings.Contains(got, refusal) || !strings.Contains(got, `"ciConfig":null`) {
				t.Errorf("as %q: got %s", as, got)
			}
		}
		if got := s.ask("dev", query, variables{"content": config, "sha": strings.Repeat("1", 40)}); !strings.Contains(got, refusal) {
			t.Errorf("at a commit that there is not: got %s", got)
		}

		s.rest("root", "POST", "/projects/root%2Fapp/repository/commits", `{"branch":"vars","start_branch":"main","commit_message":"ci","actions":[{"action":"update","file_path":".gitlab-ci.yml","content":"variables: {A: {value: one, description: which, options: [one, two]}, B: plain}\nx: {script: [a]}"}]}`)
		const lint = `mutation($content: String!, $dry: Boolean) { ciLint(input: {projectPath: "root/app", content: $content, dryRun: $dry, clientMutationId: "1"}) { clientMutationId errors config { status errors warnings includes { type } mergedYaml stages { name groups { name size jobs { name stage groupName script when only { refs } } } } } } }`
		s.want("dev", lint, variables{"content": "t 1/2: {stage: test, script: [x]}\nt 2/2: {stage: test, script: [z]}"},
			`{"data":{"ciLint":{"clientMutationId":"1","errors":[],"config":{"status":"VALID","errors":[],"warnings":[],"includes":[],"mergedYaml":"---\nt 1/2:\n  stage: test\n  script:\n  - x\nt 2/2:\n  stage: test\n  script:\n  - z\n","stages":[`+
				`{"name":"test","groups":[{"name":"t","size":2,"jobs":[{"name":"t 1/2","stage":"test","groupName":"t","script":["x"],"when":"on_success","only":{"refs":["branches","tags"]}},{"name":"t 2/2","stage":"test","groupName":"t","script":["z"],"when":"on_success","only":{"refs":["branches","tags"]}}]}]}]}}}}`)
		s.want("dev", lint, variables{"content": "a: 1", "dry": true}, `{"data":{"ciLint":{"clientMutationId":"1","errors":[],"config":{"status":"INVALID","errors":["jobs a config should implement the script:, run:, or trigger: keyword"],"warnings":[],"includes":[],"mergedYaml":"---\na: 1\n","stages":[]}}}}`)
		if got := s.ask("stranger", lint, variables{"content": "a: {script: [x]}"}); !strings.Contains(got, `"ciLint":null`) {
			t.Errorf("a stranger lints: %s", got)
		}

		const declared = `{ project(fullPath: "root/app") { ciConfigVariables(ref: %q) { key value description valueOptions } } }`
		s.want("dev", strings.Replace(declared, "%q", `"vars"`, 1), nil, `{"data":{"project":{"ciConfigVariables":[{"key":"A","value":"one","description":"which","valueOptions":["one","two"]},{"key":"B","value":"plain","description":null,"valueOptions":[]}]}}}`)
		s.want("stranger", strings.Replace(declared, "%q", `"vars"`, 1), nil, `{"data":{"project":{"ciConfigVariables":[]}}}`)
		s.want("dev", strings.Replace(declared, "%q", `"none"`, 1), nil, `{"data":{"project":{"ciConfigVariables":[]}}}`)
	})
}
