package rest

import (
	"fmt"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"testing"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/transport/rest/api"
)

// unbounded are the parameters that may be long or large: why is behind each.
func unbounded() map[string]string {
	return map[string]string{
		"note":         "a million characters of administrators' remarks",
		"namespace_id": "a number that names nothing is refused by another word",
	}
}

// nested are the parameters inside of others.
func nested() []string {
	out := []string{}
	for _, name := range []string{"cadence", "older_than", "name_regex", "name_regex_keep", "keep_n"} {
		out = append(out, "container_expiration_policy_attributes["+name+"]")
	}
	return out
}

// Whatever a text or number is for, there is an end to it: a row is read with every list
// that it is on.
func TestParameters_have_bounds(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlaces(t, d)
		user, _ := p.signUp("ann")
		app := get[gitlab.Project](p, adminToken, "POST", "/projects", "name=app", 201)
		team := get[gitlab.Group](p, adminToken, "POST", "/groups", "name=team&path=team", 201)
		n := 0
		for _, route := range p.kit.Routes() {
			at := map[string]string{
				"POST /projects": "/projects", "PUT /projects/:id": fmt.Sprintf("/projects/%d", app.ID),
				"POST /groups": "/groups", "PUT /groups/:id": fmt.Sprintf("/groups/%d", team.ID),
				"POST /users": "/users", "PUT /users/:id": fmt.Sprintf("/users/%d", user),
				"POST /projects/:id/badges": fmt.Sprintf("/projects/%d/badges", app.ID),
			}[route.Method+" "+route.Path]
			if at == "" {
				continue
			}
			for name, values := range tooMuch(route, strings.Contains(at, "/projects") && !strings.Contains(at, "badges")) {
				for _, value := range values {
					n++
					form := valid(route.Method+" "+route.Path, n)
					if name == "password" { // it counts only then
						form.Del("force_random_password")
					}
					form.Set(name, value)
					w, body := p.call(adminToken, route.Method, at, form.Encode())
					if w.Code < 400 || w.Code >= 500 {
						t.Errorf("%s %s with %s of %.20s: got %d %.300s", route.Method, route.Path, name, value, w.Code, body)
					}
				}
			}
		}
		if n < 100 {
			t.Errorf("only %d values were tried", n)
		}
	})
}

// valid returns the parameters that a call needs.
func valid(route string, n int) url.Values {
	switch route {
	case "POST /projects", "POST /groups":
		return url.Values{"name": {fmt.Sprintf("n%d", n)}, "path": {fmt.Sprintf("n%d", n)}}
	case "POST /users":
		return url.Values{
			"name": {"N"}, "username": {fmt.Sprintf("n%d", n)}, "email": {fmt.Sprintf("n%d@example.com", n)}, "force_random_password": {"true"},
		}
	case "POST /projects/:id/badges":
		return url.Values{"link_url": {"https://example.com"}, "image_url": {"https://example.com"}}
	}
	return url.Values{}
}

// tooMuch returns for each text and number that a route takes values beyond all reason.
func tooMuch(route api.Info, project bool) map[string][]string {
	long, numbers := strings.Repeat("x", 100_000), []string{strconv.Itoa(1 << 60), "-1"}
	out := map[string][]string{}
	for _, param := range route.Params {
		if param.InPath || param.Values != nil || unbounded()[param.Name] != "" {
			continue
		}
		switch reflect.Zero(param.Type).Interface().(type) {
		case *string, string:
			out[param.Name] = []string{long}
		case api.Strings, *[]string, []string:
			out[param.Name+"[]"] = []string{long}
		case *int64, int64, api.Opt[int64]:
			out[param.Name] = numbers
		}
	}
	if project {
		for _, name := range nested() {
			out[name] = []string{long}
		}
		out["container_expiration_policy_attributes[keep_n]"] = numbers
	}
	return out
}
