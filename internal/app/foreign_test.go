package app

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// TestForeign gives every route an id that belongs to another project, as a user who
// owns both: a thing is found through its own project only.
func TestForeign(t *testing.T) {
	walker(t)
	eachEngine(t, func(t *testing.T, s *server) {
		w := newWorld(s)
		one, two := w.projects[0], w.projects[2]
		// Numbers inside projects start alike, so the other project gets more of everything.
		path := "/projects/" + two.values["projects/:id"]
		for range 3 {
			two.values[":issue_iid"] = number(w.do("owner", "POST", path+"/issues", obj{"title": "Another"}), "iid")
		}
		two.values["issues/:noteable_id"], two.values["issues/:eventable_id"], two.values["incident"] = two.values[":issue_iid"], two.values[":issue_iid"], two.values[":issue_iid"]
		request := w.do("owner", "POST", path+"/merge_requests", obj{"title": "Another", "source_branch": "spare", "target_branch": "main"})
		two.values[":merge_request_iid"] = number(request, "iid")
		two.values["merge_requests/:noteable_id"], two.values["merge_requests/:eventable_id"] = number(request, "iid"), number(request, "iid")
		w.do("owner", "POST", path+"/repository/branches", obj{"branch": "foreign", "ref": "main"})
		w.do("owner", "POST", path+"/repository/tags", obj{"tag_name": "foreign-tag", "ref": "main"})
		w.do("owner", "POST", path+"/repository/files/foreign.md", obj{"branch": "foreign", "content": "of another", "commit_message": "x"})
		head := w.do("owner", "GET", path+"/repository/branches/foreign", nil)
		blob := w.do("owner", "GET", path+"/repository/files/foreign.md?ref=foreign", nil)
		maps.Copy(two.values, map[string]string{
			":branch": "foreign", ":tag_name": "foreign-tag", ":sha": head["commit"].(obj)["id"].(string), "commits/:noteable_id": head["commit"].(obj)["id"].(string), "blobs/:sha": blob["blob_id"].(string),
			":file_path": "foreign.md", "protected_branches/:name": "foreign", "protected_tags/:name": "foreign", "releases/:tag_name": "foreign-release",
		})
		w.do("owner", "POST", path+"/releases", obj{"tag_name": "foreign-release", "ref": "main"})
		w.do("owner", "POST", path+"/wikis", obj{"title": "foreign", "content": "Of another"})
		two.values["wikis/:slug"] = "foreign"
		w.do("owner", "POST", path+"/protected_branches", obj{"name": "foreign"})
		w.do("owner", "POST", path+"/feature_flags", obj{"name": "foreign"})
		list := w.do("owner", "POST", path+"/feature_flags_user_lists", obj{"name": "Foreign", "user_xids": "x"})
		two.values[":feature_flag_name"], two.values["feature_flags_user_lists/:iid"] = "foreign", number(list, "iid")
		w.do("owner", "POST", path+"/protected_tags", obj{"name": "foreign"})
		w.do("owner", "POST", path+"/protected_environments", obj{"name": "foreign", "deploy_access_levels": []obj{{"access_level": 40}}})
		two.values["protected_environments/:name"] = "foreign"
		w.distribution(two, path+"/debian_distributions", "foreign")
		w.genericPackage(two, path, "foreign", "2.0")
		w.debianPackage(two, path, "foreign", "foreign")
		w.pythonPackage(two, path, "foreign")
		w.npmPackage(two, path, "foreign", "2.0.0")

		if asked := w.askForeign(t, "/projects/:id/", one, two, "owner"); asked < 20 {
			t.Errorf("only %d requests were made", asked)
		}
	})
}

// TestForeign_places is TestForeign for what is in groups and belongs to users.
func TestForeign_places(t *testing.T) {
	walker(t)
	eachEngine(t, func(t *testing.T, s *server) {
		w := newWorld(s)
		one, two := w.groups[0], w.groups[2]
		two.values[":name"] = "foreign"
		w.do("owner", "POST", "/groups/"+two.values["groups/:id"]+"/wikis", obj{"title": "foreign", "content": "Of another"})
		two.values["wikis/:slug"] = "foreign"
		for range 6 {
			two.values[":epic_iid"] = number(w.do("owner", "POST", "/groups/"+two.values["groups/:id"]+"/epics", obj{"title": "Another"}), "iid")
		}
		w.do("owner", "POST", "/groups/"+two.values["groups/:id"]+"/labels", obj{"name": "foreign", "color": "#ff0000"})
		two.values["protected_branches/:name"] = "foreign"
		w.do("owner", "POST", "/groups/"+two.values["groups/:id"]+"/protected_branches", obj{"name": "foreign"})
		w.do("owner", "POST", "/groups/"+two.values["groups/:id"]+"/protected_environments", obj{"name": "development", "deploy_access_levels": []obj{{"access_level": 40}}})
		two.values["protected_environments/:name"] = "development"
		w.distribution(two, "/groups/"+two.values["groups/:id"]+"/-/deb_distributions", "foreign")
		two.values["npm/:package_name"], two.values[":tag"] = "foreign", "tag-foreign"
		if asked := w.askForeign(t, "/groups/:id/", one, two, "owner"); asked < 12 {
			t.Errorf("only %d requests were made about groups", asked)
		}

		// The administrator, who has every permission, mixes up the mate's
		// things and those of others.
		mate := w.instance[0]
		mates := maps.Clone(mate.values)
		token := w.do("admin", "POST", "/users/"+number(w.do("owner", "GET", "/user", nil), "id")+"/impersonation_tokens", obj{"name": "as owner", "scopes": []string{"api"}})
		other := &place{name: "other", values: map[string]string{
			"keys/:key_id": mates["own key"], "gpg_keys/:key_id": mates["own gpg key"], "emails/:email_id": mates["own email"],
			":impersonation_token_id": number(token, "id"),
		}}
		asked := w.askForeign(t, "/users/:id/", mate, other, "admin") + w.askForeign(t, "/users/:user_id/", mate, other, "admin")
		mate.values["own key"], mate.values["own gpg key"], mate.values["own email"] = mates["keys/:key_id"], mates["gpg_keys/:key_id"], mates["emails/:email_id"]
		if asked += w.askForeign(t, "/user/", mate, other, "admin"); asked < 10 {
			t.Errorf("only %d requests were made about users", asked)
		}
	})
}

// askForeign asks every route below a place for what is another's, one name at a time, and
// tells how often.
func (w *world) askForeign(t *testing.T, prefix string, one, two *place, as string) (asked int) {
	t.Helper()
	all := samples()
	for _, route := range w.kit().Routes() {
		below, nested := strings.CutPrefix(route.Path, prefix)
		if !nested || !strings.Contains(below, ":") || strings.HasPrefix(below, "members") || strings.HasPrefix(below, "templates/") || strings.HasPrefix(below, "custom_attributes") ||
			strings.HasPrefix(below, "snippets/:snippet_id/files/") || strings.HasPrefix(below, "integrations/") { // the same for all, or for administrators only; files are those of the snippet
			continue
		}
		for _, r := range w.rows(route, all) {
			if r.place != one || r.sample.note != "" || creates(route.Method, route.Path) {
				continue
			}
			names := strings.Split(route.Path, "/")
			for _, n := range names {
				// People and groups belong to no project, and a branch without a merge train has an empty one.
				nested := !slices.Contains([]string{":target_branch", ":id", ":user_id", ":email", ":group_id", ":project_id", ":forked_from_id", ":provider"}, n)
				if strings.HasPrefix(n, ":") && nested && !hookKey(route.Path, n) {
					r.place = mixed(one, two, n, names, r.sample.values)
					q, missing := r.request()
					if missing != "" {
						t.Fatalf("%s: no value for %s", key(route), missing)
					}
					q.as = as
					asked++
					if a := w.undone(q, nil); a.Code != http.StatusNotFound {
						t.Errorf("%s with the %s of another: got %d %.200s, want 404", key(route), n, a.Code, a.Body)
					}
				}
			}
		}
	}
	return asked
}

// hookKey reports whether a name of the path is one that hooks of all places may have.
func hookKey(path, name string) bool {
	return (name == ":key" || name == ":trigger") && strings.Contains(path, "/hooks/")
}

// creates reports whether the last name of the path is what is made, not found.
func creates(method, path string) bool {
	return method == http.MethodPost && strings.HasSuffix(path, "/:file_path") || method == http.MethodPut && (strings.HasSuffix(path, "/*file_name") || strings.HasSuffix(path, "/debian/:file_name") || strings.HasSuffix(path, "/npm/:package_name") || strings.HasSuffix(path, "/dist-tags/:tag"))
}

// mixed is the place one, but for one name of the path, which is two's, also where the sample
// takes its value from another name.
func mixed(one, two *place, name string, path []string, sampled with) *place {
	p := &place{name: one.name, project: one.project, values: maps.Clone(one.values)}
	for _, word := range path {
		if v, ok := two.values[word+"/"+name]; ok {
			p.values[word+"/"+name] = v
		}
	}
	if other, ok := strings.CutPrefix(sampled[strings.TrimPrefix(name, ":")], "="); ok {
		name = other
	}
	if v, ok := two.values[name]; ok {
		p.values[name] = v
	}
	return p
}

// TestHidden compares what a stranger reads of a thing that is hidden with what is read
// of a thing that is not there: nothing may tell them apart.
func TestHidden(t *testing.T) {
	walker(t)
	w := newWorld(newServer(t, ""))
	all := samples()
	for _, route := range w.kit().Routes() {
		for _, r := range w.rows(route, all) {
			if r.place.name != "private" {
				continue
			}
			if strings.HasPrefix(route.Path, "/issues") || strings.Contains(route.Path, "exists") {
				continue // for administrators; and a taken path is no secret
			}
			for _, as := range []string{"", "stranger", "external"} {
				q, _ := r.request()
				other := r
				other.place = &place{name: "absent", project: r.place.project, values: maps.Clone(r.place.values)}
				maps.Copy(other.place.values, map[string]string{"projects/:id": "999999", "groups/:id": "999999", "namespaces/:id": "999999"})
				p, _ := other.request()
				q.as, p.as = as, as
				got, want := w.undone(q, nil), w.undone(p, nil)
				if got.Code != want.Code || got.Body.String() != want.Body.String() {
					t.Errorf("%s as %q: hidden answers %d %s, absent %d %s", r.title(), as, got.Code, got.Body, want.Code, want.Body)
				}
			}
		}
	}
}
