package api_test

import (
	"math"
	"net/http/httptest"
	"strings"
	"testing"

	"tenon/internal/transport/rest/api"
)

// pageHeaders gives the headers of a page in one line: per, page, next, prev, total, pages.
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
	got := call(t, k, "GET /things/1/keys?pagination=keyset&per_page=2")
	want := `<https://git.example.com/api/v4/things/1/keys?id=1&id_after=2&page=1&pagination=keyset&per_page=2&sort=desc>; rel="next"`
	if link := got.Header().Get("Link"); link != want {
		t.Errorf("Link\n got %s\nwant %s", link, want)
	}
	if h := pageHeaders(got); h != "- - - - - -" {
		t.Errorf("a keyset list has offset headers: %s", h)
	}
	if n, p := got.Header()["X-Next-Cursor"], got.Header()["X-Prev-Cursor"]; len(n) != 1 || n[0] != "n" || p != nil {
		t.Errorf("cursors are %v and %v", n, p)
	}
	got = call(t, k, "GET /things/last/keys?pagination=keyset")
	if _, ok := got.Header()["Link"]; ok || got.Body.String() != "[]" {
		t.Errorf("the end: got %s with Link %s", got.Body, got.Header().Get("Link"))
	}
	got = call(t, k, "GET /things/1/keys")
	if want := `{"error":"Keyset pagination is not yet available for this type of request"}`; got.Code != 405 || got.Body.String() != want {
		t.Errorf("got %d %s, want 405 %s", got.Code, got.Body, want)
	}
}

func TestCursor(t *testing.T) {
	c := api.Cursor{Columns: []api.Column{{Name: "name", Value: `x"<y>`}, {Name: "id", Value: "26"}}}
	text := c.Encode()
	if want := "eyJuYW1lIjoieFwiPHk-IiwiaWQiOiIyNiIsIl9rZCI6Im4ifQ=="; text != want {
		t.Errorf("Encode gives %s, want %s", text, want)
	}
	back, err := api.ParseCursor(strings.TrimRight(text, "="), "name", "id")
	if err != nil || len(back.Columns) != 2 || back.Columns[0] != c.Columns[0] || back.Columns[1] != c.Columns[1] || back.Back {
		t.Errorf("ParseCursor gives %+v, %v", back, err)
	}
	for _, s := range []string{"x", "e30=", "bnVsbA==", "eyJpZCI6MX0=", "!!"} {
		if _, err := api.ParseCursor(s, "id"); err == nil || err.Error() != "cursor is invalid" {
			t.Errorf("ParseCursor(%q) gives %v, want a refusal", s, err)
		}
	}
	if c, err := api.ParseCursor("", "id"); c != nil || err != nil {
		t.Errorf("the start of a list gives %v, %v", c, err)
	}
}

func TestPage_offset(t *testing.T) {
	for _, tt := range []struct{ number, per, want int }{
		{1, 20, 0}, {3, 20, 40}, {math.MaxInt, 100, math.MaxInt32}, {math.MaxInt32, 1, math.MaxInt32 - 1},
	} {
		if got := (api.Page{Number: tt.number, PerPage: tt.per}).Offset(); got != tt.want {
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
