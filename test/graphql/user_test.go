package graphql

import (
	"fmt"
	"strings"
	"testing"
)

// TestUsers lists users in the ways of clients.
func TestUsers(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.places()
		s.user("mallory")
		s.rest("root", "POST", fmt.Sprintf("/users/%d/block", s.ids["mallory"]), "")
		names := func(as, args string) string {
			t.Helper()
			var out []string
			nodes, _ := at(s.data(as, `{ users(`+args+`) { nodes { username } } }`, nil), "users", "nodes").([]any)
			for _, n := range nodes {
				out = append(out, at(n, "username").(string))
			}
			return strings.Join(out, " ")
		}
		group := at(s.data("alice", `{ group(fullPath: "top/below") { id } }`, nil), "group", "id")
		hidden := at(s.data("carol", `{ group(fullPath: "top/hidden") { id } }`, nil), "group", "id")
		for _, c := range []struct{ as, args, want string }{
			{"alice", `usernames: ["CAROL", "bob", "mallory"]`, "carol bob"},
			{"root", `usernames: ["CAROL", "bob", "mallory"], sort: CREATED_ASC`, "bob carol mallory"},
			{"alice", fmt.Sprintf(`ids: ["gid://gitlab/User/%d"]`, s.ids["bob"]), "bob"},
			{"alice", `search: "aro"`, "carol"},
			{"root", `admins: true`, "root"},
			{"alice", fmt.Sprintf(`groupId: %q, usernames: ["alice", "bob", "carol"]`, group), "bob alice"},
			{"bob", fmt.Sprintf(`groupId: %q`, hidden), ""},
		} {
			if got := names(c.as, c.args); got != c.want {
				t.Errorf("%s: users(%s): got %q, want %q", c.as, c.args, got, c.want)
			}
		}
		if got := s.ask("", `{ users { nodes { username } } }`, nil); strings.Contains(got, "alice") {
			t.Errorf("callers who are not signed in list users: %s", got)
		}
		if got := s.ask("alice", `{ users(ids: ["gid://gitlab/Project/1"]) { nodes { username } } }`, nil); !strings.Contains(got, "does not represent an instance of User") {
			t.Errorf("the id of a project: got %s", got)
		}
	})
}

// Users say that they have no workspaces of another service, whatever type they are shown by.
func TestUsers_gitpod(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.want("root", `{ currentUser { gitpodEnabled } user(username: "root") { gitpodEnabled } users { nodes { gitpodEnabled } } }`, nil,
			`{"data":{"currentUser":{"gitpodEnabled":false},"user":{"gitpodEnabled":false},"users":{"nodes":[{"gitpodEnabled":false}]}}}`)
	})
}

// TestUser reads what belongs to users: what is private is for the user and for administrators.
func TestUser(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.places()
		s.rest("bob", "POST", "/user/emails", `{"email":"other@example.com"}`)
		for _, path := range []string{"top%2Fone", "top%2Fhidden%2Fsecret"} {
			s.rest("alice", "POST", "/projects/"+path+"/star", "")
		}
		s.rest("root", "POST", "/projects/top%2Fone/members", fmt.Sprintf(`{"user_id":%d,"access_level":30}`, s.ids["bob"]))
		s.rest("alice", "PUT", "/user/status", `{"message":"<b>busy</b>","availability":"busy"}`)
		s.want("bob", `{ currentUser { id active bot name username publicEmail groupCount namespace { fullPath } emails { nodes { email confirmedAt } } userPermissions { createSnippet } } }`, nil,
			fmt.Sprintf(`{"data":{"currentUser":{"id":"gid://gitlab/User/%d","active":true,"bot":false,"name":"bob","username":"bob","publicEmail":null,"groupCount":1,"namespace":{"fullPath":"bob"},"emails":{"nodes":[{"email":"other@example.com","confirmedAt":null}]},"userPermissions":{"createSnippet":true}}}}`, s.ids["bob"]))
		const private = `query($u: String!) { user(username: $u) { groupCount namespace { path } emails { nodes { email } } groups { nodes { fullPath } } } }`
		s.want("alice", private, variables{"u": "bob"}, `{"data":{"user":{"groupCount":null,"namespace":null,"emails":{"nodes":[]},"groups":{"nodes":[]}}}}`)
		s.want("root", private, variables{"u": "bob"}, `{"data":{"user":{"groupCount":1,"namespace":{"path":"bob"},"emails":{"nodes":[{"email":"other@example.com"}]},"groups":{"nodes":[{"fullPath":"top/below"}]}}}}`)

		const open = `query($u: String!) { user(username: $u) { groupMemberships { nodes { accessLevel { stringValue } group { fullPath } } } projectMemberships { nodes { project { fullPath } userPermissions { readProject } } } starredProjects { nodes { path } } contributedProjects { nodes { path } } status { availability messageHtml } } }`
		s.want("bob", open, variables{"u": "alice"}, `{"data":{"user":{"groupMemberships":{"nodes":[{"accessLevel":{"stringValue":"MAINTAINER"},"group":{"fullPath":"top"}}]},"projectMemberships":{"nodes":[]},"starredProjects":{"nodes":[{"path":"one"}]},"contributedProjects":{"nodes":[]},"status":{"availability":"BUSY","messageHtml":"&lt;b&gt;busy&lt;/b&gt;"}}}}`)
		if got := at(s.data("alice", open, variables{"u": "alice"}), "user", "starredProjects", "nodes"); len(got.([]any)) != 2 {
			t.Errorf("alice starred %v", got)
		}
		const places = `{ user(username: "carol") { groupMemberships { nodes { group { fullPath } } } } bob: user(username: "bob") { projectMemberships { nodes { project { fullPath } userPermissions { readProject pushCode } } } } }`
		const ofBob = `"bob":{"projectMemberships":{"nodes":[{"project":{"fullPath":"top/one"},"userPermissions":{"readProject":true,"pushCode":%t}}]}}`
		s.want("bob", places, nil, `{"data":{"user":{"groupMemberships":{"nodes":[]}},`+fmt.Sprintf(ofBob, true)+`}}`)
		s.want("carol", places, nil, `{"data":{"user":{"groupMemberships":{"nodes":[{"group":{"fullPath":"top/hidden"}}]}},`+fmt.Sprintf(ofBob, false)+`}}`)
		s.rest("carol", "PUT", "/user/preferences", `{"view_diffs_file_by_file":false,"show_whitespace_in_diffs":true}`)
		s.rest("root", "PUT", fmt.Sprintf("/users/%d", s.ids["carol"]), `{"private_profile":true}`)
		s.want("alice", `{ user(username: "carol") { groupMemberships { nodes { group { fullPath } } } } }`, nil, `{"data":{"user":{"groupMemberships":{"nodes":[]}}}}`)

		for scope, want := range map[string]string{
			"CREATE_PROJECTS":   `[{"fullPath":"top"},{"fullPath":"top/below"},{"fullPath":"top/hidden"}]`,
			"TRANSFER_PROJECTS": `[{"fullPath":"top"},{"fullPath":"top/below"},{"fullPath":"top/hidden"}]`,
		} {
			if got := s.ask("alice", `{ currentUser { groups(permissionScope: `+scope+`) { nodes { fullPath } } } }`, nil); !strings.Contains(got, `"top/hidden"`) || len(got) != len(`{"data":{"currentUser":{"groups":{"nodes":`+want+`}}}}`) {
				t.Errorf("%s: got %s", scope, got)
			}
		}
		s.want("bob", `{ currentUser { groups(permissionScope: CREATE_PROJECTS) { nodes { fullPath } } other: groups(permissionScope: TRANSFER_PROJECTS) { nodes { fullPath } } } }`, nil,
			`{"data":{"currentUser":{"groups":{"nodes":[{"fullPath":"top/below"}]},"other":{"nodes":[]}}}}`)
		s.rest("root", "PUT", "/groups/top%2Fbelow", `{"project_creation_level":"maintainer"}`)
		s.want("bob", `{ currentUser { groups(permissionScope: CREATE_PROJECTS) { nodes { fullPath } } } }`, nil, `{"data":{"currentUser":{"groups":{"nodes":[]}}}}`)

		const many = `query($u: [String!]) { users(usernames: $u) { nodes { groupCount namespace { path rootStorageStatistics { wikiSize } } emails { nodes { email } } groups { nodes { path } } groupMemberships { nodes { group { path } } } projectMemberships { nodes { project { path } userPermissions { readProject } } } starredProjects { nodes { path } } contributedProjects { nodes { path } } userPermissions { createSnippet } status { messageHtml } } } }`
		few, all := s.statements("root", many, variables{"u": []string{"bob"}}), s.statements("root", many, variables{"u": []string{"alice", "bob", "carol"}})
		if few != all {
			t.Errorf("%d statements for one user, %d for three", few, all)
		}
	})
}

// TestUser_mergeRequests reads the merge requests that users have something to do with.
func TestUser_mergeRequests(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.team(0)
		s.rest("root", "POST", "/projects", `{"name":"open","path":"open","visibility":"public","initialize_with_readme":true}`)
		s.rest("root", "POST", "/projects/root%2Fopen/members", fmt.Sprintf(`{"user_id":%d,"access_level":30}`, s.ids["dev"]))
		for _, name := range []string{"one", "two"} {
			s.branch("dev", "root%2Fopen", name)
			s.rest("dev", "POST", "/projects/root%2Fopen/merge_requests", fmt.Sprintf(`{"title":%q,"source_branch":%q,"target_branch":"main","reviewer_ids":[%d],"assignee_id":%d}`, name, name, s.ids["root"], s.ids["dev"]))
		}
		const query = `query($u: String!) { user(username: $u) { authoredMergeRequests(projectPath: "root/open", sort: CREATED_ASC) { count nodes { title } } assignedMergeRequests(sourceBranches: ["two"], authorUsername: "dev") { nodes { title } } reviewRequestedMergeRequests(state: opened) { nodes { title } } } }`
		s.want("stranger", query, variables{"u": "dev"}, `{"data":{"user":{"authoredMergeRequests":{"count":2,"nodes":[{"title":"one"},{"title":"two"}]},"assignedMergeRequests":{"nodes":[{"title":"two"}]},"reviewRequestedMergeRequests":{"nodes":[]}}}}`)
		s.want("stranger", query, variables{"u": "root"}, `{"data":{"user":{"authoredMergeRequests":{"count":0,"nodes":[]},"assignedMergeRequests":{"nodes":[]},"reviewRequestedMergeRequests":{"nodes":[{"title":"two"},{"title":"one"}]}}}}`)
		s.want("stranger", `{ user(username: "dev") { authoredMergeRequests(projectPath: "team/app") { count nodes { title } } } }`, nil, `{"data":{"user":{"authoredMergeRequests":{"count":0,"nodes":[]}}}}`)
		const many = `query($u: [String!]) { users(usernames: $u) { nodes { authoredMergeRequests { nodes { title author { username } } } assignedMergeRequests { nodes { title } } } } }`
		few, all := s.statements("root", many, variables{"u": []string{"dev"}}), s.statements("root", many, variables{"u": []string{"dev", "guest", "owner"}})
		if few != all {
			t.Errorf("%d statements for one user, %d for three", few, all)
		}
	})
}

// TestUser_preferences chooses what pages show: for the caller alone.
func TestUser_preferences(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.places()
		s.rest("alice", "POST", "/projects/top%2Fone/issues", `{"title":"By alice"}`)
		const read = `{ currentUser { userPreferences { issuesSort visibilityPipelineIdType } } }`
		const change = `mutation($in: UserPreferencesUpdateInput!) { userPreferencesUpdate(input: $in) { errors userPreferences { issuesSort visibilityPipelineIdType } } }`
		s.want("alice", read, nil, `{"data":{"currentUser":{"userPreferences":{"issuesSort":null,"visibilityPipelineIdType":"ID"}}}}`)
		for _, c := range []struct {
			in   variables
			want string
		}{
			{variables{"issuesSort": "updated_asc"}, `{"issuesSort":"UPDATED_ASC","visibilityPipelineIdType":"ID"}`},
			{variables{"visibilityPipelineIdType": "IID"}, `{"issuesSort":"UPDATED_ASC","visibilityPipelineIdType":"IID"}`},
			{variables{"issuesSort": nil}, `{"issuesSort":"UPDATED_ASC","visibilityPipelineIdType":"IID"}`},
			{variables{"issuesSort": "PRIORITY_DESC", "visibilityPipelineIdType": "ID"}, `{"issuesSort":"PRIORITY_DESC","visibilityPipelineIdType":"ID"}`},
		} {
			s.want("alice", change, variables{"in": c.in}, `{"data":{"userPreferencesUpdate":{"errors":[],"userPreferences":`+c.want+`}}}`)
			s.want("alice", read, nil, `{"data":{"currentUser":{"userPreferences":`+c.want+`}}}`)
		}
		s.want("bob", read, nil, `{"data":{"currentUser":{"userPreferences":{"issuesSort":null,"visibilityPipelineIdType":"ID"}}}}`)
		for _, as := range []string{"bob", "root", ""} {
			if got := s.ask(as, `{ project(fullPath: "top/one") { issues { nodes { author { username userPreferences { issuesSort } } } } } }`, nil); !strings.Contains(got, `"username":"alice","userPreferences":null`) {
				t.Errorf("%q reads what alice chose: %s", as, got)
			}
		}
		if got := s.ask("", change, variables{"in": variables{"issuesSort": "UPDATED_ASC"}}); !strings.Contains(got, "does not exist or you don't have permission") {
			t.Errorf("callers who are not signed in: got %s", got)
		}
		if got := s.ask("alice", change, variables{"in": variables{"issuesSort": "NO_SUCH_ASC"}}); !strings.Contains(got, "was provided invalid value") {
			t.Errorf("an order that lists do not have: got %s", got)
		}
		values, _ := at(s.data("alice", `{ __type(name: "IssueSort") { enumValues { name } } }`, nil), "__type", "enumValues").([]any)
		if len(values) < 15 {
			t.Errorf("orders of issues: got %v", values)
		}
		for _, v := range values {
			sort := at(v, "name").(string)
			got := at(s.data("alice", change, variables{"in": variables{"issuesSort": sort}}), "userPreferencesUpdate")
			if fmt.Sprint(at(got, "errors")) != "[]" || at(got, "userPreferences", "issuesSort") != strings.ToUpper(sort) {
				t.Errorf("the order %s: got %v", sort, got)
			}
		}
	})
}
