package graphql

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"tenon/internal/base/budget"
	"tenon/internal/base/errs"
	"tenon/internal/base/jsonstream"
	"tenon/internal/base/lru"
	"tenon/internal/core"
	"tenon/internal/core/authz"
	"tenon/internal/core/limit"
	"tenon/internal/transport/graphql/exec"
	"tenon/internal/transport/httpkit"
)

// Path is where requests are answered.
const Path = "/api/graphql"

// SchemaPath returns the types in the language of GraphQL.
const SchemaPath = Path + "/schema"

// documentMemory is how much memory, in bytes, parsed documents and persisted queries may take.
const documentMemory = 4 << 20

// Deps are what the interface is made from.
type Deps struct {
	*core.Services
	Gate    *httpkit.Gate
	SignOn  *httpkit.SignOn
	Log     *slog.Logger
	Now     func() time.Time
	Version string // of the interface

	// Together answers the reads of many calls with the statements of one: see Together of package db.
	Together func(ctx context.Context, n int, fn func(ctx context.Context, i int) error) error
	Revision string // of the program

	// NoAnonymousIntrospection keeps the types from callers who are not signed in.
	NoAnonymousIntrospection bool

	// LimitReads bounds what the database may read for one answer; those of a stream count each for
	// itself.
	LimitReads func(ctx context.Context) context.Context
}

// Handler answers requests.
type Handler struct {
	Deps
	config    exec.Config
	watch     watch
	documents *lru.Cache // document by its key
	persisted *lru.Cache // text by its digest

	// The schema is built when it is first asked for, and once more without what is deprecated.
	current, pruned func() (*exec.Schema, error)
	sdl             func() (string, error) // of the current one
}

// New builds the handler.
func New(d Deps) *Handler {
	h := &Handler{Deps: d, documents: lru.New(documentMemory), persisted: lru.New(documentMemory)}
	h.config = exec.Config{Present: h.present, Broken: broken}
	h.current = sync.OnceValues(func() (*exec.Schema, error) { return newSchema(h.Deps, false) })
	h.pruned = sync.OnceValues(func() (*exec.Schema, error) { return newSchema(h.Deps, true) })
	h.sdl = sync.OnceValues(func() (string, error) {
		s, err := h.current()
		if err != nil {
			return "", err
		}
		return SDL(s), nil
	})
	return h
}

// Match reports whether a path is one of this interface.
func Match(path string) bool { return path == Path || path == SchemaPath }

// ServeHTTP answers one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.Gate.Serve(w, r, h.serve, func(w http.ResponseWriter, r *http.Request) {
		h.refuse(w, http.StatusInternalServerError, messageInternal)
	})
}

func (h *Handler) serve(w http.ResponseWriter, r *http.Request) {
	x := httpkit.Of(r.Context())
	x.Route = r.URL.Path
	httpkit.AllowOrigins(w.Header(), r)
	if httpkit.Preflight(w.Header(), r) {
		w.WriteHeader(http.StatusOK)
		return
	}
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	if r.URL.Path == SchemaPath {
		h.schema(w, r)
		return
	}
	if r.Method != http.MethodPost && r.Method != http.MethodGet {
		w.Header().Set("Allow", "GET, POST")
		h.refuse(w, http.StatusMethodNotAllowed, "Method not allowed")
		return
	}
	in, as, err := h.read(w, r)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	if in == nil {
		return // throttled
	}
	x.As = as
	h.answer(w, r, in, as)
}

// answer runs the requests of one body.
func (h *Handler) answer(w http.ResponseWriter, r *http.Request, in *incoming, as authz.Actor) {
	schema, err := h.schemaFor(in)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	if in.stream = wantsStream(r); in.stream && in.batch {
		h.refuse(w, http.StatusUnprocessableEntity, "A stream of events answers one request")
		return
	}
	limits := h.Limits.Documents(as)
	ops, results := h.prepare(schema, in, as, limits)
	if r.Method == http.MethodGet {
		for _, op := range ops {
			if op != nil && op.Mutates() {
				h.refuse(w, http.StatusUnprocessableEntity, "Mutations are forbidden in GET requests")
				return
			}
		}
	}
	if in.stream {
		h.stream(w, r, in, as, ops[0], results[0])
		return
	}
	var away awayNote
	ctx := context.WithValue(withBlobs(r.Context()), awayKey{}, &away)
	for i, op := range ops {
		if op != nil && results[i] == nil {
			results[i] = schema.Run(ctx, &h.config, op, as)
			results[i].Extensions = cost(op, limits)
		}
	}
	if away.err != nil {
		h.fail(w, r, away.err)
		return
	}
	h.write(w, r, in.batch, results)
}

// cost is what the answer says of the price of an operation.
func cost(op *exec.Operation, limits limit.Documents) map[string]any {
	return map[string]any{"cost": map[string]any{
		"complexity": map[string]int{"score": op.Complexity(), "limit": limits.Complexity},
		"depth":      map[string]int{"score": op.Depth(), "limit": limits.Depth},
	}}
}

func (h *Handler) write(w http.ResponseWriter, r *http.Request, batch bool, results []*exec.Result) {
	body, err := httpkit.MakeBody(r.Context(), math.MaxInt64, func(to *jsonstream.Writer) {
		if batch {
			to.Raw("[")
		}
		for i, result := range results {
			if i > 0 {
				to.Raw(",")
			}
			result.Write(to)
		}
		if batch {
			to.Raw("]")
		}
	})
	if err != nil {
		h.fail(w, r, err)
		return
	}
	defer body.Free()
	w.Header().Set("Content-Type", jsonType)
	w.Header().Set("Content-Length", strconv.FormatInt(body.Size(), 10))
	w.WriteHeader(http.StatusOK)
	if body.Send(w) != nil && body.Long() {
		panic(http.ErrAbortHandler) // the length was promised
	}
}

const jsonType = "application/json; charset=utf-8"

func send(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", jsonType)
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// refuse answers a request without running any part of it.
func (h *Handler) refuse(w http.ResponseWriter, status int, message string) {
	body, err := json.Marshal(map[string]any{"errors": []map[string]string{{"message": message}}})
	if err != nil {
		status = http.StatusInternalServerError
	}
	send(w, status, body)
}

// fail answers with what an error means.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	var refused *refusal
	switch {
	case errors.As(err, &refused):
		h.refuse(w, refused.status, refused.message)
	case errors.Is(err, exec.ErrLarge):
		h.refuse(w, http.StatusUnprocessableEntity, messageLarge)
	case errors.Is(err, budget.ErrFull):
		w.Header().Set("Retry-After", strconv.Itoa(int(errs.RetryAfter.Seconds())))
		h.refuse(w, http.StatusServiceUnavailable, messageFull)
	case errors.Is(err, errs.ErrAway):
		h.Log.ErrorContext(r.Context(), "database is away", "request_id", httpkit.Of(r.Context()).ID, "error", err)
		w.Header().Set("Retry-After", strconv.Itoa(int(errs.RetryAfter.Seconds())))
		h.refuse(w, http.StatusServiceUnavailable, messageAway)
	default:
		h.Log.ErrorContext(r.Context(), "request failed", "request_id", httpkit.Of(r.Context()).ID, "error", err)
		h.refuse(w, http.StatusInternalServerError, messageInternal)
	}
}
