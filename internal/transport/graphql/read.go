package graphql

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"tenon/internal/base/errs"
	"tenon/internal/base/lru"
	"tenon/internal/core/authz"
	"tenon/internal/core/limit"
	"tenon/internal/core/session"
	"tenon/internal/transport/graphql/exec"
	"tenon/internal/transport/httpkit"
)

// The bounds of a body.
const (
	maxText       = 10_000   // characters of all documents together
	maxBatch      = 100      // requests
	anonymousBody = 2 << 20  // bytes
	signedBody    = 14 << 20 // bytes: a description of 1,048,576 characters in any encoding
)

// message is one request as a client writes it.
type message struct {
	Query      string          `json:"query"`
	Name       string          `json:"operationName"`
	Variables  json.RawMessage `json:"variables"`
	Extensions struct {
		Persisted *persisted `json:"persistedQuery"`
	} `json:"extensions"`

	variables map[string]any
}

// persisted names a document by its digest instead of sending it.
type persisted struct {
	Version int    `json:"version"`
	Digest  string `json:"sha256Hash"`
}

// incoming is what a request asks for.
type incoming struct {
	messages []message
	batch    bool
	current  bool // false leaves out what is deprecated
	stream   bool // the answer is a stream of events

	// again signs the caller on once more: whether it is still who it was, and may do what.
	again func(ctx context.Context) (authz.Actor, error)
}

// read finds out who asks for what. It returns nothing where a throttle has answered.
func (h *Handler) read(w http.ResponseWriter, r *http.Request) (*incoming, authz.Actor, error) {
	query := r.URL.Query()
	values := query
	as, known, err := h.signOn(r, query.Get)
	counted := err == nil && known
	if counted && h.SignOn.Throttled(w, limit.API, as) {
		return nil, as, nil
	}
	if err != nil {
		return h.refusedSignOn(w, r, err)
	}
	most := int64(anonymousBody)
	if known {
		most = signedBody
	}
	r.Body = http.MaxBytesReader(w, r.Body, most)
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		kind = ""
	}
	in, form, err := h.body(r, kind, query)
	if err != nil {
		return nil, as, bodyError(err)
	}
	if !known {
		values = form
		if as, known, err = h.signOn(r, form.Get); err != nil {
			return h.refusedSignOn(w, r, err)
		}
	}
	if !known {
		if as, err = h.session(r, kind); err != nil {
			return nil, as, err
		}
	}
	by := as.UserID
	in.again = func(ctx context.Context) (authz.Actor, error) {
		r := r.WithContext(ctx)
		as, err := authz.Actor{}, error(nil)
		if known {
			as, _, err = h.signOn(r, values.Get)
		} else {
			as, err = h.session(r, kind)
		}
		if err == nil && as.UserID != by {
			err = &refusal{http.StatusUnauthorized, messageToken} // a session that has ended
		}
		as.Address, as.Agent, as.Chain = httpkit.Address(r), session.CutAgent(r.UserAgent()), httpkit.Chain(r)
		return as, err
	}
	if !counted && h.SignOn.Throttled(w, limit.API, as) {
		return nil, as, nil
	}
	as.Address, as.Agent, as.Chain = httpkit.Address(r), session.CutAgent(r.UserAgent()), httpkit.Chain(r)
	return in, as, h.check(in)
}

// signOn makes the actor of the token in a request, if it has one; any other actor has the address alone.
func (h *Handler) signOn(r *http.Request, param func(string) string) (authz.Actor, bool, error) {
	nobody := authz.Actor{Address: httpkit.Address(r)}
	c, ok, err := httpkit.Find(r.Header, param)
	switch {
	case err != nil:
		return nobody, false, &refusal{http.StatusUnauthorized, messageToken}
	case !ok:
		return nobody, false, nil
	}
	c.Route, c.Address = Path, nobody.Address
	as, err := h.SignOn.Authenticate(r.Context(), c)
	_, stale := errors.AsType[httpkit.TokenError](err)
	switch {
	case stale || errs.Is(err, errs.Unauthorized):
		return nobody, false, &refusal{http.StatusUnauthorized, messageToken}
	case errs.Is(err, errs.Forbidden):
		return nobody, false, &refusal{http.StatusForbidden, messageBlocked}
	case err != nil:
		return nobody, false, err
	case !as.Scopes.Permit(nil, true):
		return nobody, false, &refusal{http.StatusUnauthorized, messageToken}
	}
	as.Address = nobody.Address
	return as, true, nil
}

// refusedSignOn counts a credential that was refused by the address that it came from.
func (h *Handler) refusedSignOn(w http.ResponseWriter, r *http.Request, err error) (*incoming, authz.Actor, error) {
	nobody := authz.Actor{Address: httpkit.Address(r)}
	if h.SignOn.Throttled(w, limit.API, nobody) {
		return nil, nobody, nil
	}
	return nil, nobody, err
}

// session makes the actor of a browser. Its requests come as JSON, with the header that only a
// page of this server can send, or as GET.
func (h *Handler) session(r *http.Request, kind string) (authz.Actor, error) {
	nobody := authz.Actor{Address: httpkit.Address(r)}
	if r.Method != http.MethodGet && kind != "application/json" {
		return nobody, nil
	}
	as, ok, err := h.SignOn.Sessions.Acting(r)
	if err != nil || !ok {
		return nobody, err
	}
	return as, nil
}

// body reads the requests in whichever form they came. Values of forms are given back, for the
// tokens among them.
func (h *Handler) body(r *http.Request, kind string, query url.Values) (*incoming, url.Values, error) {
	in := &incoming{current: query.Get("remove_deprecated") != "true"}
	form := url.Values{}
	switch {
	case r.Method == http.MethodGet:
	case kind == "application/json":
		return in, form, in.json(r.Body, query)
	case kind == "application/graphql":
		raw, err := io.ReadAll(r.Body)
		in.messages = []message{{Query: string(raw)}}
		return in, form, err
	case kind == "multipart/form-data":
		if err := r.ParseMultipartForm(anonymousBody); err != nil {
			return nil, nil, err
		}
		defer r.MultipartForm.RemoveAll() //nolint:errcheck // files of the system's temporary folder
		form = r.MultipartForm.Value
		if operations := form.Get("operations"); operations != "" {
			return in, form, in.json(strings.NewReader(operations), query)
		}
	default:
		if err := r.ParseForm(); err != nil {
			return nil, nil, err
		}
		form = r.PostForm
	}
	value := func(name string) string {
		if v := form.Get(name); v != "" {
			return v
		}
		return query.Get(name)
	}
	if form.Get("remove_deprecated") == "true" {
		in.current = false
	}
	m := message{Query: value("query"), Name: value("operationName")}
	if v := value("variables"); v != "" {
		if err := bounded([]byte(v)); err != nil {
			return nil, nil, err
		}
		m.Variables = json.RawMessage(v)
	}
	if v := value("extensions"); v != "" {
		if bounded([]byte(v)) != nil || json.Unmarshal([]byte(v), &m.Extensions) != nil {
			return nil, nil, unprocessable("Extensions are not a JSON object")
		}
	}
	in.messages = []message{m}
	return in, form, nil
}

// json reads one request or a batch. What a body leaves out may stand in the query string.
func (i *incoming) json(body io.Reader, query url.Values) error {
	raw, err := io.ReadAll(body)
	if err != nil {
		return fmt.Errorf("read the body: %w", err)
	}
	if err := bounded(raw); err != nil {
		return err
	}
	if raw = bytes.TrimSpace(raw); len(raw) > 0 && raw[0] == '[' {
		i.batch = true
		if err := json.Unmarshal(raw, &i.messages); err != nil {
			return errSyntax
		}
		if len(i.messages) > maxBatch {
			return unprocessable(fmt.Sprintf("A batch has at most %d requests", maxBatch))
		}
		return nil
	}
	var one struct {
		message
		Deprecated any `json:"remove_deprecated"`
	}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &one); err != nil {
			return errSyntax
		}
	}
	if one.Deprecated == true || one.Deprecated == "true" {
		i.current = false
	}
	if one.Query == "" {
		one.Query = query.Get("query")
	}
	if one.Name == "" {
		one.Name = query.Get("operationName")
	}
	if v := query.Get("variables"); len(one.Variables) == 0 && v != "" {
		if err := bounded([]byte(v)); err != nil {
			return err
		}
		one.Variables = json.RawMessage(v)
	}
	i.messages = []message{one.message}
	return nil
}

var errSyntax = &refusal{http.StatusBadRequest, "The body is not a request in JSON"}

// bodyError gives the refusal of a body that cannot be read.
func bodyError(err error) error {
	var large *http.MaxBytesError
	var refused *refusal
	switch {
	case errors.As(err, &large):
		return &refusal{http.StatusRequestEntityTooLarge, "Request is too large"}
	case errors.As(err, &refused):
		return err
	}
	return errSyntax
}

// check reads variables and bounds what was sent.
func (h *Handler) check(in *incoming) error {
	sum := 0
	for i := range in.messages {
		m := &in.messages[i]
		if m.Extensions.Persisted != nil {
			if err := h.recall(m); err != nil {
				return err
			}
		}
		sum += utf8.RuneCountInString(m.Query)
		var err error
		if m.variables, err = variables(m.Variables, true); err != nil {
			return err
		}
	}
	if sum > maxText {
		return unprocessable("Query too large")
	}
	return nil
}

// recall finds the document that a digest names, or keeps the one that came with it.
func (h *Handler) recall(m *message) error {
	p := m.Extensions.Persisted
	if m.Query == "" {
		text, ok := lru.Get[string](h.persisted, p.Digest)
		if !ok {
			return nil // refused where the request is answered
		}
		m.Query = text
		return nil
	}
	sum := sha256.Sum256([]byte(m.Query))
	if hex.EncodeToString(sum[:]) != strings.ToLower(p.Digest) {
		return unprocessable("provided sha does not match query")
	}
	if len(m.Query) <= maxText*utf8.UTFMax {
		h.persisted.Put(strings.ToLower(p.Digest), m.Query, len(m.Query)+sha256.Size)
	}
	return nil
}

// variables reads an object, or a text that holds one.
func variables(raw json.RawMessage, text bool) (map[string]any, error) {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return nil, nil
	case raw[0] == '"' && text:
		var inner string
		if err := json.Unmarshal(raw, &inner); err != nil {
			return nil, errVariables
		}
		if err := bounded([]byte(inner)); err != nil {
			return nil, errVariables
		}
		return variables(json.RawMessage(inner), false)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var out map[string]any
	if err := d.Decode(&out); err != nil {
		return nil, errVariables
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errVariables
	}
	return out, nil
}

var errVariables = unprocessable("Variables are not a JSON object")

// prepare parses and weighs all requests. Those that cannot run have a result already.
func (h *Handler) prepare(schema *exec.Schema, in *incoming, as authz.Actor, limits limit.Documents) ([]*exec.Operation, []*exec.Result) {
	ops, results := make([]*exec.Operation, len(in.messages)), make([]*exec.Result, len(in.messages))
	complexity, depth, bare := 0, 0, true
	for i := range in.messages {
		m := &in.messages[i]
		if m.Query == "" && m.Extensions.Persisted != nil {
			results[i] = exec.Refused(exec.Error{Message: "PersistedQueryNotFound", Extensions: map[string]any{"code": "PERSISTED_QUERY_NOT_FOUND"}})
			continue
		}
		doc, problems := h.document(schema, m.Query)
		if problems == nil {
			ops[i], problems = schema.Prepare(doc, m.Name, m.variables)
		}
		if problems == nil && h.NoAnonymousIntrospection && !as.Known() && ops[i].ReadsSchema() {
			problems = []exec.Error{{Message: messageSchema}}
		}
		if problems == nil && ops[i].Subscribes() && !in.stream {
			problems = []exec.Error{{Message: "Subscriptions are answered as a stream of events: send Accept: text/event-stream"}}
		}
		if problems == nil && ops[i].Mutates() {
			if err := h.Settings.Writable(); err != nil {
				problems = []exec.Error{{Message: err.Error()}}
			}
		}
		if problems != nil {
			ops[i], results[i] = nil, exec.Refused(problems...)
			continue
		}
		complexity, depth, bare = complexity+ops[i].Complexity(), max(depth, ops[i].Depth()), bare && ops[i].Introspects()
	}
	most := limits.Complexity
	if bare {
		most = max(most, limits.Introspection)
	}
	over := ""
	switch {
	case depth > limits.Depth:
		over = fmt.Sprintf("Query has depth of %d, which exceeds max depth of %d", depth, limits.Depth)
	case complexity > most:
		over = fmt.Sprintf("Query has complexity of %d, which exceeds max complexity of %d", complexity, most)
	case !h.Limits.Spend(as, complexity):
		over = messageTooMany
	}
	for i, op := range ops {
		if op == nil {
			continue
		}
		op.Score, op.Limit = complexity, limits.Complexity
		if over != "" {
			results[i] = exec.Refused(exec.Error{Message: over})
		}
	}
	return ops, results
}

// document parses a text, or finds it parsed already.
func (h *Handler) document(schema *exec.Schema, text string) (*exec.Document, []exec.Error) {
	type key struct {
		schema *exec.Schema
		text   string
	}
	if doc, ok := lru.Get[*exec.Document](h.documents, key{schema, text}); ok {
		return doc, nil
	}
	doc, problems := schema.Parse(text)
	if problems == nil {
		h.documents.Put(key{schema, text}, doc, 40*len(text)+1000) // the tree takes many times its text
	}
	return doc, problems
}
