package app

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"

	"tenon/internal/transport/rest/api"
)

// TestNulls sends null and the empty text for every text that a route to update takes, each after
// the text was set where that is possible: both have the same answer, and a text that was set is
// gone where the answer has it.
func TestNulls(t *testing.T) {
	walker(t)
	w := newWorld(newServer(t, ""))
	all, texts, cleared := samples(), 0, 0
	for _, route := range w.kit().Routes() {
		if route.Method != http.MethodPut && route.Method != http.MethodPatch {
			continue
		}
		rows := w.rows(route, all)
		if len(rows) == 0 {
			continue // TestMatrix tells
		}
		q, missing := rows[0].request()
		if missing != "" {
			t.Fatalf("%s: no value for :%s", key(route), missing)
		}
		q.as = "admin"
		for _, p := range route.Params {
			if !isText(p) {
				continue
			}
			texts++
			null, set := w.overwritten(q, p.Name, nil)
			empty, _ := w.overwritten(q, p.Name, "")
			was, is, want := fieldOf(set, p.Name), fieldOf(null, p.Name), fieldOf(empty, p.Name)
			if null.Code != empty.Code || is != want {
				t.Errorf("%s: %s null: got %d with %q, and %d with %q for the empty text", key(route), p.Name, null.Code, is, empty.Code, want)
			}
			if was == aText && null.Code < 300 {
				cleared++
				if is == aText {
					t.Errorf("%s: %s null leaves %q", key(route), p.Name, is)
				}
			}
		}
	}
	if texts < 100 || cleared < 20 {
		t.Errorf("%d texts were sent, and %d of them cleared: what was to be compared?", texts, cleared)
	}
}

// aText is a text that most parameters take.
const aText = "words"

// isText reports whether a parameter is a text of any content.
func isText(p api.Param) bool {
	kind := p.Type
	if kind.Kind() == reflect.Struct && kind.NumField() > 0 && kind.Field(0).Name == "Value" {
		kind = kind.Field(0).Type // api.Opt
	}
	if kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	return kind.Kind() == reflect.String && kind != reflect.TypeFor[api.Date]() && p.Values == nil && !p.InPath && !p.Header
}

// overwritten makes a request with a text, and again with another value, and undoes both.
func (w *world) overwritten(q request, name string, value any) (again, set *httptest.ResponseRecorder) {
	if w.refs == nil {
		w.undone(request{as: "admin", method: http.MethodPost, path: "/markdown", body: obj{"text": "a"}}, nil) // which reads them
	}
	first := q
	first.body = maps.Clone(q.body)
	if first.body == nil {
		first.body = obj{}
	}
	q.body = maps.Clone(first.body)
	first.body[name], q.body[name] = aText, value
	w.undo(q, func(ctx context.Context) {
		set = w.send(ctx, first)
		again = w.send(ctx, q)
	})
	w.restore(w.refs)
	return again, set
}

// fieldOf returns a text of an answer; null, absent and empty are the same.
func fieldOf(a *httptest.ResponseRecorder, name string) string {
	var answer map[string]any
	if json.Unmarshal(a.Body.Bytes(), &answer) != nil {
		return ""
	}
	text, _ := answer[name].(string)
	return text
}
