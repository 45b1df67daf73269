package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/textproto"
	"strings"
	"time"

	"github.com/google/uuid"

	"tenon/internal/base/db"
	"tenon/internal/base/safehttp"
	"tenon/internal/core/payload"
	"tenon/internal/core/weburl"
)

// redacted replaces a secret header in the log.
const redacted = "[REDACTED]"

// callee is what a call needs to know of the event.
type callee struct {
	trigger payload.Trigger
	key     string // Idempotency-Key
	chain   string
	size    int64 // bytes of the whole body
}

// outcome is what became of a call.
type outcome struct {
	safehttp.Answer
	failure  string            // why there was no answer; "" where there was one
	headers  map[string]string // that were sent, without secrets
	duration time.Duration
}

// succeeded reports whether the receiver took the event.
func (o *outcome) succeeded() bool { return o.failure == "" && o.Accepted() }

// repeatable reports whether the same call may succeed later.
func (o *outcome) repeatable() bool { return o.failure != "" || o.Passing() }

// slow reports whether the call is one of a slow receiver.
func (o *outcome) slow() bool { return o.failure != "" || o.duration > patience }

// post calls a hook.
func (s *Service) post(ctx context.Context, h *Hook, of callee, text []byte) *outcome {
	out := &outcome{}
	keys, err := s.open(h)
	if err != nil {
		out.failure = "The secrets of the hook cannot be decrypted"
		return out
	}
	full, known := fullURL(h.URL, keys)
	standard := s.standard(h, of)
	headers := make(map[string]string, len(standard)+len(keys.Headers)+1)
	out.headers = make(map[string]string, len(headers))
	for name, value := range keys.Headers {
		headers[textproto.CanonicalMIMEHeaderKey(name)], out.headers[textproto.CanonicalMIMEHeaderKey(name)] = value, redacted
	}
	for name, value := range standard {
		headers[textproto.CanonicalMIMEHeaderKey(name)], out.headers[textproto.CanonicalMIMEHeaderKey(name)] = value, value
	}
	if keys.Token != "" {
		headers["X-Gitlab-Token"], out.headers["X-Gitlab-Token"] = keys.Token, redacted
	}
	switch {
	case !known:
		out.failure = "The URL names a variable without a value"
		return out
	case of.size > maxBody:
		out.failure = "The request body is larger than 25 MB"
		return out
	case h.Template != nil:
		text, err = render(*h.Template, text)
		if err != nil {
			out.failure = "Error while parsing rendered custom webhook template: " + err.Error()
			return out
		}
	}
	began := time.Now()
	out.Answer, err = s.dialer(h.NamespaceID == nil).Call(ctx, callTimeout, safehttp.Delivery{URL: full, Header: headers, Body: text, Unverified: !h.VerifyTLS})
	out.duration = time.Since(began)
	if err != nil {
		out.failure = strings.TrimPrefix(err.Error(), "deliver: ")
		if blocked, ok := errors.AsType[*safehttp.BlockedError](err); ok {
			out.failure = "URL " + blocked.Error()
		}
		out.failure = keys.hide(out.failure, namesIn(err, full), h.URL)
	}
	return out
}

// standard are the headers that every call has.
func (s *Service) standard(h *Hook, of callee) map[string]string {
	event := of.trigger.Header()
	if h.NamespaceID == nil {
		event = payload.SystemHook
	}
	return map[string]string{
		"Content-Type": "application/json", "User-Agent": "GitLab/" + weburl.Level, "Idempotency-Key": of.key, "X-Gitlab-Event": event,
		"X-Gitlab-Webhook-UUID": uuid.NewString(), "X-Gitlab-Instance": s.URLs.Root(), "X-Gitlab-Event-UUID": of.chain,
	}
}

// attempt is a call that was made, as it is logged.
type attempt struct {
	ID              int64   `db:"id"`
	HookID          ID      `db:"webhook_id"`
	BodyID          int64   `db:"body_id"`
	IdempotencyKey  string  `db:"idempotency_key"`
	URL             string  `db:"url"`
	RequestHeaders  string  `db:"request_headers"`
	Status          int     `db:"status"`
	ResponseHeaders string  `db:"response_headers"`
	ResponseBody    string  `db:"response_body"`
	Duration        int64   `db:"duration"` // microseconds
	Bytes           int64   `db:"bytes"`
	CreatedAt       db.Time `db:"created_at"`
}

// newAttempt is the log of a call.
func (s *Service) newAttempt(h *Hook, bodyID int64, key string, o *outcome) (*attempt, error) {
	sent, err := json.Marshal(o.headers)
	if err != nil {
		return nil, fmt.Errorf("log call of webhook: %w", err)
	}
	got, err := json.Marshal(o.Header)
	if err != nil {
		return nil, fmt.Errorf("log call of webhook: %w", err)
	}
	a := &attempt{
		HookID: h.ID, BodyID: bodyID, IdempotencyKey: key, URL: h.URL, RequestHeaders: string(sent), Status: o.Status, ResponseHeaders: string(got),
		ResponseBody: plain(o.Body), Duration: o.duration.Microseconds(), CreatedAt: db.At(s.Now()),
	}
	if o.failure != "" {
		a.Status, a.ResponseBody = 0, o.failure
	}
	a.Bytes = int64(len(a.URL) + len(a.RequestHeaders) + len(a.ResponseHeaders) + len(a.ResponseBody) + 200)
	return a, nil
}

// plain is what can be stored of the bytes of an answer; it has no more bytes.
func plain(b []byte) string {
	return strings.ReplaceAll(strings.ToValidUTF8(string(b), "?"), "\x00", "?")
}
