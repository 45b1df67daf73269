package api_test

import (
	"fmt"
	"math"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"tenon/internal/base/page"
	"tenon/internal/transport/rest/api"
)

// pageHeaders returns the headers of a page in one line: per, page, next, prev, total, pages.
func pageHeaders(w *httptest.ResponseRecorder) string {
	var out []string
	for _, name := range []string{"X-Per-Page", "X-Page", "X-Next-Page", "X-Prev-Page", "X-Total", "X-Total-Pages"} {
		v, ok := w.Header()[name]
		switch {
		case !ok:
			out = append(out, "-")
		case v[0] == "":
			out = append(out, "''")
		default:
			out = append(out, v[0])
		}
	}
	return strings.Join(out, " ")
}

func TestKit_offsetPages(t *testing.T) {
	k := (&toy{}).kit()
	tests := []struct {
		query   string
		status  int
		headers string
		rels    string // of the Link header, with the page each leads to
	}{
		{"45/parts", 200, "20 1 2 '' 45 3", "next=2 first=1 last=3"},
		{"45/parts?page=2", 200, "20 2 3 1 45 3", "prev=1 next=3 first=1 last=3"},
		{"45/parts?page=3", 200, "20 3 '' 2 45 3", "prev=2 first=1 last=3"},
		{"45/parts?page=4", 200, "20 4 '' '' 45 3", "first=1 last=3"},
		{"45/parts?page=99", 200, "20 99 '' '' 45 3", "first=1 last=3"},
		{"45/parts?page=0", 200, "20 1 2 '' 45 3", "next=2 first=1 last=3"},
		{"45/parts?page=-3", 200, "20 1 2 '' 45 3", "next=2 first=1 last=3"},
		{"45/parts?page=", 200, "20 1 2 '' 45 3", "next=2 first=1 last=3"},
		{"45/parts?per_page=9", 200, "9 1 2 '' 45 5", "next=2 first=1 last=5"},
		{"45/parts?per_page=500", 200, "100 1 '' '' 45 1", "first=1 last=1"},
		{"45/parts?per_page=-1", 200, "20 1 2 '' 45 3", "next=2 first=1 last=3"},
		{"45/parts?page=9223372036854775807", 200, "20 9223372036854775807 '' '' 45 3", "first=1 last=3"},
		{"empty/parts", 200, "20 1 '' '' 0 1", "first=1 last=1"},
		{"full/parts", 200, "20 1 2 '' 10000 500", "next=2 first=1 last=500"},
		{"many/parts", 200, "20 1 2 '' - -", "next=2 first=1"},
		{"many/parts?page=501", 200, "20 501 '' 500 - -", "prev=500 first=1"},
		{"uncounted/parts?page=2", 200, "20 2 3 1 - -", "prev=1 next=3 first=1"},
		{"uncounted/parts?page=3", 200, "20 3 '' 2 - -", "prev=2 first=1"},
	}
	for _, tt := range tests {
		t.Run(tt.query, func(t *testing.T) {
			got := call(t, k, "GET /things/"+tt.query)
			if got.Code != tt.status {
				t.Fatalf("got %d %s", got.Code, got.Body)
			}
			if h := pageHeaders(got); h != tt.headers {
				t.Errorf("headers\n got %s\nwant %s", h, tt.headers)
			}
			var rels []string
			for link := range strings.SplitSeq(got.Header().Get("Link"), ", ") {
				url, rel, _ := strings.Cut(strings.TrimPrefix(link, "<"), `>; rel="`)
				_, page, _ := strings.Cut(url, "&page=")
				page, _, _ = strings.Cut(page, "&")
				rels = append(rels, strings.TrimSuffix(rel, `"`)+"="+page)
			}
			if r := strings.Join(rels, " "); r != tt.rels {
				t.Errorf("links\n got %s\nwant %s", r, tt.rels)
			}
		})
	}
}

func TestKit_pageRefusals(t *testing.T) {
	k := (&toy{}).kit()
	for query, want := range map[string]string{
		"per_page=0": `{"error":"per_page has a value not allowed"}`,
		"per_page=x": `{"error":"per_page is invalid"}`,
		"page=x":     `{"error":"page is invalid"}`,
		"page=1.5":   `{"error":"page is invalid"}`,
	} {
		if got := call(t, k, "GET /things/45/parts?"+query); got.Code != 400 || got.Body.String() != want {
			t.Errorf("%s: got %d %s, want 400 %s", query, got.Code, got.Body, want)
		}
	}
	if got := call(t, k, "GET /things/empty/parts"); got.Body.String() != "[]" {
		t.Errorf("an empty list is %s", got.Body)
	}
}

func TestKit_links(t *testing.T) {
	k := (&toy{}).kit()
	got := call(t, k, "GET /things/45/parts?page=2&state=a+b%26c&iids[]=1&iids[]=2&filter[x]=y&private_token=ann&sort=asc")
	const base = "<https://git.example.com/api/v4/things/45/parts?filter%5Bx%5D=y&id=45&iids%5B%5D=1&iids%5B%5D=2&page="
	const rest = "&per_page=20&sort=asc&state=a+b%26c>; rel="
	want := base + "1" + rest + `"prev", ` + base + "3" + rest + `"next", ` + base + "1" + rest + `"first", ` + base + "3" + rest + `"last"`
	if link := got.Header().Get("Link"); link != want {
		t.Errorf("Link\n got %s\nwant %s", link, want)
	}
	got = call(t, k, "GET /things/uncounted/parts?per_page=3")
	want = `<https://git.example.com/api/v4/things/uncounted/parts?id=uncounted&page=2&per_page=3&sort=desc>; rel="next", ` +
		`<https://git.example.com/api/v4/things/uncounted/parts?id=uncounted&page=1&per_page=3&sort=desc>; rel="first"`
	if link := got.Header().Get("Link"); link != want {
		t.Errorf("Link with defaults\n got %s\nwant %s", link, want)
	}
}

func TestKit_keyset(t *testing.T) {
	k := (&toy{}).kit()
	order := page.Order{page.ID("")}
	next := order.Cursor(int64(2))
	link := func(path, params string) string {
		return "<https://git.example.com/api/v4/things/" + path + "?" + params + `>; rel="next"`
	}
	tests := []struct{ name, path, body, link, next, prev string }{
		{
			"start", "1/keys?pagination=keyset&per_page=2", "[1,2]",
			link("1/keys", "cursor="+url.QueryEscape(next)+"&id=1&page=1&pagination=keyset&per_page=2&sort=desc"), next, "",
		},
		{
			"middle", "1/keys?pagination=keyset&per_page=2&sort=asc&cursor=" + next, "[3,4]",
			link("1/keys", "cursor="+url.QueryEscape(order.Cursor(int64(4)))+"&id=1&page=1&pagination=keyset&per_page=2&sort=asc"),
			order.Cursor(int64(4)), "eyJpZCI6IjMiLCJfa2QiOiJwIn0=",
		},
		{"end", "1/keys?pagination=keyset&per_page=5", "[1,2,3,4,5]", "", "", ""},
		{"nothing", "last/keys?pagination=keyset", "[]", "", "", ""},
		{
			"led by a parameter of its own", "led/keys?pagination=keyset&per_page=2&cursor=", "[1,2]",
			link("led/keys", "cursor=&id=led&id_after=2&page=1&pagination=keyset&per_page=2&sort=desc"), "", "",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := call(t, k, "GET /things/"+tt.path)
			if got.Code != 200 || got.Body.String() != tt.body {
				t.Fatalf("got %d %s, want %s", got.Code, got.Body, tt.body)
			}
			if link := got.Header().Get("Link"); link != tt.link {
				t.Errorf("Link\n got %s\nwant %s", link, tt.link)
			}
			if h := pageHeaders(got); h != "- - - - - -" {
				t.Errorf("a keyset list has offset headers: %s", h)
			}
			if n, p := got.Header().Get("X-Next-Cursor"), got.Header().Get("X-Prev-Cursor"); n != tt.next || p != tt.prev {
				t.Errorf("cursors are %q and %q, want %q and %q", n, p, tt.next, tt.prev)
			}
		})
	}
	for path, want := range map[string]string{
		"odd/keys?pagination=keyset":          `405 {"error":"Keyset pagination is not yet available for this type of request"}`,
		"1/keys?pagination=keyset&cursor=bad": `400 {"error":"cursor is invalid"}`,
		"odd/keys?cursor=bad&per_page=1":      "200 [1]",
	} {
		if got := call(t, k, "GET /things/"+path); fmt.Sprint(got.Code, " ", got.Body) != want {
			t.Errorf("%s: got %d %s, want %s", path, got.Code, got.Body, want)
		}
	}
}

func TestPage_offset(t *testing.T) {
	for _, tt := range []struct{ number, per, want int }{
		{1, 20, 0}, {3, 20, 40}, {math.MaxInt, 100, math.MaxInt32}, {math.MaxInt32, 1, math.MaxInt32 - 1},
	} {
		if got := (api.Page{Number: tt.number, PerPage: tt.per}).Range().Offset; got != tt.want {
			t.Errorf("page %d of %d starts at %d, want %d", tt.number, tt.per, got, tt.want)
		}
	}
	if err := (api.Page{Number: 2500, PerPage: 20}).CheckOffset("Project"); err != nil {
		t.Errorf("the last page allowed is refused: %v", err)
	}
	if err := (api.Page{Number: 9999, PerPage: 100, Mode: "keyset"}).CheckOffset("Project"); err != nil {
		t.Errorf("a keyset page is refused: %v", err)
	}
}
