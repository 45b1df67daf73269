package api_test

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tenon/internal/transport/rest/api"
)

func TestKit_bodyTypes(t *testing.T) {
	k := (&toy{}).kit()
	const created = `{"id":3,"name":"x","labels":["a","b"],"created_at":"2023-05-22T10:11:12.345Z","closed_at":null,"due_date":null,"pipeline":null}`
	send := func(kind, body string) string {
		return "POST /things\nPRIVATE-TOKEN: ann\nContent-Type: " + kind + "\n\n" + body
	}
	tests := []struct {
		name, request string
		status        int
		body          string
	}{
		{"json", send("application/json", `{"name":"x","count":3,"labels":"a,b"}`), 201, created},
		{"form", send("application/x-www-form-urlencoded", `name=x&count=3&labels[]=a&labels[]=b`), 201, created},
		{"no type is a form", "POST /things\nPRIVATE-TOKEN: ann\n\nname=x&count=3&labels=a,b", 201, created},
		{"query", "POST /things?name=x&count=3&labels=a,b\nPRIVATE-TOKEN: ann", 201, created},
		{"body wins over query", "POST /things?name=y&count=3&labels=a,b\nPRIVATE-TOKEN: ann\nContent-Type: application/json\n\n{\"name\":\"x\"}", 201, created},
		{"type of an empty body", "POST /things?name=x&count=3&labels=a,b\nPRIVATE-TOKEN: ann\nContent-Type: text/plain", 201, created},
		{"text", send("text/plain", "name=x"), 415, `{"error":"The provided content-type 'text/plain' is not supported."}`},
		{"text with charset", send("text/plain; charset=utf-8", "name=x"), 415, `{"error":"The provided content-type 'text/plain' is not supported."}`},
		{"xml", send("application/xml", "<a/>"), 415, `{"error":"The provided content-type 'application/xml' is not supported."}`},
		{"invalid json", send("application/json", "{"), 400, `Bad Request`},
		{"form with NUL", send("application/x-www-form-urlencoded", "name=%00"), 400, `Bad Request`},
		{"form of two shapes", send("application/x-www-form-urlencoded", "name=a&name[b]=c"), 400, `Bad Request`},
		{"multipart without boundary", send("multipart/form-data", "x"), 400, `Bad Request`},
		{"multipart that is none", send("multipart/form-data; boundary=x", "x"), 400, `Bad Request`},
		{"file that is none", send("application/json", `{"name":"x","avatar":"y"}`), 400, `{"error":"avatar is invalid"}`},
		{"missing", send("application/json", `{}`), 400, `{"error":"name is missing"}`},
		{"empty", send("application/json", `{"name":" "}`), 400, `{"error":"name is empty"}`},
		{"too large", send("application/json", `{"name":"`+strings.Repeat("x", 5<<20)+`"}`), 413, `{"message":"413 Request Entity Too Large"}`},
		{"large but allowed", send("application/json", `{"name":"x","count":3,"labels":"a,b","pad":"`+strings.Repeat("x", 3<<20)+`"}`), 201, created},
		{"large and anonymous", "POST /things\nContent-Type: application/json\n\n{\"pad\":\"" + strings.Repeat("x", 3<<20) + `"}`, 413, `{"message":"413 Request Entity Too Large"}`},
		{"json on GET is not read", "GET /things/1\nContent-Type: application/json\n\n{", 200, `{"as":"","param":"1"}`},
		{"path wins over query", "GET /things/1?id=2", 200, `{"as":"","param":"1"}`},
		{"path wins over form on GET", "GET /things/1\nContent-Type: application/x-www-form-urlencoded\n\nid=2", 200, `{"as":"","param":"1"}`},
		{"raw and too large", "PUT /upload?whole=1\nPRIVATE-TOKEN: ann\n\nhello hello hello", 413, `{"message":"413 Request Entity Too Large"}`},
		{"raw", "PUT /upload\nPRIVATE-TOKEN: ann\nContent-Type: text/plain\n\nhello", 201, `hello`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := call(t, k, tt.request)
			if got.Code != tt.status || got.Body.String() != tt.body {
				t.Errorf("got %d %.300s\nwant %d %s", got.Code, got.Body, tt.status, tt.body)
			}
		})
	}
}

func TestKit_chunkedBody(t *testing.T) {
	k := (&toy{}).kit()
	for body, want := range map[string]int{"": 400, "x": 415} {
		r := httptest.NewRequest("POST", "/api/v4/things", io.MultiReader(strings.NewReader(body)))
		r.ContentLength = -1
		r.Header.Set("Private-Token", "ann")
		r.Header.Set("Content-Type", "text/plain")
		w := httptest.NewRecorder()
		k.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%q of unknown length: got %d %s, want %d", body, w.Code, w.Body, want)
		}
	}
}

func multipartRequest(t *testing.T, build func(w *multipart.Writer)) *http.Request {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	build(w)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest("POST", "/api/v4/things", &b)
	r.Header.Set("Content-Type", w.FormDataContentType())
	r.Header.Set("Private-Token", "ann")
	return r
}

func TestKit_multipart(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	k := (&toy{}).kit()
	for _, size := range []int{0, 5, 300 << 10, 3 << 20} {
		r := multipartRequest(t, func(w *multipart.Writer) {
			w.WriteField("name", "x")
			w.WriteField("labels[]", "a")
			w.WriteField("labels[]", "b")
			f, _ := w.CreateFormFile("avatar", "../up/me.png")
			f.Write(bytes.Repeat([]byte("z"), size))
			w.WriteField("count", "3")
		})
		got := httptest.NewRecorder()
		k.ServeHTTP(got, r)
		want := fmt.Sprintf(`{"id":3,"name":"x me.png %d %.5s","labels":["a","b"]`, size, strings.Repeat("z", min(size, 5)))
		if got.Code != 201 || !strings.HasPrefix(got.Body.String(), want) {
			t.Errorf("%d bytes: got %d %s, want %s", size, got.Code, got.Body, want)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "*")); len(left) > 0 {
		t.Errorf("files are left behind: %v", left)
	}
	tests := []struct {
		name   string
		build  func(w *multipart.Writer)
		status int
		want   string
	}{
		{"avatar as text", func(w *multipart.Writer) { w.WriteField("name", "x"); w.WriteField("avatar", "y") }, 400, `{"error":"avatar is invalid"}`},
		{"avatar cleared", func(w *multipart.Writer) { w.WriteField("name", "x"); w.WriteField("avatar", "") }, 201, ``},
		{"file for a text", func(w *multipart.Writer) { w.CreateFormFile("name", "a") }, 400, `{"error":"name is invalid"}`},
		{"two shapes", func(w *multipart.Writer) { w.WriteField("name", "x"); w.WriteField("name[a]", "x") }, 400, `Bad Request`},
		{"field with NUL", func(w *multipart.Writer) { w.WriteField("name", "a\x00") }, 400, `Bad Request`},
		{"too large", func(w *multipart.Writer) {
			f, _ := w.CreateFormFile("avatar", "a")
			f.Write(make([]byte, 5<<20))
		}, 413, `{"message":"413 Request Entity Too Large"}`},
		{"field too large", func(w *multipart.Writer) { w.WriteField("name", strings.Repeat("x", 2<<20)) }, 413, `{"message":"413 Request Entity Too Large"}`},
		{"fields too large together", func(w *multipart.Writer) {
			w.WriteField("name", "x")
			for i := range 4 {
				w.WriteField(fmt.Sprintf("field%d", i), strings.Repeat("x", 1_000_000))
			}
		}, 413, `{"message":"413 Request Entity Too Large"}`},
		{"too many", func(w *multipart.Writer) {
			for range 5000 {
				w.WriteField("a", "")
			}
		}, 400, `Bad Request`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := httptest.NewRecorder()
			k.ServeHTTP(got, multipartRequest(t, tt.build))
			if got.Code != tt.status || tt.want != "" && got.Body.String() != tt.want {
				t.Errorf("got %d %s, want %d %s", got.Code, got.Body, tt.status, tt.want)
			}
		})
	}
}

func TestNumericID(t *testing.T) {
	for _, tt := range []struct {
		in string
		id int64
		ok bool
	}{
		{"42", 42, true},
		{"-1", -1, true},
		{"007", 7, true},
		{"99999999999999999999", 0, true},
		{"", 0, false},
		{"-", 0, false},
		{"a", 0, false},
		{"1a", 0, false},
		{"g/p", 0, false},
		{"+1", 0, false},
	} {
		if id, ok := api.NumericID(tt.in); id != tt.id || ok != tt.ok {
			t.Errorf("NumericID(%q) = %d, %t, want %d, %t", tt.in, id, ok, tt.id, tt.ok)
		}
	}
}
