package browser

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"tenon/test/servertest"
)

// A user tries GraphQL in the explorer, with the session of the browser: it reads, it changes, it is
// told of a change, and it loads nothing from elsewhere.
func TestExplorer(t *testing.T) {
	t.Parallel()
	ctx, seen := open(t)
	s := servertest.Start(t, "")
	const password = "a passphrase for the browser"
	call(t, s, servertest.RootToken, "POST", "/users", map[string]any{"username": "ann", "name": "Ann", "email": "ann@example.com", "password": password, "skip_confirmation": true})
	do(ctx, t, "sign on", chromedp.Navigate(s.URL+"/-/profile"), fill("#user_login", "ann"), fill("#user_password", password), leave("main form button"))
	do(ctx, t, "switch scripts on", func(ctx context.Context, tab *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, tab, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: false})
		return chromedp.Void{}, err
	})
	ask := func(name, query, want string) {
		t.Helper()
		do(ctx, t, name, chromedp.Navigate(s.URL+"/-/graphql-explorer?"+url.Values{"query": {query}}.Encode()),
			chromedp.Click(chromedp.CSS("button.graphiql-execute-button")), eventually(".result-window", want))
	}
	ask("a query", "{ currentUser { username } }", `"ann"`)
	ask("an error", "{ currentUser { nothing } }", "doesn't exist on type")
	call(t, s, servertest.RootToken, "POST", "/projects", map[string]any{"name": "Tools", "visibility": "public"})
	call(t, s, servertest.RootToken, "POST", "/projects/root%2Ftools/members", map[string]any{"user_id": 2, "access_level": 40})
	ask("a mutation", `mutation { labelCreate(input: {projectPath: "root/tools", title: "sharp", color: "#ff0000"}) { label { title } errors } }`, `"sharp"`)
	if got := call(t, s, servertest.RootToken, "GET", "/projects/root%2Ftools/labels/sharp", nil); got["color"] != "#ff0000" {
		t.Errorf("the label is %v", got)
	}
	call(t, s, servertest.RootToken, "POST", "/projects/root%2Ftools/issues", map[string]any{"title": "Blunt"})
	do(ctx, t, "a subscription", chromedp.Navigate(s.URL+"/-/graphql-explorer?"+url.Values{"query": {`subscription { issuableTitleUpdated(issuableId: "gid://gitlab/Issue/1") { ... on Issue { title } } }`}}.Encode()),
		chromedp.Click(chromedp.CSS("button.graphiql-execute-button")), func(ctx context.Context, tab *chromedp.Target) (chromedp.Void, error) {
			for i := 0; ; i++ { // until the stream is open, changes are not told
				call(t, s, servertest.RootToken, "PUT", "/projects/root%2Ftools/issues/1", map[string]any{"title": fmt.Sprint("Sharper ", i)})
				soon, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
				_, err := eventually(".result-window", `"Sharper `)(soon, tab)
				cancel()
				if err == nil || ctx.Err() != nil {
					return chromedp.Void{}, err
				}
			}
		})
	for _, text := range seen.all() {
		if !strings.Contains(text, "favicon") {
			t.Errorf("the browser says: %s", text)
		}
	}
}

// eventually waits until what a selector finds holds a text.
func eventually(selector, want string) chromedp.Action[chromedp.Void] {
	return func(ctx context.Context, tab *chromedp.Target) (chromedp.Void, error) {
		for {
			_, err := sees(selector, want)(ctx, tab)
			if err == nil || ctx.Err() != nil {
				return chromedp.Void{}, err
			}
		}
	}
}
