package app

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"errors"
	"image"
	"image/png"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"tenon/internal/base/blob"
	"tenon/internal/base/db"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/importexport"
	"tenon/internal/core/token"
	"tenon/internal/transport/rest/api"
)

// place is a group or project with one of everything in it.
type place struct {
	name    string
	values  map[string]string // of the names in paths: "projects/:id", ":issue_iid"
	project bool
}

// levels are the roles that the world has people for.
func levels() map[string]authz.Level {
	return map[string]authz.Level{
		"minimal": authz.Minimal, "guest": authz.Guest, "planner": authz.Planner, "reporter": authz.Reporter,
		"developer": authz.Developer, "maintainer": authz.Maintainer, "owner": authz.Owner, "mate": authz.Developer, "blocked": authz.Owner,
	}
}

// world is a server with people, groups and projects.
type world struct {
	*server
	instance, groups, projects []*place

	checks string // the URL of the service that external status checks call
}

// newWorld furnishes a server: everybody in levels has that role in every place but
// the personal project, which is owner's.
func newWorld(s *server) *world {
	s.tb.Helper()
	checks := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) { out.WriteHeader(http.StatusNoContent) }))
	s.tb.Cleanup(checks.Close)
	w := &world{server: s, checks: checks.URL}
	s.once()
	s.set(obj{"outbound_local_requests_whitelist": []string{"127.0.0.1"}, "bulk_import_enabled": true})
	s.plant()
	for name := range levels() {
		s.user(name, nil)
	}
	yes := true
	s.user("stranger", nil)
	s.user("newcomer", nil)
	s.user("requester", nil)
	s.user("external", func(in *account.Input) { in.External = &yes })
	s.user("auditor", func(in *account.Input) { in.Auditor = true })
	s.token("admin without sudo", "admin", authz.ScopeAPI)
	s.token("read_api", "owner", authz.ScopeReadAPI)
	s.token("read_user", "owner", authz.ScopeReadUser)
	s.token("read_repository", "owner", authz.ScopeReadRepository)
	s.token("write_repository", "owner", authz.ScopeWriteRepository)
	s.token("self_rotate", "owner", authz.ScopeSelfRotate)
	impersonation := s.token("impersonation", "owner", authz.ScopeAPI)
	expired := s.token("expired", "owner", authz.ScopeAPI)
	revoked := s.token("revoked", "owner", authz.ScopeAPI)
	s.keys["unknown"] = "glpat-00000000000000000000"
	s.exec("UPDATE access_tokens SET kind = ? WHERE id = ?", token.Impersonation, impersonation.ID)
	s.exec("UPDATE access_tokens SET expires_on = ? WHERE id = ?", time.Now().UTC().Format(time.DateOnly), expired.ID)
	s.exec("UPDATE access_tokens SET revoked = ? WHERE id = ?", true, revoked.ID)
	mates := s.token("mate's", "mate", authz.ScopeAPI)

	common := map[string]string{
		"users/:id": strconv.FormatInt(int64(s.ids["mate"]), 10), ":user_id": strconv.FormatInt(int64(s.ids["mate"]), 10),
		"personal_access_tokens/:id": strconv.FormatInt(int64(mates.ID), 10), "reporter": strconv.FormatInt(int64(s.ids["reporter"]), 10),
		"newcomer":  strconv.FormatInt(int64(s.ids["newcomer"]), 10),
		"requester": strconv.FormatInt(int64(s.ids["requester"]), 10), ":email": "guest@example.org",
		"own":       number(s.do("owner", "POST", "/projects", map[string]any{"name": "Own", "visibility": "public"}), "id"),
		":group_id": number(s.do("owner", "POST", "/groups", map[string]any{"name": "Invited", "path": "invited"}), "id"),
		"guests":    number(s.do("owner", "POST", "/groups", map[string]any{"name": "Guests", "path": "guests"}), "id"),
	}
	for _, k := range []struct{ as, name, key string }{
		{"admin", "own key", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAICHGD8qKFgbP42oiLQ/X5Syah+qxI1XmUfRQ7i2zxpEZ"},
		{"mate", "keys/:id", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILg+cq35n0EnxL4mdNo41d304zhzyHx0W11LhL5MBtpS"},
	} {
		common[k.name] = number(s.do(k.as, "POST", "/user/keys", map[string]any{"title": "laptop", "key": k.key}), "id")
	}
	common["keys/:key_id"] = common["keys/:id"]
	for _, k := range []struct{ as, name string }{{"admin", "own gpg key"}, {"mate", "gpg_keys/:key_id"}} {
		common[k.name] = number(s.do(k.as, "POST", "/user/gpg_keys", map[string]any{"key": newGPGKey()}), "id")
	}
	common["public key"] = number(s.do("admin", "POST", "/deploy_keys", map[string]any{"title": "public", "key": deployKey()}), "id")
	s.do("admin", "POST", "/projects/"+common["own"]+"/deploy_keys/"+common["public key"]+"/enable", nil)
	for _, e := range []struct{ as, name string }{{"admin", "own email"}, {"mate", "emails/:email_id"}} {
		common[e.name] = number(s.do(e.as, "POST", "/user/emails", map[string]any{"email": e.as + "@example.org"}), "id")
	}
	impersonating := s.do("admin", "POST", "/users/"+common[":user_id"]+"/impersonation_tokens", map[string]any{"name": "as mate", "scopes": []string{"api"}})
	common[":impersonation_token_id"] = number(impersonating, "id")
	common["audit_events/:id"] = "1"
	now := db.At(s.now())
	for _, status := range []string{"failed", "finished"} {
		s.exec(`INSERT INTO bulk_imports (user_id, url, version, token, status, created_at, updated_at) VALUES (?, 'https://gitlab.example', '16.0.0', '', ?, ?, ?)`, s.ids["admin"], status, now, now)
	}
	for _, status := range []string{"failed", "finished"} {
		s.exec(`INSERT INTO bulk_import_entities (bulk_import_id, kind, source_path, source_id, slug, destination, status, visibility, no_projects, no_members, attempts, created_at, updated_at)
			SELECT MAX(id), 'group', 'away', 9, ?, '', ?, 20, false, false, 0, ?, ? FROM bulk_imports`, status, status, now, now)
	}
	s.exec(`INSERT INTO bulk_import_failures (entity_id, relation, step, message, class, correlation_id, created_at)
		SELECT MAX(id), 'labels', 'loader', 'color must be a valid color code', 'InvalidRelation', 'bulk-1', ? FROM bulk_import_entities`, now)
	common[":import_id"], common[":entity_id"] = s.one("SELECT MAX(id) FROM bulk_imports"), s.one("SELECT MAX(id) FROM bulk_import_entities")
	common["topics/:id"] = number(s.do("admin", "POST", "/topics", map[string]any{"name": "shopping", "title": "Shopping"}), "id")
	s.do("admin", "POST", "/features/changelog_commits_limitation", obj{"value": "true"})
	common["broadcast_messages/:id"] = number(s.do("admin", "POST", "/broadcast_messages", obj{"message": "Hello", "target_path": "nowhere"}), "id")
	common["hooks/:hook_id"] = number(s.do("admin", "POST", "/hooks", w.aHook()), "id")
	common["events/:hook_log_id"] = w.callHook("/hooks/" + common["hooks/:hook_id"])
	common["url_variables/:key"], common["custom_headers/:key"] = "who", "X-Who"
	common["service_accounts/:id"] = number(s.do("admin", "POST", "/service_accounts", nil), "id")
	common["custom_attributes/:key"] = "room"
	s.do("admin", "PUT", "/users/"+common["users/:id"]+"/custom_attributes/room", map[string]any{"value": "one"})
	w.furnishCI(common)
	for name, visibility := range map[string]string{"snippets/:id": "public", "private snippet": "private"} {
		common[name] = number(s.do("mate", "POST", "/snippets", aSnippet(visibility)), "id")
	}
	w.instance = []*place{{name: "instance", values: common}}
	for _, visibility := range []string{"private", "internal", "public"} {
		group := w.group(visibility, common)
		w.groups = append(w.groups, group)
		w.projects = append(w.projects, w.project(visibility, group, map[string]any{"visibility": visibility}))
	}
	private, public := w.groups[0], w.groups[2]
	w.placeToken("group token", "/groups/"+private.values["groups/:id"])
	w.placeToken("project token", "/projects/"+w.projects[0].values["projects/:id"])
	personal := w.project("personal", nil, map[string]any{"visibility": "private"})
	archived := w.project("archived", public, map[string]any{"visibility": "public"})
	s.do("owner", "POST", "/projects/"+archived.values["projects/:id"]+"/archive", nil)
	closed := w.project("members", public, map[string]any{"visibility": "public"})
	s.do("owner", "PUT", "/projects/"+closed.values["projects/:id"], map[string]any{
		"issues_access_level": "private", "merge_requests_access_level": "private", "repository_access_level": "private",
		"snippets_access_level": "private", "wiki_access_level": "private",
	})
	off := w.project("off", private, map[string]any{"visibility": "private"})
	s.do("owner", "PUT", "/projects/"+off.values["projects/:id"], map[string]any{
		"issues_access_level": "disabled", "merge_requests_access_level": "disabled", "repository_access_level": "disabled",
		"snippets_access_level": "disabled", "wiki_access_level": "disabled",
	})
	w.projects = append(w.projects, personal, archived, closed, off)
	s.exec(`INSERT INTO access_requests (namespace_id, user_id, created_at)
		SELECT id, CAST(? AS BIGINT), created_at FROM namespaces WHERE kind <> 'user'`, s.ids["requester"])
	s.do("admin", "POST", "/users/"+strconv.FormatInt(int64(s.ids["blocked"]), 10)+"/block", nil)
	return w
}

// placeToken makes a maintainer's token of a group or project under a name of its own,
// and a deploy token.
func (w *world) placeToken(name, path string) {
	t := w.do("owner", "POST", path+"/access_tokens", map[string]any{
		"name": name, "scopes": []string{"api"}, "access_level": authz.Maintainer, "expires_at": nextMonth(),
	})
	w.keep(name, t)
	w.keep("deploy token", w.do("owner", "POST", path+"/deploy_tokens", map[string]any{"name": name, "scopes": []string{"read_repository"}}))
}

// keep notes the secret of an answer under a name.
func (w *world) keep(name string, answer map[string]any) {
	key, ok := answer["token"].(string)
	if !ok {
		w.tb.Fatalf("%s: no token in %v", name, answer)
	}
	w.keys[name] = key
}

// group makes a group with everybody in it, and a label.
func (w *world) group(visibility string, common map[string]string) *place {
	g := w.do("admin", "POST", "/groups", map[string]any{"name": visibility, "path": "in-" + visibility, "visibility": visibility})
	path := "/groups/" + number(g, "id")
	w.populate(path, authz.Owner)
	w.do("owner", "POST", path+"/labels", map[string]any{"name": "bug", "color": "#ff0000"})
	milestone := w.do("owner", "POST", path+"/milestones", obj{"title": "All of " + visibility})
	board, list := w.board(path)
	badge := w.do("owner", "POST", path+"/badges", aBadge())
	hook := w.do("owner", "POST", path+"/hooks", w.aHook())
	w.do("owner", "POST", path+"/variables", aVariable(visibility))
	w.do("owner", "POST", "/user/runners", obj{"runner_type": "group_type", "group_id": number(g, "id")})
	w.do("admin", "PUT", path+"/custom_attributes/room", map[string]any{"value": "one"})
	w.do("owner", "PUT", path, obj{"avatar": attached{"group.png", onePixel()}})
	file := w.do("owner", "POST", path+"/uploads", obj{"file": attached{visibility + ".txt", "attached to the " + path}})
	bot := w.do("owner", "POST", path+"/access_tokens", map[string]any{"name": "bot", "scopes": []string{"api"}, "access_level": 10, "expires_at": nextMonth()})
	w.do("owner", "POST", path+"/protected_branches", obj{"name": "stable/*"})
	w.do("owner", "POST", path+"/protected_environments", obj{"name": "testing", "deploy_access_levels": []obj{{"access_level": 30}}})
	account := number(w.do("owner", "POST", path+"/service_accounts", nil), "id")
	serves := w.do("owner", "POST", path+"/service_accounts/"+account+"/personal_access_tokens", obj{"name": "ci", "scopes": []string{"api"}})
	token := w.do("owner", "POST", path+"/deploy_tokens", map[string]any{"name": "ci", "scopes": []string{"read_repository"}})
	w.do("owner", "POST", path+"/invitations", map[string]any{"email": common[":email"], "access_level": authz.Guest})
	w.do("owner", "POST", path+"/share", map[string]any{"group_id": common[":group_id"], "group_access": authz.Guest})
	w.do("owner", "PUT", path+"/integrations/asana", obj{"api_key": "s3cret-of-asana"})
	w.do("owner", "POST", path+"/wikis", aPage())
	w.exported(number(g, "id"), "group-"+visibility)
	p := &place{name: visibility, values: maps.Clone(common)}
	maps.Copy(p.values, map[string]string{
		"access_tokens/:token_id": number(bot, "id"), "deploy_tokens/:token_id": number(token, "id"), "badges/:badge_id": number(badge, "id"),
		"hooks/:hook_id": number(hook, "id"), "events/:hook_log_id": w.callHook(path + "/hooks/" + number(hook, "id")), "url_variables/:key": "who", "custom_headers/:key": "X-Who",
		"service_accounts/:user_id": account, "personal_access_tokens/:token_id": number(serves, "id"),
		"uploads/:upload_id": number(file, "id"), ":milestone_id": number(milestone, "id"), ":board_id": board, ":list_id": list,
		"uploads/:secret": strings.Split(file["url"].(string), "/")[2], ":filename": visibility + ".txt",
		"audit_events/:audit_event_id": w.first(path + "/audit_events"),
		"protected_branches/:name":     "stable/*",
		"protected_environments/:name": "testing",
		"wikis/:slug":                  "home", "variables/:key": "KEY_" + visibility, "groups/:id": number(g, "id"), "namespaces/:id": number(g, "id"), ":name": "bug", "full_path": "in-" + visibility,
	})
	maps.Copy(p.values, w.epics(path))
	w.distribution(p, path+"/-/deb_distributions", "sid")
	w.do("owner", "POST", path+"/-/deb_distributions", obj{"codename": "trixie"})
	return p
}

// board makes a board of a project or group with lists of two labels, and returns the ids of the
// board and of the first list.
func (w *world) board(path string) (board, list string) {
	board = number(w.do("owner", "POST", path+"/boards", obj{"name": "Work"}), "id")
	for _, name := range []string{"done", "doing"} {
		label := w.do("owner", "POST", path+"/labels", obj{"name": name + " of " + path, "color": "#00ff00"})
		list = number(w.do("owner", "POST", path+"/boards/"+board+"/lists", obj{"label_id": label["id"]}), "id")
	}
	return board, list
}

// populate adds everybody up to a level to a group or project.
func (w *world) populate(path string, upTo authz.Level) {
	for name, level := range levels() {
		if level > upTo || level == authz.Minimal && !strings.HasPrefix(path, "/groups") {
			continue
		}
		w.do("admin", "POST", path+"/members", map[string]any{"user_id": w.ids[name], "access_level": level})
	}
}

// project makes a project in a group, or in owner's namespace, with one of everything.
func (w *world) project(name string, group *place, more map[string]any) *place {
	body := map[string]any{"name": name, "path": "the-" + name, "initialize_with_readme": true}
	p := &place{name: name, values: map[string]string{}, project: true}
	if group != nil {
		body["namespace_id"] = group.values["groups/:id"]
		maps.Copy(p.values, group.values)
	} else {
		maps.Copy(p.values, w.instance[0].values)
	}
	maps.Copy(body, more)
	made := w.do("owner", "POST", "/projects", body)
	id := number(made, "id")
	path := "/projects/" + id
	if group == nil {
		w.populate(path, authz.Maintainer)
	} else {
		// The mate is a direct member of the project, so that there is one to change and remove.
		w.do("admin", "POST", path+"/members", map[string]any{"user_id": w.ids["mate"], "access_level": authz.Maintainer})
		w.do("admin", "POST", path+"/members", map[string]any{"user_id": w.ids["reporter"], "access_level": authz.Reporter})
	}
	w.do("owner", "POST", path+"/labels", map[string]any{"name": "bug of " + name, "color": "#ff0000"})
	milestone := w.do("owner", "POST", path+"/milestones", obj{"title": "First of " + name, "start_date": "2023-05-01", "due_date": "2023-06-01"})
	board, boardList := w.board(path)
	w.do("owner", "PUT", path, obj{"avatar": attached{"project.png", onePixel()}})
	attachment := w.do("owner", "POST", path+"/uploads", obj{"file": attached{name + " of a project.txt", "attached to the " + name}})
	bot := w.do("owner", "POST", path+"/access_tokens", map[string]any{"name": "bot", "scopes": []string{"api"}, "access_level": 10, "expires_at": nextMonth()})
	token := w.do("owner", "POST", path+"/deploy_tokens", map[string]any{"name": "ci", "scopes": []string{"read_repository"}, "expires_at": nextMonth()})
	badge := w.do("owner", "POST", path+"/badges", aBadge())
	hook := w.do("owner", "POST", path+"/hooks", w.aHook())
	w.do("admin", "PUT", path+"/custom_attributes/room", map[string]any{"value": "one"})
	key := w.do("owner", "POST", path+"/deploy_keys", map[string]any{"title": "ci", "key": deployKey()})
	w.do("owner", "POST", path+"/invitations", map[string]any{"email": p.values[":email"], "access_level": authz.Guest})
	w.do("owner", "POST", path+"/share", map[string]any{"group_id": p.values[":group_id"], "group_access": authz.Guest})
	for _, branch := range []string{"feature", "spare", "merged"} {
		w.do("owner", "POST", path+"/repository/branches", map[string]any{"branch": branch, "ref": "main"})
	}
	for _, branch := range []string{"feature", "spare"} {
		w.do("developer", "POST", path+"/repository/files/"+branch+".md", map[string]any{
			"branch": branch, "content": "text", "commit_message": "Add " + branch,
		})
	}
	w.do("owner", "POST", path+"/repository/tags", map[string]any{"tag_name": "v1", "ref": "main"})
	w.projectRelease(p, path)
	w.distribution(p, path+"/debian_distributions", "sid")
	w.genericPackage(p, path, "zeta", "0.9")
	w.genericPackage(p, path, "beta", "0.8")
	w.genericPackage(p, path, "tool", "1.0")
	w.debianPackage(p, path, "sid", "hello")
	w.npmPackage(p, path, "left", "1.0.0")
	w.pythonPackage(p, path, "hello")
	w.mavenPackage(p, path)
	if name == "private" {
		w.instance[0].values["maven/:path"] = p.values["maven/:path"]
	}
	if group != nil {
		for _, key := range []string{"simple/:package_name", ":sha256", ":file_identifier", "maven/:path"} {
			group.values[key] = p.values[key]
		}
		group.values["npm/:package_name"], group.values[":tag"] = "left", p.values[":tag"]
		group.values[":pool_path"] = strings.Replace(p.values[":pool_path"], "sid/", "sid/"+strings.TrimPrefix(path, "/projects/")+"/", 1)
	}
	w.do("owner", "POST", path+"/debian_distributions", obj{"codename": "trixie"})
	w.do("owner", "POST", path+"/push_rule", map[string]any{"commit_message_negative_regex": "^Never$"})
	w.do("owner", "POST", path+"/protected_tags", map[string]any{"name": "v*"})
	head := w.do("owner", "GET", path+"/repository/commits/feature", nil)
	file := w.do("owner", "GET", path+"/repository/files/README.md?ref=main", nil)

	issue := w.do("guest", "POST", path+"/issues", map[string]any{"title": "Of a guest"})
	secret := w.do("owner", "POST", path+"/issues", map[string]any{"title": "Secret", "confidential": true})
	request := w.do("developer", "POST", path+"/merge_requests", map[string]any{
		"title": "Feature", "source_branch": "feature", "target_branch": "main",
	})
	loose := w.do("owner", "POST", path+"/issues", map[string]any{"title": "Loose"})
	related := w.do("owner", "POST", path+"/issues", map[string]any{"title": "Related"})
	link := w.do("owner", "POST", path+"/issues/"+number(issue, "iid")+"/links", map[string]any{
		"target_project_id": id, "target_issue_iid": number(related, "iid"),
	})
	w.include(group, issue, related, loose)
	onIssue := path + "/issues/" + number(issue, "iid") + "/notes"
	onRequest := path + "/merge_requests/" + number(request, "iid")
	note := w.do("guest", "POST", onIssue, map[string]any{"body": "A word"})
	internal := w.do("owner", "POST", onIssue, map[string]any{"body": "Between us", "internal": true})
	review := w.do("developer", "POST", onRequest+"/discussions", map[string]any{"body": "A review"})
	position := maps.Clone(request["diff_refs"].(map[string]any))
	maps.Copy(position, obj{"position_type": "text", "old_path": "feature.md", "new_path": "feature.md", "new_line": 1})
	suggested := w.do("developer", "POST", onRequest+"/discussions", obj{"body": "```suggestion\nBetter\n```", "position": position})
	suggestion := suggested["notes"].([]any)[0].(map[string]any)["suggestions"].([]any)[0].(map[string]any)
	draft := w.do("admin", "POST", onRequest+"/draft_notes", map[string]any{"note": "Kept back"})
	onCommit := w.do("developer", "POST", path+"/repository/commits/"+head["id"].(string)+"/discussions", map[string]any{"body": "A remark"})
	snippet := w.do("reporter", "POST", path+"/snippets", aSnippet("public"))
	private := w.do("owner", "POST", path+"/snippets", aSnippet("private"))
	onSnippet := path + "/snippets/" + number(snippet, "id")
	remark := w.do("developer", "POST", onSnippet+"/discussions", map[string]any{"body": "Of a snippet"})
	awards := map[string]string{}
	for name, at := range map[string]string{
		"issues": path + "/issues/" + number(issue, "iid"), "notes": onIssue + "/" + number(note, "id"),
		"merge_requests": onRequest, "note of a request": onRequest + "/notes/" + firstNote(review),
		"snippets": onSnippet, "note of a snippet": onSnippet + "/notes/" + firstNote(remark),
	} {
		awards[name] = number(w.do("developer", "POST", at+"/award_emoji", map[string]any{"name": "tada"}), "id")
	}
	waiting := w.do("admin", "POST", path+"/issues/"+number(issue, "iid")+"/todo", nil)
	rule := w.do("owner", "POST", path+"/approval_rules", map[string]any{"name": "reviewers", "approvals_required": 0, "user_ids": []any{w.ids["developer"]}})
	own := w.do("owner", "POST", onRequest+"/approval_rules", map[string]any{"name": "reviewers", "approvals_required": 0, "approval_project_rule_id": number(rule, "id")})
	var others []string // the first, which is merged, blocks the merge request
	for _, target := range []string{"main", "feature"} {
		other := w.do("developer", "POST", path+"/merge_requests", map[string]any{"title": "Blocking", "source_branch": "merged", "target_branch": target})
		others = append(others, number(other, "id"))
	}
	block := w.do("owner", "POST", onRequest+"/blocks", map[string]any{"blocking_merge_request_id": others[0]})
	w.exec("UPDATE merge_requests SET state = 'merged' WHERE id = " + others[0])
	status := w.do("owner", "POST", path+"/external_status_checks", obj{"name": "scan", "external_url": w.checks + "/" + name, "shared_secret": "s3cret-of-a-check"})
	w.exported("(SELECT namespace_id FROM projects WHERE id = "+id+")", id)
	w.do("owner", "PUT", path+"/integrations/asana", obj{"api_key": "s3cret-of-asana"})
	w.do("owner", "PUT", path, map[string]any{"merge_pipelines_enabled": true, "merge_trains_enabled": true})
	now := db.At(w.now())
	w.exec(`INSERT INTO merge_train_cars (merge_request_id, target_project_id, target_branch, user_id, status, base_sha, train_sha, pinned, created_at, updated_at, merged_at)
		VALUES (?, ?, 'main', ?, 'merged', '', '', ?, ?, ?, ?)`, number(request, "id"), id, w.ids["owner"], false, now, now, now)
	versions := w.send(w.tb.Context(), get("owner", path+"/merge_requests/"+number(request, "iid")+"/versions"))
	var list []map[string]any
	if err := json.Unmarshal(versions.Body.Bytes(), &list); err != nil || len(list) == 0 {
		w.tb.Fatalf("versions: %d %s", versions.Code, versions.Body)
	}
	events := map[string]string{}
	for name, at := range map[string]string{"issues": path + "/issues/" + number(issue, "iid"), "merge_requests": onRequest} {
		w.do("owner", "PUT", at, map[string]any{"add_labels": "bug of " + name, "state_event": "close", "milestone_id": number(milestone, "id")})
		w.do("owner", "PUT", at, map[string]any{"remove_labels": "bug of " + name, "state_event": "reopen", "milestone_id": 0})
		for _, kind := range []string{"label", "state", "milestone"} {
			events[name+" "+kind] = w.first(at + "/resource_" + kind + "_events")
		}
	}
	w.do("owner", "PUT", path+"/issues/"+number(issue, "iid"), map[string]any{"weight": 3})
	w.do("owner", "POST", path+"/wikis", aPage())
	w.projectCI(p, path, id)
	incident := w.do("owner", "POST", path+"/issues", obj{"title": "Down", "issue_type": "incident"})
	image := w.do("owner", "POST", path+"/issues/"+number(incident, "iid")+"/metric_images", obj{"file": attached{"load of " + name + ".png", onePixel()}})
	maps.Copy(p.values, w.pipelines(path, id))
	maps.Copy(p.values, map[string]string{
		"incident": number(incident, "iid"), ":image_id": number(image, "id"),
		"issues/:eventable_id": number(issue, "iid"), "merge_requests/:eventable_id": number(request, "iid"),
		"resource_label_events/:event_id": events["issues label"], "resource_state_events/:event_id": events["issues state"],
		"resource_weight_events/:event_id": w.first(path + "/issues/" + number(issue, "iid") + "/resource_weight_events"),
		"label event of a request":         events["merge_requests label"], "state event of a request": events["merge_requests state"],
		"resource_milestone_events/:event_id": events["issues milestone"], "milestone event of a request": events["merge_requests milestone"],
		"resource_iteration_events/:event_id": events["issues milestone"], // there is none
		":snippet_id":                         number(snippet, "id"), "private": number(private, "id"), "wikis/:slug": "home",
		"uploads/:upload_id": number(attachment, "id"), ":milestone_id": number(milestone, "id"), ":board_id": board, ":list_id": boardList, "uploads/:secret": strings.Split(attachment["url"].(string), "/")[2],
		":filename":                    name + "_of_a_project.txt",
		"audit_events/:audit_event_id": w.first(path + "/audit_events"),
		"access_tokens/:token_id":      number(bot, "id"), "deploy_keys/:key_id": number(key, "id"), "deploy_tokens/:token_id": number(token, "id"), "badges/:badge_id": number(badge, "id"),
		"hooks/:hook_id": number(hook, "id"), "events/:hook_log_id": w.callHook(path + "/hooks/" + number(hook, "id")), "url_variables/:key": "who", "custom_headers/:key": "X-Who",
		"projects/:id": id, ":issue_iid": number(issue, "iid"), ":merge_request_iid": number(request, "iid"),
		"issues/:noteable_id": number(issue, "iid"), "merge_requests/:noteable_id": number(request, "iid"),
		"issues/:note_id": number(note, "id"), "merge_requests/:note_id": firstNote(review), "commits/:note_id": firstNote(onCommit),
		"snippets/:noteable_id": number(snippet, "id"), "snippets/:note_id": firstNote(remark), "snippets/:discussion_id": remark["id"].(string),
		"snippets/:award_id": awards["snippets"], "award on a note of a snippet": awards["note of a snippet"],
		"issues/:discussion_id": w.discussionOf(onIssue, number(note, "id")), "merge_requests/:discussion_id": review["id"].(string),
		"commits/:discussion_id": onCommit["id"].(string), "commits/:noteable_id": head["id"].(string),
		"issues/:award_id": awards["issues"], "notes/:award_id": awards["notes"], "merge_requests/:award_id": awards["merge_requests"],
		"award on a note of a request": awards["note of a request"],
		"issues/:id":                   number(issue, "id"), "todos/:id": number(waiting, "id"), "confidential": number(secret, "iid"), "secret": number(secret, "id"), ":issue_link_id": number(link, "id"), "loose": number(loose, "iid"), "internal": number(internal, "id"),
		":branch": "feature", ":tag_name": "v1", ":sha": head["id"].(string), "blobs/:sha": file["blob_id"].(string),
		":file_path": "README.md", "protected_branches/:name": "main", "protected_tags/:name": "v*", ":name": "bug of " + name, ":version_id": number(list[0], "id"), ":draft_note_id": number(draft, "id"), "version": number(list[0], "id"), "suggestions/:id": number(suggestion, "id"),
		":block_id": number(block, "id"), "other merge request": others[1],
		":check_id": number(status, "id"), ":external_status_check_id": number(status, "id"), "head of merge request": request["sha"].(string),
		":target_branch":    "main",
		":approval_rule_id": number(rule, "id"), "rule of merge request": number(own, "id"),
		"full_path": made["path_with_namespace"].(string),
	})
	return p
}

// exported keeps an archive that the owner of a project or group asked for; namespace is an expression of SQL.
func (w *world) exported(namespace, name string) {
	key := importexport.Objects + "/world-" + name
	if _, err := w.objects.Put(w.tb.Context(), key, strings.NewReader("archive"), blob.Wanted{}); err != nil {
		w.tb.Fatal(err)
	}
	now := db.At(w.now())
	w.exec(`INSERT INTO exports (namespace_id, user_id, status, upload_method, object, name, size, attempts, created_at, updated_at)
		VALUES (`+namespace+`, ?, 'finished', '', ?, 'world_export.tar.gz', 7, 1, ?, ?)`, w.ids["owner"], key, now, now)
	w.reported(namespace, strings.HasPrefix(name, "group"), "owner")
	for _, as := range []string{"maintainer", "owner", "admin"} {
		w.exec(`INSERT INTO relation_exports (namespace_id, user_id, run, relation, status, batched, objects, created_at, updated_at)
			VALUES (`+namespace+`, ?, 'world', 'labels', 1, false, 1, ?, ?)`, w.ids[as], now, now)
		w.exec(`INSERT INTO relation_export_files (export_id, number, object, name, objects, created_at)
			SELECT MAX(id), 0, ?, 'labels.ndjson.gz', 1, ? FROM relation_exports`, key, now)
	}
}

// reported notes an import of a project or group by a user, with one row that was lost; namespace is an expression of SQL.
func (s *server) reported(namespace string, group bool, as string) {
	now := db.At(s.now())
	const begun = `'[]', '', 0, '{"labels":{"read":2,"written":1,"lost":1}}', 1`
	if group {
		s.exec(`INSERT INTO imported_groups (namespace_id, source_id, done, relation, line, counts, items, created_at, updated_at) VALUES (`+namespace+`, 1, `+begun+`, ?, ?)`, now, now)
		s.exec(`INSERT INTO imported_group_items (namespace_id, relation, line, action, failed, reason, title, created_at)
			VALUES (`+namespace+`, 'labels', 2, 'lost', true, 'color must be a valid color code', 'bug', ?)`, now)
	} else {
		of := "(SELECT id FROM projects WHERE namespace_id = " + namespace + ")"
		s.exec(`INSERT INTO file_imports (project_id, user_id, object, overrides, attempts, done, relation, line, counts, items, created_at, updated_at)
			VALUES (`+of+`, ?, '', '{}', 1, `+begun+`, ?, ?)`, s.ids[as], now, now)
		s.exec(`INSERT INTO file_import_items (project_id, relation, line, action, failed, reason, title, created_at)
			VALUES (`+of+`, 'labels', 2, 'lost', true, 'color must be a valid color code', 'bug', ?)`, now)
	}
}

// first is the id of the first thing of a list.
func (w *world) first(path string) string {
	a := w.send(w.tb.Context(), get("owner", path))
	var list []map[string]any
	if err := json.Unmarshal(a.Body.Bytes(), &list); err != nil || len(list) == 0 {
		w.tb.Fatalf("%s: %d %s", path, a.Code, a.Body)
	}
	return number(list[0], "id")
}

// firstNote is the id of the note that a discussion began with.
func firstNote(discussion map[string]any) string {
	return number(discussion["notes"].([]any)[0].(map[string]any), "id")
}

// discussionOf finds the discussion that begins with a note.
func (w *world) discussionOf(notes, id string) string {
	path := strings.TrimSuffix(notes, "/notes") + "/discussions"
	a := w.send(w.tb.Context(), get("owner", path))
	var list []map[string]any
	if err := json.Unmarshal(a.Body.Bytes(), &list); err != nil {
		w.tb.Fatalf("%s: %d %s", path, a.Code, a.Body)
	}
	for _, d := range list {
		if firstNote(d) == id {
			return d["id"].(string)
		}
	}
	w.tb.Fatalf("%s: no discussion begins with note %s", path, id)
	return ""
}

func aSnippet(visibility string) map[string]any {
	return obj{"title": "Hello", "visibility": visibility, "files": []obj{{"file_path": "hello.txt", "content": "Hello"}}}
}

func aPage() map[string]any { return obj{"title": "home", "content": "Welcome"} }

func aBadge() map[string]any {
	return map[string]any{"link_url": "https://ci.example/%{project_path}", "image_url": "https://ci.example/badge.svg"}
}

// onePixel is a picture.
func onePixel() string {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		panic(err)
	}
	return b.String()
}

// deployKey is the public half of a new key.
func deployKey() string {
	public, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		panic(err)
	}
	key, err := ssh.NewPublicKey(public)
	if err != nil {
		panic(err)
	}
	return string(ssh.MarshalAuthorizedKey(key))
}

// newGPGKey makes a public OpenPGP key.
func newGPGKey() string {
	e, err := openpgp.NewEntity("Somebody", "", "somebody@example.com", &packet.Config{Algorithm: packet.PubKeyAlgoEdDSA})
	if err != nil {
		panic(err)
	}
	var b bytes.Buffer
	w, err := armor.Encode(&b, openpgp.PublicKeyType, nil)
	if err = errors.Join(err, e.Serialize(w), w.Close()); err != nil {
		panic(err)
	}
	return b.String()
}

func get(as, path string) request { return request{as: as, method: http.MethodGet, path: path} }

// kit returns the REST interface behind the handler.
func (s *server) kit() *api.Kit {
	h := s.http.Handler
	if i, ok := h.(interface{ Unwrap() http.Handler }); ok {
		h = i.Unwrap()
	}
	return h.(*router).api.(*api.Kit)
}

// aHook is a hook with everything that it may have, which no event calls.
func (w *world) aHook() obj {
	return obj{
		"url": w.checks + "/hooks?who={who}", "name": "mirror", "description": "Tells a mirror", "push_events": false, "repository_update_events": false,
		"push_events_branch_filter": "main-*", "custom_webhook_template": `{"kind": "{{object_kind}}"}`, "token": "s3cret-of-a-hook",
		"url_variables":  []obj{{"key": "who", "value": "s3cret-of-a-hook"}, {"key": "spare", "value": "s3cret-of-a-hook"}},
		"custom_headers": []obj{{"key": "X-Who", "value": "s3cret-of-a-hook"}},
	}
}
