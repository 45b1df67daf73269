package browser

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/chromedp"

	"tenon/test/servertest"
)

// complaints are what the browser objected to: what its policy refused, and failed requests.
type complaints struct {
	mu   sync.Mutex
	list []string
}

func (c *complaints) add(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, text)
}

func (c *complaints) all() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.list
}

// open starts a browser that ends with the test. Scripts of pages do not run in it.
func open(t *testing.T) (context.Context, *complaints) {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("chromium: skipped (not installed; test/setup.sh installs it on Debian)")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.UserDataDir(t.TempDir()))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	seen := &complaints{}
	if err := chromedp.Listen(ctx, seen.note); err != nil {
		t.Fatalf("start the browser: %v", err)
	}
	do(ctx, t, "switch scripts off", func(ctx context.Context, tab *chromedp.Target) (chromedp.Void, error) {
		var none chromedp.Void
		if _, err := cdp.Call(ctx, tab, log.Enable, cdp.Empty{}); err != nil {
			return none, err
		}
		if _, err := cdp.Call(ctx, tab, audits.Enable, cdp.Empty{}); err != nil {
			return none, err
		}
		_, err := cdp.Call(ctx, tab, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		return none, err
	})
	return ctx, seen
}

// note takes down what the browser reports.
func (c *complaints) note(event any) {
	switch e := event.(type) {
	case *log.EventEntryAdded:
		c.add(fmt.Sprint(e.Entry.Source, ": ", e.Entry.Text, " ", e.Entry.URL))
	case *audits.EventIssueAdded:
		if d := e.Issue.Details.ContentSecurityPolicyIssueDetails; d != nil {
			c.add("policy: " + d.ViolatedDirective)
		}
	}
}

// do runs steps that have to succeed, and says which page they failed on.
func do(ctx context.Context, t *testing.T, name string, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	step, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	if _, err := chromedp.Run(step, chromedp.Steps(steps...)); err != nil {
		where, _ := chromedp.Run(ctx, chromedp.Location()) // what there is to see
		text, _ := chromedp.Run(ctx, chromedp.Text(chromedp.CSS("body")))
		t.Fatalf("%s: %v at %s:\n%s", name, err, where, text)
	}
}

// value runs an action that has to succeed, for what it returns.
func value[T any](ctx context.Context, t *testing.T, name string, a chromedp.Action[T]) T {
	t.Helper()
	v, err := chromedp.Run(ctx, a)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return v
}

// sees refuses a page without a text in what a selector finds.
func sees(selector, want string) chromedp.Action[chromedp.Void] {
	return func(ctx context.Context, tab *chromedp.Target) (chromedp.Void, error) {
		text, err := chromedp.Text(chromedp.CSS(selector))(ctx, tab)
		if err == nil && !strings.Contains(text, want) {
			err = fmt.Errorf("got %q, want %q", text, want)
		}
		return chromedp.Void{}, err
	}
}

// leave clicks and waits for the page behind.
func leave(selector string) chromedp.Action[chromedp.Void] {
	return func(ctx context.Context, _ *chromedp.Target) (chromedp.Void, error) {
		_, err := chromedp.RunResponse(ctx, chromedp.Click(chromedp.CSS(selector)))
		return chromedp.Void{}, err
	}
}

func fill(selector, text string) chromedp.Action[chromedp.Void] {
	return chromedp.SendKeys(chromedp.CSS(selector), text)
}

// call asks the API.
func call(t *testing.T, s *servertest.Server, token, method, path string, body map[string]any) map[string]any {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL+"/api/v4"+path, bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Private-Token", token)
	res, err := (&http.Client{}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var out map[string]any
	if err := json.NewDecoder(res.Body).Decode(&out); err != nil || res.StatusCode >= 300 {
		t.Fatalf("%s %s: got %d %v, %v", method, path, res.StatusCode, out, err)
	}
	return out
}

// The address of a comment on a later page leads to it, without scripts.
func TestComments(t *testing.T) {
	t.Parallel()
	ctx, seen := open(t)
	s := servertest.Start(t, "")
	call(t, s, servertest.RootToken, "POST", "/projects", map[string]any{"name": "Tools", "visibility": "public"})
	call(t, s, servertest.RootToken, "POST", "/users", map[string]any{"username": "ann", "name": "Ann", "email": "ann@example.com", "password": "a passphrase for the browser", "skip_confirmation": true})
	call(t, s, servertest.RootToken, "POST", "/projects/1/issues", map[string]any{"title": "Long"})
	for i := range 25 {
		call(t, s, servertest.RootToken, "POST", "/projects/1/issues/1/notes", map[string]any{"body": fmt.Sprintf("comment %d.", i)})
	}
	do(ctx, t, "sign on", chromedp.Navigate(s.URL+"/users/sign_in"), fill("#user_login", "ann"), fill("#user_password", "a passphrase for the browser"), leave("main form button"))
	do(ctx, t, "the address of a comment", chromedp.Navigate(s.URL+"/root/tools/-/issues/1#note_24"), sees(".elsewhere a:target", "This comment is on page 2"),
		leave(".elsewhere a:target"), sees("article:target", "comment 23."))
	do(ctx, t, "one on the first page", chromedp.Navigate(s.URL+"/root/tools/-/issues/1#note_3"), sees("article:target", "comment 2."))
	for _, text := range seen.all() {
		t.Errorf("the browser says: %s", text)
	}
}

// A person signs on, makes a token and a key, looks at a project, makes a merge request and
// signs off: without scripts, and without anything that the policy of the pages refuses.
func TestPages(t *testing.T) {
	t.Parallel()
	ctx, seen := open(t)
	s := servertest.Start(t, "")
	const password = "a passphrase for the browser"
	call(t, s, servertest.RootToken, "POST", "/users", map[string]any{"username": "ann", "name": "Ann", "email": "ann@example.com", "password": password, "skip_confirmation": true})
	project := call(t, s, servertest.RootToken, "POST", "/projects", map[string]any{"name": "Tools", "visibility": "public", "description": "Sharp *tools*"})
	id := fmt.Sprint(project["id"])
	at := "/projects/" + id
	call(t, s, servertest.RootToken, "POST", at+"/repository/commits", map[string]any{"branch": "main", "commit_message": "First", "actions": []map[string]any{
		{"action": "create", "file_path": "README.md", "content": "# Read\n\n| a |\n|:-:|\n| b |\n\n<b style=\"color:red\" onclick=\"x\">raw</b>\n\n![logo](logo.png) ![far](https://far.example/x.png)\n"},
		{"action": "create", "file_path": "src/main.go", "content": "package main\n"},
		{"action": "create", "file_path": "logo.png", "encoding": "base64", "content": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="},
	}})
	call(t, s, servertest.RootToken, "POST", at+"/members", map[string]any{"user_id": 2, "access_level": 30})
	call(t, s, servertest.RootToken, "POST", at+"/repository/branches", map[string]any{"branch": "side", "ref": "main"})
	call(t, s, servertest.RootToken, "POST", at+"/repository/commits", map[string]any{"branch": "side", "commit_message": "Second", "actions": []map[string]any{
		{"action": "create", "file_path": "more.txt", "content": "more\n"},
	}})
	call(t, s, servertest.RootToken, "POST", at+"/issues", map[string]any{"title": "Broken hammer", "description": "It *broke*"})
	call(t, s, servertest.RootToken, "POST", at+"/issues/1/notes", map[string]any{"body": "I saw it"})

	do(ctx, t, "a page that wants a session", chromedp.Navigate(s.URL+"/-/profile/personal_access_tokens"), sees("h1", "Sign in"))
	do(ctx, t, "a wrong password", fill("#user_login", "ann"), fill("#user_password", "wrong"),
		leave("main form button"), sees(".error", "Invalid login or password."))
	do(ctx, t, "sign on", fill("#user_password", password), leave("main form button"), sees(".tabs", "Access tokens"))
	do(ctx, t, "make a token", fill("#token_name", "laptop"), chromedp.Click(chromedp.CSS(`input[value="read_api"]`)), leave("main form.form button"))
	token := value(ctx, t, "read the token", chromedp.Value(chromedp.CSS("#created_token")))
	if me := call(t, s, token, "GET", "/user", nil); me["username"] != "ann" {
		t.Errorf("the token is of %v", me)
	}
	const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAWcZSmzuAKZQ1jd1wEaUJZGcmX+dKtGmNzpy5nYtRIE ann@laptop"
	do(ctx, t, "add a key", chromedp.Navigate(s.URL+"/-/profile/keys"), fill("#key_text", key), leave("main form.form button"),
		sees(".note", "The key is added."), sees(".rows", "ann@laptop"))
	do(ctx, t, "the project", chromedp.Navigate(s.URL+"/root/tools"), sees("h1", "Tools"), sees("main", "Sharp tools"), sees("main", "raw"))
	do(ctx, t, "a folder", leave(`a[href="/root/tools/-/tree/main/src"]`), sees("table", "main.go"))
	do(ctx, t, "a file", leave(`a[href="/root/tools/-/blob/main/src/main.go"]`), sees("table", "package main"))
	do(ctx, t, "the issues", leave(`.tabs a[href="/root/tools/-/issues"]`), leave(`a[href="/root/tools/-/issues/1"]`), sees("h1", "Broken hammer"), sees("main", "I saw it"))
	do(ctx, t, "a merge request", chromedp.Navigate(s.URL+"/root/tools/-/merge_requests/new?merge_request%5Bsource_branch%5D=side"),
		leave("main form.form button"), sees("h1", "side"), leave(`a[href="/root/tools/-/merge_requests/1/diffs"]`), sees("table", "more"))
	for _, theme := range []string{"light", "dark"} {
		do(ctx, t, theme, func(ctx context.Context, tab *chromedp.Target) (chromedp.Void, error) {
			_, err := cdp.Call(ctx, tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
				Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}},
			})
			return chromedp.Void{}, err
		}, chromedp.Navigate(s.URL+"/root/tools"))
		shot := value(ctx, t, theme, chromedp.CaptureScreenshot())
		if len(shot) < 1000 {
			t.Errorf("%s: got a picture of %d bytes", theme, len(shot))
		}
	}
	do(ctx, t, "sign off", leave(".bar form button"), sees(".note", "You are signed out."))
	do(ctx, t, "afterwards", chromedp.Navigate(s.URL+"/-/profile"), sees("h1", "Sign in"))
	for _, text := range seen.all() {
		if !strings.Contains(text, "422") { // of the wrong password
			t.Errorf("the browser says: %s", text)
		}
	}
}
