package app

import (
	"net/http"
	"strings"
	"testing"
)

// expectGraphQL returns what asks a query as a user and expects parts of the answer.
func (s *server) expectGraphQL(t *testing.T) func(as, query string, wants ...string) {
	return func(as, query string, wants ...string) {
		t.Helper()
		got := s.send(t.Context(), request{as: as, method: http.MethodPost, path: "/api/graphql", whole: true, body: obj{"query": query}}).Body.String()
		for _, want := range wants {
			if !strings.Contains(got, want) {
				t.Errorf("%s as %s: got %s, want %s", query, as, got, want)
			}
		}
	}
}

// TestGraphQL_delivery makes an environment and a release by mutations, deploys, and reads all of it with the figures of the group as those who
// may and those who may not.
func TestGraphQL_delivery(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		for _, name := range []string{"mona", "gus", "stan"} {
			s.user(name, nil)
		}
		g := s.do("mona", "POST", "/groups", obj{"name": "Works", "path": "works"})
		p := s.do("mona", "POST", "/projects", obj{"name": "Shop", "namespace_id": g["id"], "initialize_with_readme": true})
		s.do("mona", "POST", "/projects", obj{"name": "Empty", "namespace_id": g["id"]})
		at := "/projects/" + number(p, "id")
		s.do("mona", "POST", at+"/members", obj{"user_id": s.ids["gus"], "access_level": 10})
		expect := s.expectGraphQL(t)
		expect("mona", `mutation { environmentCreate(input: {projectPath: "works/shop", name: "production", externalUrl: "javascript:alert(1)"}) { environment { id } errors } }`,
			`"environment":null`, "javascript scheme is not allowed")
		expect("mona", `mutation { environmentCreate(input: {projectPath: "works/shop", name: "production", externalUrl: "https://shop.example"}) { environment { name tier state path slug } errors } }`,
			`"name":"production","tier":"PRODUCTION","state":"available","path":"/works/shop/-/environments/1","slug":"production"`, `"errors":[]`)
		head := s.do("mona", "GET", at+"/repository/commits/main", nil)["id"]
		s.do("mona", "POST", at+"/deployments", obj{"environment": "production", "sha": head, "ref": "main", "tag": false, "status": "failed"})
		s.do("mona", "POST", at+"/deployments", obj{"environment": "production", "sha": head, "ref": "main", "tag": false, "status": "success"})
		expect("mona", `{ project(fullPath: "works/shop") {
			environments(states: ["available"]) { count nodes { name
				lastDeployment(status: SUCCESS) { iid status ref commit { title } triggerer { username } job { id } userPermissions { destroyDeployment } }
				deployments(orderBy: {finishedAt: DESC}) { nodes { iid } }
			} }
			environment(name: "production") { externalUrl deployments(statuses: [FAILED]) { nodes { iid status } } }
			none: environment(name: "other") { id }
			deployment(iid: "1") { status }
			dora { metrics(metric: DEPLOYMENT_FREQUENCY, interval: ALL) { date value } }
		} group(fullPath: "works") { dora { metrics(metric: DEPLOYMENT_FREQUENCY, interval: ALL) { value } } } }`,
			`"count":1,"nodes":[{"name":"production","lastDeployment":{"iid":"2","status":"SUCCESS","ref":"main","commit":{"title":"Initial commit"},"triggerer":{"username":"mona"},"job":null,"userPermissions":{"destroyDeployment":true}}`,
			`"deployments":{"nodes":[{"iid":"2"},{"iid":"1"}]}`, `"deployments":{"nodes":[{"iid":"1","status":"FAILED"}]}`, `"none":null`, `"deployment":{"status":"FAILED"}`,
			`"dora":{"metrics":[{"date":null,"value":1}]}`, `"dora":{"metrics":[{"value":1}]}`)
		expect("mona", `{ project(fullPath: "works/shop") { environment { id } } }`, "One of the arguments name or id is required")
		expect("mona", `{ project(fullPath: "works/shop") { dora { metrics(metric: DEPLOYMENT_FREQUENCY, startDate: "2020-01-01") { value } } } }`, "Date range must be shorter than 180 days.")
		const all = `{ project(fullPath: "works/shop") { environments { nodes { name } } dora { metrics(metric: DEPLOYMENT_FREQUENCY) { value } } } }`
		expect("gus", all, `"environments":{"nodes":[{"name":"production"}]}`, `"dora":null`)
		expect("stan", all, `"project":null`)

		expect("mona", `mutation { releaseCreate(input: {projectPath: "works/shop", tagName: "v1", ref: "main", name: "First", description: "What is *new*",
			assets: {links: [{name: "tool", url: "https://example.com/tool", directAssetPath: "/bin/tool", linkType: PACKAGE}]}}) { release { name } errors } }`, `"release":{"name":"First"},"errors":[]`)
		expect("mona", `mutation { releaseAssetLinkCreate(input: {projectPath: "works/shop", tagName: "v1", name: "bad", url: "javascript:alert(1)"}) { link { id } errors } }`, `"link":null`, "is blocked")
		s.do("mona", "POST", at+"/releases/v1/evidence", nil)
		expect("mona", `{ project(fullPath: "works/shop") { release(tagName: "v1") { tagName tagPath descriptionHtml upcomingRelease historicalRelease commit { title } author { username }
			assets { count links { nodes { id name linkType external directAssetPath directAssetUrl } } sources { nodes { format } } }
			evidences { nodes { sha filepath } } links { selfUrl openedIssuesUrl } } releases(sort: CREATED_ASC) { count } } group(fullPath: "works") { releases { nodes { name } } stats { releaseStats { releasesCount releasesPercentage } } } }`,
			`"tagName":"v1"`, "<em>new</em>", `"upcomingRelease":false,"historicalRelease":false,"commit":{"title":"Initial commit"},"author":{"username":"mona"}`,
			`"count":5,"links":{"nodes":[{"id":"gid://gitlab/Releases::Link/1","name":"tool","linkType":"PACKAGE","external":true,"directAssetPath":"/bin/tool","directAssetUrl":"`+s.baseURL+`/works/shop/-/releases/v1/downloads/bin/tool"}]}`,
			`"filepath":"`+s.baseURL+`/works/shop/-/releases/v1/evidences/1.json"`, `"selfUrl":"`+s.baseURL+`/works/shop/-/releases/v1"`, `"releases":{"count":1}`, `"releases":{"nodes":[{"name":"First"}]}`,
			`"releaseStats":{"releasesCount":1,"releasesPercentage":50}`)
		const guests = `{ project(fullPath: "works/shop") { release(tagName: "v1") { name } releases { nodes { name tagName tagPath commit { title } evidences { nodes { sha } } links { selfUrl } assets { count } } } } }`
		expect("gus", guests, `"release":null`, `"nodes":[{"name":"First","tagName":null,"tagPath":null,"commit":null,"evidences":{"nodes":[]},"links":null,"assets":{"count":1}}]`)
		expect("mona", `mutation { releaseAssetLinkUpdate(input: {id: "gid://gitlab/Releases::Link/1", name: "other", linkType: IMAGE}) { link { name linkType } errors } }`, `"link":{"name":"other","linkType":"IMAGE"}`)
		expect("gus", `mutation { releaseAssetLinkDelete(input: {id: "gid://gitlab/Releases::Link/1"}) { link { name } errors } }`, "you don't have permission")
		expect("mona", `mutation { releaseAssetLinkDelete(input: {id: "gid://gitlab/Releases::Link/1"}) { link { name } errors } }`, `"link":{"name":"other"}`)
		expect("mona", `mutation { releaseUpdate(input: {projectPath: "works/shop", tagName: "v1", name: "Second"}) { release { name } errors } }`, `"release":{"name":"Second"}`)
		expect("mona", `mutation { releaseDelete(input: {projectPath: "works/shop", tagName: "v1"}) { release { name } errors } }`, `"release":{"name":"Second"}`)

		expect("mona", `mutation { environmentUpdate(input: {id: "gid://gitlab/Environment/1", tier: STAGING}) { environment { tier } errors } }`, `"tier":"STAGING"`)
		expect("mona", `mutation { environmentDelete(input: {id: "gid://gitlab/Environment/1"}) { errors } }`, "you don't have permission") // it is not stopped
		expect("gus", `mutation { environmentStop(input: {id: "gid://gitlab/Environment/1"}) { errors } }`, "you don't have permission")
		expect("mona", `mutation { environmentStop(input: {id: "gid://gitlab/Environment/1"}) { environment { state } errors } }`, `"state":"stopped"`)
		expect("mona", `mutation { environmentDelete(input: {id: "gid://gitlab/Environment/1"}) { errors } }`, `"errors":[]`)
	})
}
