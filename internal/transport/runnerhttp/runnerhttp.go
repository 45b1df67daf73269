// Package runnerhttp serves the programs that run jobs: they ask for a job, send its log and its
// artifacts, and say how it ended.
package runnerhttp

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"syscall"

	"tenon/internal/base/errs"
	"tenon/internal/base/ratelimit"
	"tenon/internal/core"
	"tenon/internal/core/ci"
	"tenon/internal/core/runner"
	"tenon/internal/transport/httpkit"
)

// Deps are what the handler is built on.
type Deps struct {
	*core.Services
	Gate *httpkit.Gate
	Log  *slog.Logger
}

// Handler answers requests that Match accepts.
type Handler struct{ Deps }

// New builds the handler.
func New(d Deps) *Handler { return &Handler{Deps: d} }

const prefix = "/api/v4/jobs/"

// maxBody bounds a body of JSON: what a runner says of itself and its job.
const maxBody = 64 << 10

// Seconds between two parts of a log: while a user reads it, and otherwise.
const (
	intervalWatched = "3"
	intervalAlone   = "60"
)

// target is what a path names.
type target struct {
	id   ci.StatusID
	what string // request, job, trace, artifacts, authorize
}

// Match reports whether a path is a runner's.
func Match(path string) bool {
	_, ok := parse(path)
	return ok
}

// Waits reports whether the requests of a path are those of runners that ask for a job: they may last long, and come again and again.
func Waits(path string) bool { return path == prefix+"request" }

func parse(path string) (target, bool) {
	rest, ok := strings.CutPrefix(path, prefix)
	if !ok {
		return target{}, false
	}
	if rest == "request" {
		return target{what: "request"}, true
	}
	number, what, _ := strings.Cut(rest, "/")
	id, err := strconv.ParseInt(number, 10, 64)
	if err != nil || id <= 0 {
		return target{}, false
	}
	switch what {
	case "":
		return target{ci.StatusID(id), "job"}, true
	case "trace", "artifacts":
		return target{ci.StatusID(id), what}, true
	case "artifacts/authorize":
		return target{ci.StatusID(id), "authorize"}, true
	}
	return target{}, false
}

// ServeHTTP answers one request of a runner.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.Gate.Serve(w, r, h.serve, func(w http.ResponseWriter, _ *http.Request) {
		message(w, http.StatusInternalServerError, "500 Internal Server Error")
	})
}

func (h *Handler) serve(w http.ResponseWriter, r *http.Request) {
	t, ok := parse(r.URL.Path)
	if !ok {
		message(w, http.StatusNotFound, "404 Not Found")
		return
	}
	x := httpkit.Of(r.Context())
	var err error
	switch r.Method + " " + t.what {
	case "POST request":
		x.Route = "/jobs/request"
		err = h.request(w, r)
	case "PUT job":
		x.Route = "/jobs/:id"
		err = h.finish(w, r, t.id)
	case "PATCH trace":
		x.Route = "/jobs/:id/trace"
		err = h.trace(w, r, t.id)
	case "POST artifacts":
		x.Route = "/jobs/:id/artifacts"
		err = h.upload(w, r, t.id)
	case "POST authorize":
		x.Route = "/jobs/:id/artifacts/authorize"
		err = h.authorize(w, r, t.id)
	case "GET artifacts", "HEAD artifacts":
		x.Route = "/jobs/:id/artifacts"
		err = h.download(w, r, t.id)
	default:
		message(w, http.StatusMethodNotAllowed, "405 Method Not Allowed")
		return
	}
	if err != nil {
		h.refuse(w, r, err)
	}
}

// statuses are the answers to what core refuses.
var statuses = map[errs.Kind]int{
	errs.NotFound: http.StatusNotFound, errs.Forbidden: http.StatusForbidden, errs.Invalid: http.StatusBadRequest, errs.BadRequest: http.StatusBadRequest,
	errs.Conflict: http.StatusConflict, errs.TooLarge: http.StatusRequestEntityTooLarge, errs.Unprocessable: http.StatusUnprocessableEntity,
	errs.Unauthorized: http.StatusUnauthorized, errs.Unavailable: http.StatusServiceUnavailable, errs.TooMany: http.StatusTooManyRequests,
}

// refuse answers an error of core.
func (h *Handler) refuse(w http.ResponseWriter, r *http.Request, err error) {
	var gone *ci.NotRunningError
	if errors.As(err, &gone) {
		w.Header().Set("Job-Status", string(gone.State))
	}
	var e *errs.Error
	if !errors.As(err, &e) || statuses[e.Kind] == 0 {
		if errors.Is(err, errs.ErrAway) {
			h.Log.ErrorContext(r.Context(), "database is away", "request_id", httpkit.Of(r.Context()).ID, "error", err)
			w.Header().Set("Retry-After", strconv.Itoa(int(errs.RetryAfter.Seconds())))
			message(w, http.StatusServiceUnavailable, "503 Service Unavailable")
			return
		}
		if errors.Is(err, syscall.ENOSPC) { // runners try again after this one
			h.Log.ErrorContext(r.Context(), "disk full", "request_id", httpkit.Of(r.Context()).ID, "error", err)
			message(w, http.StatusServiceUnavailable, "503 Service Unavailable - the server's disk is full")
			return
		}
		h.Log.ErrorContext(r.Context(), "request of a runner", "request_id", httpkit.Of(r.Context()).ID, "error", err)
		message(w, http.StatusInternalServerError, "500 Internal Server Error")
		return
	}
	status := statuses[e.Kind]
	if exceeded, ok := errors.AsType[*ratelimit.Exceeded](err); ok {
		exceeded.Headers(w.Header())
		answer(w, status, map[string]map[string]string{"message": {"error": tooOften}})
		return
	}
	text := e.Message
	switch e.Kind {
	case errs.Forbidden:
		text = framed("403 Forbidden", e.Message)
	case errs.NotFound:
		text = "404 Not found"
	case errs.BadRequest:
		text = framed("400 Bad request", e.Message)
	case errs.Unauthorized:
		text = "401 Unauthorized"
	}
	message(w, status, text)
}

// tooOften is the error of a request over a limit.
const tooOften = "This endpoint has been requested too many times. Try again later."

func framed(title, reason string) string {
	if reason == "" {
		return title
	}
	return title + " - " + reason
}

func message(w http.ResponseWriter, status int, text string) {
	answer(w, status, map[string]string{"message": text})
}

// complaint is the form of refusals of a request that is wrong in itself.
func complaint(w http.ResponseWriter, status int, text string) {
	answer(w, status, map[string]string{"error": text})
}

func answer(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"message":"500 Internal Server Error"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// decode reads a body of JSON.
func decode(w http.ResponseWriter, r *http.Request, into any) bool {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		message(w, http.StatusRequestEntityTooLarge, "Request Entity Too Large")
		return false
	}
	if json.Unmarshal(body, into) != nil {
		complaint(w, http.StatusBadRequest, "Problems parsing JSON")
		return false
	}
	return true
}

// tokenOf finds the token of a job in the header or the query.
func tokenOf(r *http.Request) string {
	for _, text := range []string{r.Header.Get("Job-Token"), r.URL.Query().Get("token"), r.URL.Query().Get("job_token")} {
		if text != "" {
			return text
		}
	}
	return ""
}

// asked is what a runner sends when it asks for a job.
type asked struct {
	Token      string `json:"token"`
	SystemID   string `json:"system_id"`
	LastUpdate string `json:"last_update"`
	Info       struct {
		Name         *string         `json:"name"`
		Version      *string         `json:"version"`
		Revision     *string         `json:"revision"`
		Platform     *string         `json:"platform"`
		Architecture *string         `json:"architecture"`
		Features     map[string]bool `json:"features"`
	} `json:"info"`
}

func (h *Handler) request(w http.ResponseWriter, r *http.Request) error {
	var in asked
	if !decode(w, r, &in) {
		return nil
	}
	if in.Token == "" {
		complaint(w, http.StatusBadRequest, "token is missing")
		return nil
	}
	if err := h.Settings.Writable(); err != nil {
		return err
	}
	got, value, err := h.CI.Request(r.Context(), ci.Ask{
		Token: in.Token, SystemID: in.SystemID, LastUpdate: in.LastUpdate, Features: in.Info.Features, Address: httpkit.Of(r.Context()).Address,
		Info: runner.Info{Name: in.Info.Name, Version: in.Info.Version, Revision: in.Info.Revision, Platform: in.Info.Platform, Architecture: in.Info.Architecture},
	})
	if err != nil {
		return err
	}
	w.Header().Set("Gitlab-Ci-Builds-Polling", "yes")
	if got == nil {
		w.Header().Set("X-Gitlab-Last-Update", value)
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	answer(w, http.StatusCreated, h.payload(got))
	return nil
}

func (h *Handler) finish(w http.ResponseWriter, r *http.Request, id ci.StatusID) error {
	var in struct {
		Token    string `json:"token"`
		State    string `json:"state"`
		Reason   string `json:"failure_reason"`
		ExitCode *int64 `json:"exit_code"`
		Output   *struct {
			Size *int64 `json:"bytesize"`
		} `json:"output"`
	}
	if !decode(w, r, &in) {
		return nil
	}
	if in.Token == "" {
		in.Token = tokenOf(r)
	}
	held, err := h.CI.Hold(r.Context(), id, in.Token)
	if err != nil {
		return err
	}
	o := ci.Outcome{State: in.State, Reason: in.Reason, ExitCode: in.ExitCode}
	if in.Output != nil {
		o.LogSize = in.Output.Size
	}
	state, err := h.CI.Finish(r.Context(), held, o)
	status := http.StatusOK
	switch {
	case errors.Is(err, ci.ErrUnknownState):
		status = http.StatusBadRequest
	case errors.Is(err, ci.ErrLogIncomplete):
		status = http.StatusPreconditionFailed
	case err != nil:
		return err
	}
	w.Header().Set("Job-Status", string(state))
	w.Header().Set("X-Gitlab-Trace-Update-Interval", h.interval(id))
	// The number is in the body as JSON, which is what clients decode.
	answer(w, status, status)
	return nil
}

func (h *Handler) interval(id ci.StatusID) string {
	if h.CI.Watched(id) {
		return intervalWatched
	}
	return intervalAlone
}

func (h *Handler) trace(w http.ResponseWriter, r *http.Request, id ci.StatusID) error {
	held, err := h.CI.HoldForLog(r.Context(), id, tokenOf(r))
	if err != nil {
		return err
	}
	text := r.Header.Get("Content-Range")
	if text == "" {
		complaint(w, http.StatusBadRequest, "400 Missing header Content-Range")
		return nil
	}
	first, _, ok := strings.Cut(text, "-")
	start, err := strconv.ParseInt(first, 10, 64)
	if !ok || err != nil || start < 0 {
		complaint(w, http.StatusBadRequest, "400 Missing header Content-Range")
		return nil
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, ci.MaxPiece))
	if err != nil {
		message(w, http.StatusRequestEntityTooLarge, "Request Entity Too Large")
		return nil
	}
	size, state, err := h.CI.Append(r.Context(), held, start, data)
	var moved *ci.RangeError
	if errors.As(err, &moved) {
		w.Header().Set("Range", "0-"+strconv.FormatInt(moved.Size, 10))
		complaint(w, http.StatusRequestedRangeNotSatisfiable, "416 Range Not Satisfiable")
		return nil
	}
	if err != nil {
		return err
	}
	w.Header().Set("Job-Status", string(state))
	w.Header().Set("Range", "0-"+strconv.FormatInt(size, 10))
	w.Header().Set("X-Gitlab-Trace-Update-Interval", h.interval(id))
	answer(w, http.StatusAccepted, http.StatusAccepted)
	return nil
}
