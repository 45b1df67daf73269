package api_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/errs"
	"tenon/internal/base/ratelimit"
	"tenon/internal/core/account"
	"tenon/internal/core/award"
	"tenon/internal/core/badge"
	"tenon/internal/core/ci"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/namespace"
	"tenon/internal/core/note"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
	"tenon/internal/core/search"
	"tenon/internal/core/token"
	"tenon/internal/core/variable"
	"tenon/internal/transport/rest/api"
)

var waiting = &ratelimit.Exceeded{After: 10 * time.Minute, Usage: ratelimit.Usage{Limit: ratelimit.Limit{Every: time.Minute}}}

var failures = map[string]error{
	"invalid":         errs.Plain("Branch cannot be merged"),
	"invalid-empty":   errs.New(errs.Invalid, ""),
	"fields":          &errs.Error{Fields: []errs.Field{{Name: "title", Messages: []string{"can't be blank", `is <too> "long"`}}, {Name: "base", Messages: []string{"x"}}}, Kind: errs.Invalid},
	"list":            errs.Sentences(errs.Invalid, "a", "b"),
	"bad":             errs.Bad(`"title" not given`),
	"bad-empty":       errs.Bad(""),
	"unauthorized":    errs.New(errs.Unauthorized, ""),
	"denied":          errs.Denied("Not authorized!"),
	"denied-empty":    errs.Denied(""),
	"missing":         errs.Missing("Project"),
	"missing-empty":   errs.Missing(""),
	"missing-bare":    &errs.Error{Kind: errs.NotFound, Message: "404 Not Found", Bare: true},
	"not-allowed":     errs.New(errs.NotAllowed, ""),
	"not-allowed-why": errs.New(errs.NotAllowed, "405 why"),
	"not-acceptable":  errs.New(errs.NotAcceptable, ""),
	"conflict":        errs.New(errs.Conflict, ""),
	"conflict-lock":   errs.Coded(errs.Conflict, mergerequest.CodeLocked, ""),
	"no-merge":        errs.Coded(errs.NotAllowed, mergerequest.CodeNotMergeable, "it is closed"),
	"no-token":        errs.Coded(errs.NotFound, token.CodeNoToken, ""),
	"no-revision":     errs.Coded(errs.NotFound, repo.CodeNoRevision, ""),
	"no-invitation":   errs.Coded(errs.NotFound, namespace.CodeNotInvitable, ""),
	"taken":           errs.Coded(errs.Conflict, account.CodeTaken, "Email has already been taken"),
	"group": &errs.Error{Kind: errs.Invalid, Code: namespace.CodeNotSaved, Fields: []errs.Field{
		{Name: "path", Messages: []string{`is "taken"`, "is bad"}}, {Name: "name", Messages: []string{"can't be blank"}},
	}},
	"transfer":      errs.Broken(project.CodeNotTransferred, "new_namespace", "is the same"),
	"note":          fmt.Errorf("create note: %w", errs.Broken(note.CodeInvalid, "note", "can't be blank")),
	"award":         errs.Broken(award.CodeInvalid, "name", "is not a valid emoji name"),
	"award-twice":   &errs.Error{Kind: errs.Conflict, Code: award.CodeInvalid, Fields: []errs.Field{{Name: "name", Messages: []string{"has already been taken"}}}},
	"no-pipeline":   errs.Coded(errs.NotFound, ci.CodeNoPipeline, "Pipeline"),
	"transition":    &errs.Error{Kind: errs.Invalid, Code: ci.CodeTransition, Err: &ci.TransitionError{Event: "enqueue", From: ci.Running}},
	"one-project":   errs.Coded(errs.Invalid, search.CodeOneProject, "one at a time"),
	"group-badge":   errs.Coded(errs.BadRequest, badge.CodeOfGroup, "of a group"),
	"scope-missing": errs.Coded(errs.Conflict, variable.CodeAmbiguous, "several"),
	"path-of-group": errs.Coded(errs.Invalid, namespace.CodeWrongPath, "another"),
	"code-unworded": errs.Coded(errs.Conflict, "another", "Label already exists"),
	"conflict-list": errs.Sentences(errs.Conflict, "Another open merge request already exists for this source branch: !1"),
	"precondition":  errs.New(errs.PreconditionFailed, ""),
	"too-large":     errs.New(errs.TooLarge, ""),
	"unprocessable": errs.New(errs.Unprocessable, ""),
	"many":          errs.New(errs.TooMany, ""),
	"many-waiting":  fmt.Errorf("limit: %w", &errs.Error{Kind: errs.TooMany, Message: "Slow down.", Err: waiting}),
	"not-modified":  errs.New(errs.NotModified, ""),
	"unavailable":   errs.New(errs.Unavailable, ""),
	"wrapped":       fmt.Errorf("find: %w", errs.Missing("Note")),
	"hidden":        &errs.Error{Kind: errs.Internal, Message: "secret detail"},
	"param":         api.BadParam("assignee_username allows one value, but found 2: a, b"),
	"offset":        api.Page{Number: 2502, PerPage: 20}.CheckOffset("Project"),
	"moved":         &api.Moved{ID: 42},
	"answer":        fmt.Errorf("fork: %w", &api.Answer{Status: 403, Body: map[string][]string{"error": {"a"}}}),
	"answer-broken": &api.Answer{Status: 403, Body: func() {}},
	"cancelled":     fmt.Errorf("load: %w", context.Canceled),
}

func TestKit_errors(t *testing.T) {
	k := (&toy{}).kit()
	tests := []struct {
		id     string
		status int
		body   string
	}{
		{"invalid", 400, `{"message":"Branch cannot be merged"}`},
		{"invalid-empty", 400, `{"message":"400 Bad request"}`},
		{"fields", 400, `{"message":{"title":["can't be blank","is <too> \"long\""],"base":["x"]}}`},
		{"list", 400, `{"message":["a","b"]}`},
		{"bad", 400, `{"message":"400 Bad request - \"title\" not given"}`},
		{"bad-empty", 400, `{"message":"400 Bad request"}`},
		{"unauthorized", 401, `{"message":"401 Unauthorized"}`},
		{"denied", 403, `{"message":"403 Forbidden - Not authorized!"}`},
		{"denied-empty", 403, `{"message":"403 Forbidden"}`},
		{"missing", 404, `{"message":"404 Project Not Found"}`},
		{"missing-empty", 404, `{"message":"404 Not found"}`},
		{"missing-bare", 404, `{"message":"404 Not Found"}`},
		{"not-allowed", 405, `{"message":"405 Method Not Allowed"}`},
		{"not-allowed-why", 405, `{"message":"405 why"}`},
		{"not-acceptable", 406, `{"message":"406 Not Acceptable"}`},
		{"conflict", 409, `{"message":"409 Conflict"}`},
		{"conflict-lock", 409, `{"message":"409 Conflict: Resource lock"}`},
		{"no-merge", 405, `{"message":"405 Method Not Allowed - it is closed"}`},
		{"no-token", 404, `{"message":"404 Not Found"}`},
		{"no-revision", 404, `{"message":"404 Not Found"}`},
		{"no-invitation", 404, `{"message":"Not Found"}`},
		{"taken", 404, `{"message":"Email has already been taken"}`},
		{"group", 400, `{"message":"Failed to save group {:path=>[\"is \\\"taken\\\"\", \"is bad\"], :name=>[\"can't be blank\"]}"}`},
		{"transfer", 400, `{"message":"Failed to transfer project {:new_namespace=>[\"is the same\"]}"}`},
		{"note", 400, `{"message":"400 Bad request - Note {:note=>[\"can't be blank\"]}"}`},
		{"award", 404, `{"message":"404 Award Emoji Name is not a valid emoji name Not Found"}`},
		{"award-twice", 404, `{"message":"404 Award Emoji Name has already been taken Not Found"}`},
		{"no-pipeline", 403, `{"message":"403 Forbidden"}`},
		{"transition", 400, `{"message":"Cannot transition status via :enqueue from :running (Reason(s): Status cannot transition via \"enqueue\")"}`},
		{"one-project", 400, `{"message":"Scope not supported without Elasticsearch!"}`},
		{"group-badge", 400, `{"message":"400 Bad request - To delete a Group badge please use the Group endpoint"}`},
		{"scope-missing", 409, `{"message":"There are multiple variables with provided parameters. Please use 'filter[environment_scope]'"}`},
		{"path-of-group", 400, "{\"message\":\"`full_path` is incorrect. You must enter the complete path for the subgroup.\"}"},
		{"code-unworded", 409, `{"message":"Label already exists"}`},
		{"conflict-list", 409, `{"message":["Another open merge request already exists for this source branch: !1"]}`},
		{"precondition", 412, `{"message":"412 Precondition Failed"}`},
		{"too-large", 413, `{"message":"413 Request Entity Too Large"}`},
		{"unprocessable", 422, `{"message":"422 Unprocessable Entity"}`},
		{"many", 429, `{"message":{"error":"This endpoint has been requested too many times. Try again later."}}`},
		{"many-waiting", 429, `{"message":{"error":"Slow down."}}`},
		{"not-modified", 304, ``},
		{"unavailable", 503, `{"message":"503 Service Unavailable"}`},
		{"wrapped", 404, `{"message":"404 Note Not Found"}`},
		{"hidden", 500, `{"message":"500 Internal Server Error"}`},
		{"unknown", 500, `{"message":"500 Internal Server Error"}`},
		{"panic", 500, `{"message":"500 Internal Server Error"}`},
		{"answer", 403, `{"error":["a"]}`},
		{"answer-broken", 500, `{"message":"500 Internal Server Error"}`},
		{"param", 400, `{"error":"assignee_username allows one value, but found 2: a, b"}`},
		{"offset", 405, `{"error":"Offset pagination has a maximum allowed offset of 50000 for requests that return objects of type Project. Remaining records can be retrieved using keyset pagination."}`},
		{"moved", 301, `This resource has been moved permanently to https://git.example.com/api/v4/things/42/fail?a=1`},
	}
	for _, tt := range tests {
		t.Run(tt.id, func(t *testing.T) {
			got := call(t, k, "GET /things/"+tt.id+"/fail?a=1")
			if got.Code != tt.status || got.Body.String() != tt.body {
				t.Errorf("got %d %s\nwant %d %s", got.Code, got.Body, tt.status, tt.body)
			}
			want := "application/json"
			switch tt.status {
			case http.StatusNotModified:
				want = ""
			case http.StatusMovedPermanently:
				want = "text/plain"
			}
			if kind := got.Header().Get("Content-Type"); kind != want {
				t.Errorf("Content-Type is %q, want %q", kind, want)
			}
		})
	}
}

func TestKit_retryAfter(t *testing.T) {
	k := (&toy{}).kit()
	for id, want := range map[string]string{"many": "60", "many-waiting": "600", "unavailable": "10"} {
		if got := call(t, k, "GET /things/"+id+"/fail").Header().Get("Retry-After"); got != want {
			t.Errorf("%s: Retry-After is %q, want %q", id, got, want)
		}
	}
}

func TestKit_moved(t *testing.T) {
	k := (&toy{}).kit()
	got := call(t, k, "POST /things/moved/fail")
	if want := `{"message":"Non GET methods are not allowed for moved projects"}`; got.Code != 405 || got.Body.String() != want {
		t.Errorf("got %d %s, want 405 %s", got.Code, got.Body, want)
	}
	got = call(t, k, "GET /things/moved/fail")
	if want := "https://git.example.com/api/v4/things/42/fail"; got.Header().Get("Location") != want {
		t.Errorf("Location is %q, want %q", got.Header().Get("Location"), want)
	}
}

func TestKit_failuresAreLoggedOnce(t *testing.T) {
	s := &toy{}
	k := s.kit()
	for _, id := range []string{"unknown", "panic"} {
		s.log.Reset()
		got := call(t, k, "GET /things/"+id+"/fail\nX-Request-Id: req-1")
		if strings.Contains(got.Body.String(), "secret") {
			t.Errorf("%s: the body tells the detail: %s", id, got.Body)
		}
		log := s.log.String()
		if n := strings.Count(log, "secret detail"); n != 1 {
			t.Errorf("%s: the detail is logged %d times, want once:\n%s", id, n, log)
		}
		if !strings.Contains(log, `"level":"ERROR"`) || !strings.Contains(log, `"request_id":"req-1"`) {
			t.Errorf("%s: no error line with the request id in:\n%s", id, log)
		}
	}
}
