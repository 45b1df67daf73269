package graphql

import (
	"fmt"
	"strings"
	"testing"
)

// places makes a public group with a subgroup and a hidden one, projects in them, and members.
func (s *server) places() {
	s.t.Helper()
	for _, name := range []string{"alice", "bob", "carol"} {
		s.user(name)
	}
	top := id(s.rest("root", "POST", "/groups", `{"name":"Top","path":"top","visibility":"public","description":"*all*"}`))
	below := id(s.rest("root", "POST", "/groups", fmt.Sprintf(`{"name":"Below","path":"below","visibility":"public","parent_id":%d}`, top)))
	hidden := id(s.rest("root", "POST", "/groups", fmt.Sprintf(`{"name":"Hidden","path":"hidden","visibility":"private","parent_id":%d}`, top)))
	for _, m := range []struct {
		group int64
		name  string
		level int
	}{{top, "alice", 40}, {below, "bob", 30}, {hidden, "carol", 50}} {
		s.rest("root", "POST", fmt.Sprintf("/groups/%d/members", m.group), fmt.Sprintf(`{"user_id":%d,"access_level":%d,"expires_at":"2099-01-02"}`, s.ids[m.name], m.level))
	}
	for path, group := range map[string]int64{"one": top, "two": below, "secret": hidden} {
		visibility := "public"
		if path == "secret" {
			visibility = "private"
		}
		s.rest("root", "POST", "/projects", fmt.Sprintf(`{"path":%q,"namespace_id":%d,"visibility":%q}`, path, group, visibility))
	}
}

// TestGroups reads groups with what is in them: hidden ones are in no list and no count.
func TestGroups(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.places()
		const query = `{ group(fullPath: "top") { name fullName description descriptionHtml visibility parent { name } projectsCount descendantGroupsCount groupMembersCount
			requestAccessEnabled emailsDisabled lfsEnabled projectCreationLevel sharedRunnersSetting userPermissions { createProjects readGroup }
			descendantGroups { nodes { fullPath parent { path } } } projects(includeSubgroups: true) { count nodes { path group { path } namespace { fullName } } } rootStorageStatistics { storageSize } } }`
		const start = `{"data":{"group":{"name":"Top","fullName":"Top","description":"*all*","descriptionHtml":"<p><em>all</em></p>","visibility":"public","parent":null,"projectsCount":1,"descendantGroupsCount":%d,"groupMembersCount":2,`
		const middle = `"requestAccessEnabled":true,"emailsDisabled":false,"lfsEnabled":true,"projectCreationLevel":"developer","sharedRunnersSetting":"ENABLED","userPermissions":{"createProjects":%t,"readGroup":true},`
		const below, hidden = `{"fullPath":"top/below","parent":{"path":"top"}}`, `{"fullPath":"top/hidden","parent":{"path":"top"}}`
		want := fmt.Sprintf(start+middle, 1, false) + `"descendantGroups":{"nodes":[` + below + `]},"projects":{"count":2,"nodes":`
		for _, as := range []string{"", "bob"} {
			if got := s.ask(as, query, nil); !strings.HasPrefix(got, want) || strings.Contains(got, "idden") || !strings.HasSuffix(got, `"rootStorageStatistics":null}}}`) {
				t.Errorf("%q: got %s\nwant %s", as, got, want)
			}
		}
		want = fmt.Sprintf(start+middle, 2, true) + `"descendantGroups":{"nodes":[` + below + `,` + hidden + `]},"projects":{"count":3,"nodes":`
		for as, sizes := range map[string]string{"alice": `"rootStorageStatistics":null`, "root": `"rootStorageStatistics":{"storageSize":0}`} {
			if got := s.ask(as, query, nil); !strings.HasPrefix(got, want) || !strings.HasSuffix(got, sizes+`}}}`) {
				t.Errorf("%s: got %s\nwant %s ... %s", as, got, want, sizes)
			}
		}
		s.want("", `{ groups(search: "e") { nodes { fullPath } } hidden: group(fullPath: "top/hidden") { name } }`, nil, `{"data":{"groups":{"nodes":[{"fullPath":"top/below"}]},"hidden":null}}`)
		s.want("carol", `{ groups { nodes { fullPath } } group(fullPath: "top/hidden") { parent { fullPath } descendantGroups(owned: true) { nodes { name } } } }`, nil,
			`{"data":{"groups":{"nodes":[{"fullPath":"top/below"},{"fullPath":"top/hidden"},{"fullPath":"top"}]},"group":{"parent":{"fullPath":"top"},"descendantGroups":{"nodes":[]}}}}`)
	})
}

// TestMembers reads members of groups and projects, by the ways in which they came.
func TestMembers(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.places()
		s.rest("root", "POST", "/projects/top%2Fbelow%2Ftwo/members", fmt.Sprintf(`{"user_id":%d,"access_level":20}`, s.ids["carol"]))
		const members = `query($r: [ProjectMemberRelation!], $sort: MemberSort) { project(fullPath: "top/below/two") { projectMembers(relations: $r, sort: $sort) { nodes { __typename user { username } accessLevel { integerValue stringValue } expiresAt ... on GroupMember { group { path } } ... on ProjectMember { project { path } } } } } }`
		const (
			root  = `{"__typename":"GroupMember","user":{"username":"root"},"accessLevel":{"integerValue":50,"stringValue":"OWNER"},"expiresAt":null,"group":{"path":"%s"}}`
			alice = `{"__typename":"GroupMember","user":{"username":"alice"},"accessLevel":{"integerValue":40,"stringValue":"MAINTAINER"},"expiresAt":"2099-01-02T00:00:00Z","group":{"path":"top"}}`
			bob   = `{"__typename":"GroupMember","user":{"username":"bob"},"accessLevel":{"integerValue":30,"stringValue":"DEVELOPER"},"expiresAt":"2099-01-02T00:00:00Z","group":{"path":"below"}}`
			carol = `{"__typename":"ProjectMember","user":{"username":"carol"},"accessLevel":{"integerValue":20,"stringValue":"REPORTER"},"expiresAt":null,"project":{"path":"two"}}`
		)
		near := fmt.Sprintf(root, "below")
		for _, c := range []struct {
			v    variables
			want string
		}{
			{variables{"r": []string{"DIRECT", "INHERITED"}}, strings.Join([]string{near, alice, bob, carol}, ",")},
			{variables{"r": []string{"DIRECT"}}, carol},
			{variables{"r": []string{"DIRECT", "INHERITED"}, "sort": "ACCESS_LEVEL_ASC"}, strings.Join([]string{carol, bob, alice, near}, ",")},
			{variables{"r": []string{"INVITED_GROUPS"}}, ""},
		} {
			s.want("", members, c.v, `{"data":{"project":{"projectMembers":{"nodes":[`+c.want+`]}}}}`)
		}
		const group = `query($r: [GroupMemberRelation!], $l: [AccessLevelEnum!]) { group(fullPath: "top") { groupMembers(relations: $r, accessLevels: $l, sort: USER_FULL_NAME_DESC) { nodes { user { username } group { path } } } } }`
		for _, c := range []struct {
			as   string
			v    variables
			want string
		}{
			{"", variables{"r": []string{"DIRECT"}, "l": []string{"MAINTAINER"}}, `{"user":{"username":"alice"},"group":{"path":"top"}}`},
			{"bob", variables{"r": []string{"DESCENDANTS"}, "l": []string{"DEVELOPER", "OWNER", "MAINTAINER"}}, `{"user":{"username":"bob"},"group":{"path":"below"}}`},
			{"alice", variables{"r": []string{"DESCENDANTS"}, "l": []string{"DEVELOPER", "OWNER"}}, `{"user":{"username":"carol"},"group":{"path":"hidden"}},{"user":{"username":"bob"},"group":{"path":"below"}}`},
		} {
			got := s.ask(c.as, group, c.v)
			got = strings.ReplaceAll(got, `,{"user":{"username":"root"},"group":{"path":"below"}}`, "") // who made the groups is an owner
			if want := `{"data":{"group":{"groupMembers":{"nodes":[` + c.want + `]}}}}`; got != want {
				t.Errorf("%s %v: got %s\nwant %s", c.as, c.v, got, want)
			}
		}
		const many = `query($n: Int) { groups(first: $n) { nodes { groupMembersCount projectsCount descendantGroupsCount userPermissions { createProjects } parent { name } groupMembers { nodes { id user { username } createdBy { username } group { name } userPermissions { readGroup } } } projects { nodes { namespace { name description } projectMembers { nodes { id user { username } } } } } } } }`
		few, all := s.statements("alice", many, variables{"n": 1}), s.statements("alice", many, variables{"n": 3})
		if few != all {
			t.Errorf("%d statements for one group, %d for three", few, all)
		}
	})
}

// TestNamespace reads places of the tree: that of a user is for the user alone.
func TestNamespace(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.places()
		s.rest("bob", "POST", "/projects", `{"path":"own","visibility":"public"}`)
		const query = `query($p: ID!) { namespace(fullPath: $p) { fullPath name fullName description visibility lfsEnabled projects { nodes { path } } rootStorageStatistics { storageSize } } }`
		s.want("", query, variables{"p": "top"}, `{"data":{"namespace":{"fullPath":"top","name":"Top","fullName":"Top","description":"*all*","visibility":"public","lfsEnabled":true,"projects":{"nodes":[{"path":"one"}]},"rootStorageStatistics":null}}}`)
		const mine = `{"data":{"namespace":{"fullPath":"bob","name":"bob","fullName":"bob","description":null,"visibility":"public","lfsEnabled":null,"projects":{"nodes":[{"path":"own"}]},"rootStorageStatistics":{"storageSize":0}}}}`
		s.want("bob", query, variables{"p": "bob"}, mine)
		s.want("root", query, variables{"p": "bob"}, mine)
		for _, as := range []string{"", "alice"} {
			s.want(as, query, variables{"p": "bob"}, `{"data":{"namespace":null}}`)
		}
		s.want("alice", query, variables{"p": "top/hidden/secret"}, `{"data":{"namespace":{"fullPath":"top/hidden/secret","name":"secret","fullName":"Top / Hidden / secret","description":null,"visibility":"private","lfsEnabled":null,"projects":{"nodes":[]},"rootStorageStatistics":null}}}`)
		for _, hidden := range []string{"top/hidden", "top/hidden/secret", "1", "none"} {
			s.want("bob", query, variables{"p": hidden}, `{"data":{"namespace":null}}`)
		}
	})
}

// TestGroups_lists reads issues and merge requests of a group, with and without its subgroups, the commits
// of the requests, and what members may do with them.
func TestGroups_lists(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.team(1)
		s.rest("owner", "POST", "/projects/team%2Fapp/repository/commits", `{"branch":"main","commit_message":"first","actions":[{"action":"create","file_path":"README","content":"x"}]}`)
		s.branch("dev", "team%2Fapp", "feature")
		request := fmt.Sprintf("gid://gitlab/MergeRequest/%d", id(s.rest("dev", "POST", "/projects/team%2Fapp/merge_requests", `{"title":"change","source_branch":"feature","target_branch":"main"}`)))
		sub := id(s.rest("owner", "POST", "/groups", fmt.Sprintf(`{"name":"sub","path":"sub","parent_id":%d,"visibility":"private"}`, id(s.rest("owner", "GET", "/groups/team", "")))))
		s.rest("root", "POST", "/projects", fmt.Sprintf(`{"name":"deep","namespace_id":%d,"visibility":"private"}`, sub))
		s.rest("dev", "POST", "/projects/team%2Fsub%2Fdeep/issues", `{"title":"deep"}`)
		const issues = `query($sub: Boolean) { group(fullPath: "team") { issues(includeSubgroups: $sub, sort: CREATED_ASC) { count nodes { title } } } }`
		s.want("guest", issues, variables{"sub": false}, `{"data":{"group":{"issues":{"count":2,"nodes":[{"title":"issue 1"},{"title":"of the library"}]}}}}`)
		if got := s.ask("guest", issues, variables{"sub": true}); !strings.Contains(got, `"count":3`) || !strings.Contains(got, `{"title":"deep"}`) {
			t.Errorf("with subgroups: got %s", got)
		}
		s.want("stranger", issues, variables{"sub": true}, `{"data":{"group":null}}`)
		const requests = `{ group(fullPath: "team") { mergeRequests { nodes { title commits { nodes { title } } commitsWithoutMergeCommits { nodes { title } } } } } }`
		got := s.ask("dev", requests, nil)
		if !strings.Contains(got, `"title":"change","commits":{"nodes":[{"title":`) || !strings.Contains(got, `"commitsWithoutMergeCommits":{"nodes":[{"title":`) {
			t.Errorf("merge requests: got %s", got)
		}
		s.want("guest", requests, nil, `{"data":{"group":{"mergeRequests":{"nodes":[]}}}}`)
		const members = `query($m: MergeRequestID!) { group(fullPath: "team") { groupMembers { nodes { user { username } mergeRequestInteraction(id: $m) { canMerge canUpdate } } } } }`
		if got := s.ask("dev", members, variables{"m": request}); !strings.Contains(got, `{"user":{"username":"dev"},"mergeRequestInteraction":{"canMerge":false,"canUpdate":true}}`) || !strings.Contains(got, `{"user":{"username":"owner"},"mergeRequestInteraction":{"canMerge":true,`) {
			t.Errorf("members: got %s", got)
		}
		if got := s.ask("guest", members, variables{"m": request}); strings.Contains(got, "canMerge") {
			t.Errorf("a guest of a private project: got %s", got)
		}
	})
}
