package app

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"errors"
	"strings"

	"tenon/internal/base/db"
)

// hookSamples has samples for the hooks of projects, groups and the instance.
func hookSamples() map[string][]sample {
	out := map[string][]sample{}
	for _, at := range []string{"/projects/:id/hooks", "/groups/:id/hooks", "/hooks"} {
		for route, of := range map[string]sample{
			"POST ":                                {body: obj{"url": "http://8.8.8.8/new"}},
			"GET /:hook_id":                        {},
			"PUT /:hook_id":                        {body: obj{"name": "other"}},
			"DELETE /:hook_id":                     {},
			"PUT /:hook_id/url_variables/:key":     {body: obj{"value": "other"}},
			"DELETE /:hook_id/url_variables/:key":  {values: with{"key": "spare"}},
			"PUT /:hook_id/custom_headers/:key":    {body: obj{"value": "other"}},
			"DELETE /:hook_id/custom_headers/:key": {},

			"GET /:hook_id/events":                      {},
			"GET /:hook_id/events/:hook_log_id":         {},
			"POST /:hook_id/events/:hook_log_id/resend": {},
		} {
			verb, below, _ := strings.Cut(route, " ")
			out[verb+" "+at+below] = []sample{of}
		}
	}
	out["POST /hooks/:hook_id"] = []sample{{}}
	for _, at := range []string{"/projects/:id", "/groups/:id"} {
		out["POST "+at+"/hooks/:hook_id/test/:trigger"] = []sample{{values: with{"trigger": "push_events"}}}
	}
	return out
}

// callHook writes down that the hook at a path was called, and returns the id of the attempt.
func (w *world) callHook(path string) string {
	w.tb.Helper()
	var packed bytes.Buffer
	z, err := flate.NewWriter(&packed, flate.BestSpeed)
	if err == nil {
		_, err = z.Write([]byte(`{"object_kind":"push"}`))
	}
	if err = errors.Join(err, z.Close()); err != nil {
		w.tb.Fatal(err)
	}
	now := db.At(w.now())
	w.exec(`INSERT INTO webhook_bodies (place_id, maker_id, chain, event, at, content, size, bytes, created_at) VALUES (0, 0, 'chain', 'push_events', ?, ?, 22, ?, ?)`,
		now, packed.Bytes(), packed.Len(), now)
	w.exec(`INSERT INTO webhook_attempts (webhook_id, body_id, idempotency_key, url, request_headers, status, response_headers, response_body, duration, bytes, created_at)
		SELECT ?, MAX(b.id), 'key', 'https://hooks.invalid/', '{"X-Gitlab-Event":"Push Hook"}', 200, '{"Server":"x"}', 'ok', 1500, 100, ? FROM webhook_bodies b`, path[strings.LastIndexByte(path, '/')+1:], now)
	a := w.send(w.tb.Context(), get("admin", path+"/events"))
	var list []map[string]any
	if err := json.Unmarshal(a.Body.Bytes(), &list); err != nil || len(list) == 0 {
		w.tb.Fatalf("events of %s: %d %s", path, a.Code, a.Body)
	}
	return number(list[0], "id")
}
