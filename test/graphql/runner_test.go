package graphql

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// withRunners makes a runner of each type: "owner" owns the group and the projects below it, "keeper" maintains one of them, "dev" develops it.
func (s *server) withRunners() map[string]string {
	s.t.Helper()
	for _, name := range []string{"owner", "keeper", "dev", "stranger"} {
		s.user(name)
	}
	group := id(s.rest("root", "POST", "/groups", `{"name":"Team","path":"team","visibility":"public"}`))
	s.rest("root", "POST", "/groups/team/members", fmt.Sprintf(`{"user_id":%d,"access_level":50}`, s.ids["owner"]))
	app := id(s.rest("owner", "POST", "/projects", fmt.Sprintf(`{"name":"app","path":"app","visibility":"public","namespace_id":%d}`, group)))
	for name, level := range map[string]int{"keeper": 40, "dev": 30} {
		s.rest("owner", "POST", "/projects/team%2Fapp/members", fmt.Sprintf(`{"user_id":%d,"access_level":%d}`, s.ids[name], level))
	}
	made := map[string]string{}
	for _, in := range []struct{ name, as, place string }{ // lists show the newest first
		{"instance", "root", `"runner_type":"instance_type"`},
		{"group", "owner", fmt.Sprintf(`"runner_type":"group_type","group_id":%d`, group)},
		{"project", "keeper", fmt.Sprintf(`"runner_type":"project_type","project_id":%d`, app)},
	} {
		made[in.name] = fmt.Sprintf("gid://gitlab/Ci::Runner/%d", id(s.rest(in.as, "POST", "/user/runners",
			`{"description":"of the `+in.name+`","tag_list":"big,`+in.name+`","maintenance_note":"a note",`+in.place+`}`)))
	}
	return made
}

// TestRunners reads runners as each role.
func TestRunners(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		made := s.withRunners()
		const one = `{ runner(id: %q) { description runnerType status paused accessLevel runUntagged locked tagList maintenanceNote maximumTimeout contactedAt createdBy { username } ownerProject { fullPath } projects { nodes { fullPath } } groups { nodes { fullPath } } managers { count } jobCount jobs { count } ephemeralAuthenticationToken userPermissions { assignRunner deleteRunner readRunner updateRunner } } }`
		s.want("keeper", fmt.Sprintf(one, made["project"]), nil, `{"data":{"runner":{"description":"of the project","runnerType":"PROJECT_TYPE","status":"NEVER_CONTACTED","paused":false,"accessLevel":"NOT_PROTECTED","runUntagged":true,"locked":false,"tagList":["big","project"],"maintenanceNote":"a note","maximumTimeout":null,"contactedAt":null,"createdBy":{"username":"keeper"},"ownerProject":{"fullPath":"team/app"},"projects":{"nodes":[{"fullPath":"team/app"}]},"groups":null,"managers":{"count":0},"jobCount":0,"jobs":{"count":0},"ephemeralAuthenticationToken":null,"userPermissions":{"assignRunner":true,"deleteRunner":true,"readRunner":true,"updateRunner":true}}}}`)
		s.want("stranger", fmt.Sprintf(one, made["instance"]), nil, `{"data":{"runner":{"description":"of the instance","runnerType":"INSTANCE_TYPE","status":"NEVER_CONTACTED","paused":false,"accessLevel":"NOT_PROTECTED","runUntagged":true,"locked":false,"tagList":["big","instance"],"maintenanceNote":null,"maximumTimeout":null,"contactedAt":null,"createdBy":{"username":"root"},"ownerProject":null,"projects":{"nodes":[]},"groups":null,"managers":{"count":0},"jobCount":null,"jobs":{"count":0},"ephemeralAuthenticationToken":null,"userPermissions":{"assignRunner":false,"deleteRunner":false,"readRunner":true,"updateRunner":false}}}}`)
		// Who reads the details of a runner with REST reads it here, and no other.
		for name, gid := range made {
			for _, as := range []string{"", "stranger", "dev", "keeper", "owner", "root"} {
				rest := s.send(as, "GET", "/api/v4/runners/"+gid[strings.LastIndexByte(gid, '/')+1:], "").Code == http.StatusOK
				got := s.ask(as, fmt.Sprintf(`{ runner(id: %q) { id } }`, gid), nil)
				if rest != strings.Contains(got, gid) || !rest && got != `{"data":{"runner":null}}` {
					t.Errorf("%s as %q: got %s, with REST %v", name, as, got, rest)
				}
			}
		}
		const lists = `{ runners { count nodes { description } } group(fullPath: "team") { runners { nodes { description } } direct: runners(membership: DIRECT) { nodes { description } } all: runners(membership: ALL_AVAILABLE, sort: CREATED_ASC, search: "THE IN") { nodes { description } } } project(fullPath: "team/app") { runners(tagList: ["big"], type: PROJECT_TYPE, status: NEVER_CONTACTED, paused: false) { count nodes { description } } } }`
		s.want("owner", lists, nil, `{"data":{"runners":{"count":0,"nodes":[]},"group":{"runners":{"nodes":[{"description":"of the project"},{"description":"of the group"}]},"direct":{"nodes":[{"description":"of the group"}]},"all":{"nodes":[{"description":"of the instance"}]}},"project":{"runners":{"count":1,"nodes":[{"description":"of the project"}]}}}}`)
		for _, as := range []string{"", "stranger", "dev"} {
			s.want(as, lists, nil, `{"data":{"runners":{"count":0,"nodes":[]},"group":{"runners":{"nodes":[]},"direct":{"nodes":[]},"all":{"nodes":[]}},"project":{"runners":{"count":0,"nodes":[]}}}}`)
		}
		s.want("root", `{ runners { count } paused: runners(paused: true) { count } }`, nil, `{"data":{"runners":{"count":3},"paused":{"count":0}}}`)
		for i := range 9 {
			s.rest("root", "POST", "/user/runners", fmt.Sprintf(`{"runner_type":"instance_type","description":"more %d"}`, i))
		}
		const wide = `{ runners(first: %d, sort: CREATED_ASC) { count nodes { tagList createdBy { username } maintenanceNote ownerProject { name } projects { nodes { name } } managers { nodes { systemId } } jobs { count nodes { name } } userPermissions { updateRunner } } } }`
		if few, all := s.statements("root", fmt.Sprintf(wide, 3), nil), s.statements("root", fmt.Sprintf(wide, 12), nil); few != all {
			t.Errorf("%d statements for three runners, %d for twelve", few, all)
		}
	})
}

// TestRunners_change runs the mutations of runners.
func TestRunners_change(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		made := s.withRunners()
		const refusal = `The resource that you are attempting to access does not exist or you don't have permission to perform this action`
		project := fmt.Sprintf("gid://gitlab/Project/%d", id(s.rest("owner", "GET", "/projects/team%2Fapp", "")))
		create := fmt.Sprintf(`mutation { runnerCreate(input: {runnerType: PROJECT_TYPE, projectId: %q, description: "new", tagList: ["a"], runUntagged: false, paused: true, maximumTimeout: 700}) { errors runner { id description paused tagList maximumTimeout ephemeralAuthenticationToken } } }`, project)
		for _, as := range []string{"", "stranger", "dev"} {
			if got := s.ask(as, create, nil); !strings.Contains(got, refusal) {
				t.Errorf("create as %q: got %s", as, got)
			}
		}
		data := s.data("keeper", create, nil)
		token, _ := at(data, "runnerCreate", "runner", "ephemeralAuthenticationToken").(string)
		if !strings.HasPrefix(token, "glrt-") || at(data, "runnerCreate", "runner", "paused") != true || at(data, "runnerCreate", "runner", "tagList", 0) != "a" {
			t.Errorf("created: got %v", data)
		}
		if w := s.send("", "POST", "/api/v4/runners/verify", fmt.Sprintf(`{"token":%q}`, token)); w.Code != http.StatusOK {
			t.Errorf("verify the token: got %d %s", w.Code, w.Body)
		}
		s.want("keeper", strings.Replace(create, `"a"`, "", 1), nil, `{"data":{"runnerCreate":{"errors":["Tags list can not be empty when runner is not allowed to pick untagged jobs"],"runner":null}}}`)
		second := at(data, "runnerCreate", "runner", "id").(string)

		update := fmt.Sprintf(`mutation { runnerUpdate(input: {id: %q, description: "changed", paused: false, accessLevel: REF_PROTECTED, maximumTimeout: null}) { errors runner { description paused accessLevel maximumTimeout } } }`, second)
		for _, as := range []string{"", "stranger", "dev"} {
			if got := s.ask(as, update, nil); !strings.Contains(got, refusal) {
				t.Errorf("update as %q: got %s", as, got)
			}
		}
		s.want("keeper", update, nil, `{"data":{"runnerUpdate":{"errors":[],"runner":{"description":"changed","paused":false,"accessLevel":"REF_PROTECTED","maximumTimeout":null}}}}`)
		reset := fmt.Sprintf(`mutation { runnersRegistrationTokenReset(input: {type: PROJECT_TYPE, id: %q}) { errors token } }`, project)
		if got := s.ask("dev", reset, nil); !strings.Contains(got, refusal) {
			t.Errorf("reset as a Developer: got %s", got)
		}
		if got, _ := at(s.data("keeper", reset, nil), "runnersRegistrationTokenReset", "token").(string); got == "" {
			t.Error("no registration token")
		}
		bulk := fmt.Sprintf(`mutation { bulkRunnerDelete(input: {ids: [%q, %q]}) { errors deletedCount deletedIds } }`, second, made["instance"])
		for _, as := range []string{"", "stranger", "dev"} {
			if got := s.ask(as, bulk, nil); !strings.Contains(got, refusal) {
				t.Errorf("bulk delete as %q: got %s", as, got)
			}
		}
		s.want("keeper", bulk, nil, fmt.Sprintf(`{"data":{"bulkRunnerDelete":{"errors":["User does not have permission to delete runner #%s"],"deletedCount":1,"deletedIds":[%q]}}}`, made["instance"][len("gid://gitlab/Ci::Runner/"):], second))
		remove := fmt.Sprintf(`mutation { runnerDelete(input: {id: %q}) { errors } }`, made["project"])
		if got := s.ask("dev", remove, nil); !strings.Contains(got, refusal) {
			t.Errorf("delete as a Developer: got %s", got)
		}
		s.want("keeper", remove, nil, `{"data":{"runnerDelete":{"errors":[]}}}`)
		s.want("root", `{ runners { count } group(fullPath: "team") { runners { nodes { description } } } }`, nil, `{"data":{"runners":{"count":2},"group":{"runners":{"nodes":[{"description":"of the group"}]}}}}`)
	})
}
