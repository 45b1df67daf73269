package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"syscall"

	"tenon/internal/base/errs"
	"tenon/internal/base/ratelimit"
	"tenon/internal/core/authz"
	"tenon/internal/transport/httpkit"
)

// Refusal is an answer of the layer above the product: parameters, formats,
// routes and paging. Its body has the key error, where the product's has message.
type Refusal struct {
	Status int
	Text   string
}

// Error returns the text.
func (r *Refusal) Error() string { return r.Text }

// BadParam is the 400 of a parameter that is wrong in a way no tag can say, such
// as "assignee_username allows one value, but found 2: a, b".
func BadParam(sentence string) error {
	return &Refusal{Status: http.StatusBadRequest, Text: sentence}
}

// Moved is the answer for a project that is now known by another path: readers are
// sent to the same URL with the number in place of the capture :id, everybody else
// reads that this does not work.
type Moved struct{ ID int64 }

// Error says what happened.
func (m *Moved) Error() string { return "moved to id " + strconv.FormatInt(m.ID, 10) }

// defaultRetry is how many seconds to wait where the error does not say it.
const defaultRetry = "60"

// frame is how an error kind looks to clients of the REST API.
type frame struct {
	status int
	plain  string // the message where the error has none
	format string // around the message; "" shows it as it stands
}

// frames is the one table from kinds to statuses and words.
var frames = map[errs.Kind]frame{
	errs.Internal:           {http.StatusInternalServerError, "500 Internal Server Error", ""},
	errs.Invalid:            {http.StatusBadRequest, "400 Bad request", ""},
	errs.BadRequest:         {http.StatusBadRequest, "400 Bad request", "400 Bad request - %s"},
	errs.Unauthorized:       {http.StatusUnauthorized, "401 Unauthorized", "401 Unauthorized - %s"},
	errs.Forbidden:          {http.StatusForbidden, "403 Forbidden", "403 Forbidden - %s"},
	errs.NotFound:           {http.StatusNotFound, "404 Not found", "404 %s Not Found"},
	errs.NotAllowed:         {http.StatusMethodNotAllowed, "405 Method Not Allowed", ""},
	errs.NotAcceptable:      {http.StatusNotAcceptable, "406 Not Acceptable", ""},
	errs.Conflict:           {http.StatusConflict, "409 Conflict", ""},
	errs.PreconditionFailed: {http.StatusPreconditionFailed, "412 Precondition Failed", ""},
	errs.TooLarge:           {http.StatusRequestEntityTooLarge, "413 Request Entity Too Large", ""},
	errs.Unprocessable:      {http.StatusUnprocessableEntity, "422 Unprocessable Entity", ""},
	errs.TooMany: {
		http.StatusTooManyRequests, "This endpoint has been requested too many times. Try again later.", "",
	},
	errs.Unavailable: {http.StatusServiceUnavailable, "503 Service Unavailable", ""},
}

// statusClientGone is written to the log for requests whose client went away.
const statusClientGone = 499

var errPanicked = errors.New("panic")

// fail answers with an error. Failures of ours are logged here, once.
func (x *exchange) fail(err error) {
	if x.Status != 0 {
		x.broken(err)
		return
	}
	var (
		refused   *Refusal
		known     *errs.Error
		token     httpkit.TokenError
		scope     *authz.ScopeError
		moved     *Moved
		throttled *ratelimit.Exceeded
		answer    *Answer
		mover     interface{ MovedTo() int64 }
	)
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) { // met by an endpoint that reads the body itself
		err = errs.New(errs.TooLarge, "")
	}
	err = refusal(err)
	switch {
	case errors.Is(err, errMalformed) && x.route != nil && x.route.namesJSON && strings.Contains(x.r.Header.Get("Content-Type"), "json"):
		x.object(http.StatusBadRequest, "message", `"Invalid json"`, "error", `"Invalid json"`)
	case errors.Is(err, errMalformed):
		x.text(http.StatusBadRequest, "Bad Request")
	case errors.As(err, &refused):
		x.object(refused.Status, x.route.refusalKey(), quoted(refused.Text))
	case errors.As(err, &token):
		x.w.Header().Set("Www-Authenticate",
			`Bearer realm="Protected by OAuth 2.0", error="invalid_token", error_description="`+string(token)+`"`)
		x.object(http.StatusUnauthorized, "error", `"invalid_token"`, "error_description", quoted(string(token)))
	case errors.As(err, &scope):
		x.object(http.StatusForbidden, "error", `"insufficient_scope"`, "error_description",
			`"The request requires higher privileges than provided by the access token."`, "scope", quoted(scope.Scopes.String()))
	case errors.Is(err, httpkit.ErrTwoTokens):
		x.object(http.StatusBadRequest, "error", `"invalid_request"`, "error_description",
			`"Both Authorization header and payload includes access token."`)
	case errors.As(err, &moved):
		x.moved(moved.ID)
	case errors.As(err, &mover):
		x.moved(mover.MovedTo())
	case errors.As(err, &answer):
		x.answer(answer)
	case errors.As(err, &known) && known.Kind != errs.Internal:
		x.known(err, known)
	case errors.As(err, &throttled): // a request of any kind, as plain text
		throttled.Headers(x.w.Header())
		x.text(throttled.Status(), throttled.Body())
	case x.r.Context().Err() != nil && errors.Is(err, context.Canceled):
		x.object(statusClientGone, "message", `"499 Client Closed Request"`)
	case errors.Is(err, errs.ErrAway):
		x.kit.config.Log.ErrorContext(x.r.Context(), "database not available", "request_id", x.ID, "error", err.Error())
		x.known(err, errs.New(errs.Unavailable, ""))
	case errors.Is(err, syscall.ENOSPC):
		x.kit.config.Log.ErrorContext(x.r.Context(), "disk full", "request_id", x.ID, "error", err.Error())
		x.object(http.StatusInsufficientStorage, "message", `"507 Insufficient Storage - the server's disk is full"`)
	default:
		if gone := x.gone(); gone != nil {
			x.kit.config.Log.InfoContext(x.r.Context(), "request outlived what it is about", "request_id", x.ID, "error", err.Error())
			x.known(err, gone)
			return
		}
		x.internal(err)
	}
}

// gone looks again for what the request is about. Between the moment it was found and a
// statement that refers to it, a caller may have deleted it: that is no failure of ours.
func (x *exchange) gone() *errs.Error {
	if x.kit.config.Recheck == nil || x.route == nil {
		return nil
	}
	value, _ := x.params.get("id")
	id, ok := value.(string)
	if !ok {
		return nil
	}
	gone, ok := errors.AsType[*errs.Error](x.kit.config.Recheck(x.r.Context(), x.As, x.route.path, id))
	if !ok || gone.Kind != errs.NotFound {
		return nil
	}
	return gone
}

// known answers with an error of the product.
func (x *exchange) known(err error, e *errs.Error) {
	if e.Kind == errs.NotModified {
		x.begin(http.StatusNotModified)
		return
	}
	if w, ok := wordings[e.Code]; ok {
		text := quoted(w.say(e))
		if w.key == inError {
			x.object(w.status, "error", text)
			return
		}
		if w.key != "" {
			text = `{"` + w.key + `":` + text + `}`
		}
		x.object(w.status, detailed(e, text)...)
		return
	}
	f, ok := frames[e.Kind]
	if !ok {
		x.internal(err)
		return
	}
	if e.Kind == errs.Unauthorized && x.route != nil && x.route.basic {
		x.w.Header().Set("Www-Authenticate", `Basic realm="GitLab Packages Registry"`)
	}
	if h := x.w.Header(); e.Kind == errs.Unavailable && h.Get("Retry-After") == "" {
		h.Set("Retry-After", strconv.Itoa(int(errs.RetryAfter.Seconds())))
	}
	if e.Kind != errs.TooMany {
		x.object(f.status, detailed(e, message(e, f))...)
		return
	}
	x.w.Header().Set("Retry-After", defaultRetry)
	var exceeded *ratelimit.Exceeded
	if errors.As(err, &exceeded) {
		exceeded.Headers(x.w.Header())
	}
	x.object(f.status, "message", `{"error":`+message(e, f)+`}`)
}

// detailed puts what else an error says beside its message.
func detailed(e *errs.Error, message string) []string {
	if e.Detail == "" {
		return []string{"message", message}
	}
	return []string{"message", message, "detail", quoted(e.Detail)}
}

// message returns the JSON of what an error says.
func message(e *errs.Error, f frame) string {
	switch {
	case len(e.Fields) > 0:
		parts := make([]string, len(e.Fields))
		for i, field := range e.Fields {
			parts[i] = quoted(field.Name) + ":" + sentences(field.Messages)
		}
		return "{" + strings.Join(parts, ",") + "}"
	case len(e.List) > 0:
		return sentences(e.List)
	case e.Message == "":
		return quoted(f.plain)
	case e.Bare || f.format == "":
		return quoted(e.Message)
	default:
		return quoted(fmt.Sprintf(f.format, e.Message))
	}
}

func sentences(list []string) string {
	parts := make([]string, len(list))
	for i, s := range list {
		parts[i] = quoted(s)
	}
	return "[" + strings.Join(parts, ",") + "]"
}

// quoted returns a string as JSON without HTML escapes, as bodies have it.
func quoted(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return `""` // a string always encodes
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// object answers with a small JSON object: keys, each followed by the JSON of its value.
func (x *exchange) object(status int, pairs ...string) {
	var b strings.Builder
	b.WriteByte('{')
	for i := 0; i < len(pairs); i += 2 {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(quoted(pairs[i]) + ":" + pairs[i+1])
	}
	b.WriteByte('}')
	x.discard()
	x.w.Header().Set("Content-Type", "application/json")
	x.bytes(status, []byte(b.String()))
}

// discard drops headers that an answer had set before it failed.
func (x *exchange) discard() {
	h := x.w.Header()
	h.Del("Etag")
	h.Del("Cache-Control")
	h.Del("Content-Length")
}

func (x *exchange) text(status int, body string) {
	x.discard()
	x.w.Header().Set("Content-Type", "text/plain")
	x.bytes(status, []byte(body))
}

func (x *exchange) internal(err error) {
	if !errors.Is(err, errPanicked) {
		x.kit.config.Log.ErrorContext(x.r.Context(), "request failed", "request_id", x.ID, "error", err.Error())
	}
	x.object(http.StatusInternalServerError, "message", quoted(frames[errs.Internal].plain))
}

// broken notes an answer that could not be finished. A client that left is no news;
// a caller who reads on must not take what it has for the whole.
func (x *exchange) broken(err error) {
	if x.r.Context().Err() == nil {
		x.kit.config.Log.WarnContext(x.r.Context(), "answer broken off", "request_id", x.ID, "error", err.Error())
	}
	panic(http.ErrAbortHandler)
}

// moved sends a reader to the number of a project.
func (x *exchange) moved(id int64) {
	if x.r.Method != http.MethodGet && x.r.Method != http.MethodHead {
		x.object(http.StatusMethodNotAllowed, "message", `"Non GET methods are not allowed for moved projects"`)
		return
	}
	parts := strings.Split(x.r.URL.EscapedPath(), "/")
	pattern := strings.Split(Prefix+x.route.path, "/")
	for i, part := range pattern {
		if part == ":id" && i < len(parts) {
			parts[i] = strconv.FormatInt(id, 10)
			break
		}
	}
	to := x.kit.config.ExternalURL + strings.Join(parts, "/")
	if query := x.r.URL.RawQuery; query != "" {
		to += "?" + query
	}
	x.w.Header().Set("Location", to)
	x.text(http.StatusMovedPermanently, "This resource has been moved permanently to "+to)
}
