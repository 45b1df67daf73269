package app

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"tenon/internal/core/authz"
)

// placed are the callers whose token belongs to the place that is asked: what follows is their column.
const (
	readsPackages  = "reads packages"
	writesPackages = "writes packages"
	ofJob          = "job"
)

// packageTokens makes the tokens of those who publish packages without being users, for the private project and group, and for another project.
func (w *world) packageTokens() {
	w.tb.Helper()
	private := func(list []*place) *place {
		return list[slices.IndexFunc(list, func(p *place) bool { return p.name == "private" })]
	}
	project, group := private(w.projects).values["projects/:id"], private(w.groups).values["groups/:id"]
	for kind, path := range map[string]string{"project": "/projects/" + project, "group": "/groups/" + group} {
		for name, scope := range map[string]authz.Scope{readsPackages: authz.ScopeReadPackages, writesPackages: authz.ScopeWritePackages} {
			w.keep(name+" "+kind, w.do("owner", "POST", path+"/deploy_tokens", obj{"name": name, "scopes": []authz.Scope{scope}}))
		}
	}
	other := number(w.do("owner", "POST", "/projects", obj{"name": "Elsewhere", "initialize_with_readme": true}), "id")
	w.keep("deploy token elsewhere", w.do("owner", "POST", "/projects/"+other+"/deploy_tokens", obj{"name": "elsewhere", "scopes": []authz.Scope{authz.ScopeWritePackages}}))
	w.keys[ofJob+" project"] = w.runningJob(project)
	w.keys[ofJob+" group"] = w.keys[ofJob+" project"]
	w.keys["job elsewhere"] = w.runningJob(other)
}

// runningJob has a job of a project run, and returns its token.
func (w *world) runningJob(id string) string {
	w.tb.Helper()
	ctx, path := context.WithoutCancel(w.tb.Context()), "/projects/"+id
	w.do("owner", "POST", path+"/repository/commits", obj{
		"branch": "token", "start_branch": "main", "commit_message": "Configure", "actions": []obj{{"action": "create", "file_path": ".gitlab-ci.yml", "content": configuration}},
	})
	w.do("owner", "POST", path+"/pipeline", obj{"ref": "token"})
	w.do("owner", "DELETE", path+"/repository/branches/token", nil)
	if err := w.jobs.Drain(ctx); err != nil { // the job gets its resource group
		w.tb.Fatal(err)
	}
	return w.takeJob(ctx, id, "glrt-of-the-running-job-"+id).Token
}

// caller is the name of the token of a column in a row.
func (c column) caller(r row) string {
	switch {
	case !c.placed:
		return c.as
	case r.place.values["projects/:id"] == "" && r.place.values["groups/:id"] != "":
		return c.as + " group"
	}
	return c.as + " project"
}

// packageBreaches checks what must hold for the tokens of those who publish packages, in every row.
func packageBreaches(r row, got map[string]int) (out []string) {
	audits := strings.Contains(r.route.Path, "/-/npm/v1/security/") // which read, by POST, with any token
	packages := slices.Contains(r.route.Scopes, authz.ScopeWritePackages)
	for _, c := range []string{"dep_r", "dep_w", "dep_o"} {
		status, asked := got[c]
		switch {
		case !asked || audits:
		case !packages && status != http.StatusUnauthorized:
			out = append(out, fmt.Sprintf("the deploy token %s got %d, want 401: this is no route of packages", c, status))
		case c == "dep_r" && good(status) && !reads(r.route):
			out = append(out, fmt.Sprintf("the deploy token %s, which reads, got %d", c, status))
		}
	}
	if r.place.name == "private" && !audits {
		for _, c := range []string{"dep_o", "job_o"} {
			if good(got[c]) && !good(got["strng"]) {
				out = append(out, fmt.Sprintf("the token of another project %s got %d", c, got[c]))
			}
		}
	}
	if r.route.Method == http.MethodDelete && (good(got["dep_w"]) && !strings.Contains(r.route.Path, "/dist-tags/")) {
		out = append(out, fmt.Sprintf("a deploy token deleted: %d", got["dep_w"]))
	}
	return out
}
