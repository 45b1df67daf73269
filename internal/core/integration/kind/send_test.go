package kind_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"tenon/internal/core/integration/integrationtest"
	"tenon/internal/core/integration/kind"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// recorder answers each call with a status, and with what is asked for.
type recorder struct {
	status int
	calls  strings.Builder
}

func (r *recorder) Call(_ context.Context, c kind.Request) (int, []byte, error) {
	method := c.Method
	if method == "" {
		method = http.MethodPost
	}
	fmt.Fprintf(&r.calls, "  %s %s\n", method, c.URL)
	for _, name := range slices.Sorted(maps.Keys(c.Header)) {
		fmt.Fprintf(&r.calls, "    %s: %s\n", name, c.Header[name])
	}
	if c.User != "" {
		fmt.Fprintf(&r.calls, "    Authorization: Basic %s\n", base64.StdEncoding.EncodeToString([]byte(c.User+":"+c.Password)))
	}
	if len(c.Body) > 0 {
		fmt.Fprintf(&r.calls, "    %s\n", c.Body)
	}
	if strings.HasSuffix(c.URL, "/transitions") && method == http.MethodGet {
		return r.status, []byte(`{"transitions":[{"id":"11","to":{"statusCategory":{"key":"indeterminate"}}},{"id":"31","to":{"statusCategory":{"key":"done"}}}]}`), nil
	}
	return r.status, nil, nil
}

func (r *recorder) Say(_ context.Context, host string, port int64, text []byte) error {
	fmt.Fprintf(&r.calls, "  %s port %d\n    %s", host, port, bytes.ReplaceAll(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"), []byte("\n    ")))
	r.calls.WriteString("\n")
	if r.status != http.StatusOK {
		return &kind.StatusError{Status: r.status}
	}
	return nil
}

// evil is a name that is markup everywhere.
const evil = "*x* <!channel> [a](http://evil) @all |"

// events are a push, a merge request and a pipeline.
func events() []*kind.Event {
	at := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	in := kind.Project{Name: "Team / Shop", Path: "team/shop", URL: "https://tenon.test/team/shop", Instance: "https://tenon.test"}
	by := kind.Person{Name: "Mia", Username: "mia"}
	main := kind.Ref{Name: "main", Default: true}
	sha := strings.Repeat("ab", 20)
	text := kind.Say("Mia (mia) pushed to branch ").Link("main", in.URL+"/-/commits/main").And(": ").Strong(evil)
	push := &kind.Event{
		Flag: "push_events", Kind: "push", At: at, Author: by, Project: in, Ref: main, Before: strings.Repeat("cd", 20), After: sha, Body: []byte(`{"object_kind":"push"}`), Comments: true,
		Commits: []kind.Commit{{
			ID: sha, Title: "Fix", Message: "Fix SHOP-12, closes #12345 [fixes #77] and SHOP-13", URL: in.URL + "/-/commit/" + sha, Author: "Mia", Email: "mia@tenon.test",
		}},
		Message: kind.Message{Text: text, Lines: []kind.Line{kind.Say(evil)}, Color: "#345"},
	}
	request := &kind.Event{
		Flag: "merge_requests_events", Kind: "merge_request", Action: "open", At: at, Author: by, Project: in, Source: kind.Ref{Name: "topic"}, URL: in.URL + "/-/merge_requests/1",
		Body: []byte(`{"object_kind":"merge_request"}`), Comments: true,
		Message: kind.Message{
			Text: kind.Say("Mia (mia) opened merge request"), Title: kind.Line{}.Link("!1 SHOP-12", in.URL+"/-/merge_requests/1"), Color: "#345", Thread: "merge request team/shop !1",
		},
	}
	pipeline := &kind.Event{
		Flag: "pipeline_events", Kind: "pipeline", At: at, Author: by, Project: in, Ref: main, After: sha, Status: "failed", URL: in.URL + "/-/pipelines/5",
		Body:    []byte(`{"object_kind":"pipeline"}`),
		Message: kind.Message{Text: kind.Say("Pipeline #5 has failed"), Color: "danger", Fields: []kind.Field{{Name: "Failed job", Text: kind.Say("test")}}},
	}
	issue := &kind.Event{
		Flag: "issues_events", Kind: "issue", Action: "open", At: at, Author: by, Project: in, Body: []byte(`{"object_kind":"issue"}`),
		Message: kind.Message{Text: kind.Say("Issue #1 opened by Mia (mia)"), Color: "#C95823", Thread: "issue team/shop #1"},
	}
	return []*kind.Event{push, request, pipeline, issue}
}

// TestSend compares what each kind sends of a push, a merge request, a pipeline and an issue with testdata/send.txt.
func TestSend(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	for _, k := range kind.All() {
		if k.Send == nil {
			continue
		}
		v := k.Defaults()
		maps.Copy(v, integrationtest.Values(k, false))
		fmt.Fprintf(&out, "%s\n", k.Slug)
		for _, e := range events() {
			if k.Flag(e.Flag) == "" {
				continue
			}
			for name, value := range map[string]string{"subdomain": "team", "room": "7", "token": "planted"} {
				if s := k.Setting(name); s != nil && v[name] == nil {
					v[name] = value
				}
			}
			if k.Setting("jira_issue_transition_automatic") != nil {
				v["jira_issue_transition_automatic"] = true
			}
			to := recorder{status: http.StatusOK}
			if err := k.Send(t.Context(), &to, v, e); err != nil {
				t.Errorf("%s: %s: %v", k.Slug, e.Kind, err)
			}
			if to.calls.Len() > 0 {
				fmt.Fprintf(&out, " %s\n%s", e.Kind, to.calls.String())
			}
		}
	}
	const name = "testdata/send.txt"
	if *update {
		if err := os.WriteFile(name, []byte(out.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != out.String() {
		t.Errorf("what integrations send has changed: run the test with -update and read the change of %s", name)
	}
}

// plain takes no markup.
type plain struct{ recorder }

func (p *plain) Call(ctx context.Context, c kind.Request) (int, []byte, error) {
	_, _, _ = p.recorder.Call(ctx, c)
	if strings.Contains(string(c.Body), "parse_mode") {
		return http.StatusBadRequest, nil, nil
	}
	return http.StatusOK, nil, nil
}

// TestSend_telegramWithoutMarkup sends a message again as plain text where its markup is refused.
func TestSend_telegramWithoutMarkup(t *testing.T) {
	t.Parallel()
	k, to := kind.Find("telegram"), &plain{}
	if err := k.Send(t.Context(), to, integrationtest.Values(k, false), events()[0]); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(to.calls.String(), "POST"); n != 2 {
		t.Errorf("%d calls:\n%s", n, to.calls.String())
	}
}

// TestSend_refused shows that a server that refuses, or fails, makes an error of every kind, and which.
func TestSend_refused(t *testing.T) {
	t.Parallel()
	for _, k := range kind.All() {
		for _, e := range events() {
			if k.Send == nil || k.Flag(e.Flag) == "" {
				continue
			}
			v := k.Defaults()
			maps.Copy(v, integrationtest.Values(k, false))
			to := recorder{status: http.StatusBadGateway}
			err := k.Send(t.Context(), &to, v, e)
			if to.calls.Len() > 0 && err == nil {
				t.Errorf("%s takes an error of the server for a success", k.Slug)
			}
			for name, value := range v {
				if text, ok := value.(string); ok && err != nil && k.Setting(name).Sealed() && len(text) > 3 && strings.Contains(err.Error(), text) {
					t.Errorf("%s: the error has the secret %s: %v", k.Slug, name, err)
				}
			}
		}
	}
}
