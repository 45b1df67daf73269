package httpkit

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"tenon/internal/base/pattern"
	"tenon/internal/core/authz"
)

// Exchange is one request and what became of it.
type Exchange struct {
	ID      string
	Address string // of the client, without the port
	Started time.Time
	Route   string // pattern, "" where none matched: never a path, so that it can label a metric
	As      authz.Actor
	Sudoer  string // username of the administrator who acts as As; "" for all others
	Status  int    // of the answer, 0 until it is begun

	Service string // of git, such as git-upload-pack; "" for all others
	Project string // full path of the project that git asks for; "" for all others

	traffic *traffic // nil where bytes are not counted
}

// traffic counts the bytes of a request. A body may be read after its answer.
type traffic struct{ in, out atomic.Int64 }

// Observation is one answered request, for metrics.
type Observation struct {
	Method   string
	Route    string // pattern, "" where none matched
	Status   int
	Duration time.Duration
	Context  context.Context // of the request

	Service string // see [Exchange]
	In, Out int64  // bytes of the bodies; 0 where they are not counted
}

// Gate is what requests of one transport go through.
type Gate struct {
	// Log gets one line per request, and one per panic.
	Log *slog.Logger
	// Observe, where set, is called with each request when it is answered.
	Observe func(Observation)
}

// Begin gives a request its number and its address.
func (g *Gate) Begin(x *Exchange, r *http.Request) {
	*x = Exchange{ID: requestID(r.Header.Get("X-Request-Id")), Address: Address(r), Started: time.Now()}
	x.As.Address = x.Address
}

// End writes the line of a request with the parameters that the log may have, and tells the
// metrics.
func (g *Gate) End(x *Exchange, r *http.Request, params func() []slog.Attr) {
	took := time.Since(x.Started)
	if g.Log.Enabled(r.Context(), slog.LevelInfo) {
		g.line(x, r, took, params)
	}
	if g.Observe != nil {
		o := Observation{Method: r.Method, Route: x.Route, Status: x.Status, Duration: took, Context: r.Context(), Service: x.Service}
		if x.traffic != nil {
			o.In, o.Out = x.traffic.in.Load(), x.traffic.out.Load()
		}
		g.Observe(o)
	}
}

func (g *Gate) line(x *Exchange, r *http.Request, took time.Duration, params func() []slog.Attr) {
	attrs := []slog.Attr{
		slog.String("request_id", x.ID),
		slog.String("method", r.Method),
		slog.String("path", Path(r)),
		slog.String("route", x.Route),
		slog.Int("status", x.Status),
		slog.Float64("seconds", took.Seconds()),
		slog.String("address", x.Address),
	}
	if x.Service != "" {
		attrs = append(attrs, slog.String("service", x.Service))
	}
	if x.Project != "" {
		attrs = append(attrs, slog.String("project", x.Project))
	}
	if x.traffic != nil {
		attrs = append(attrs, slog.Int64("bytes_in", x.traffic.in.Load()), slog.Int64("bytes_out", x.traffic.out.Load()))
	}
	if x.As.SignedIn() {
		attrs = append(attrs, slog.Int64("user_id", int64(x.As.UserID)), slog.String("user", x.As.Username))
	}
	if x.As.TokenID != 0 {
		attrs = append(attrs, slog.Int64("token_id", x.As.TokenID))
	}
	if x.Sudoer != "" {
		attrs = append(attrs, slog.String("sudo_by", x.Sudoer))
	}
	if params != nil {
		if list := params(); len(list) > 0 {
			attrs = append(attrs, slog.Attr{Key: "params", Value: slog.GroupValue(list...)})
		}
	}
	g.Log.LogAttrs(r.Context(), slog.LevelInfo, "request", attrs...)
}

// uploaded is the part of a path that names an uploaded file. Who knows it may read the file
// without signing in.
var uploaded = pattern.New(`/uploads/[0-9a-fA-F]{32}`)

// Path returns the path of a request as the log may have it: without the secrets of uploaded
// files.
func Path(r *http.Request) string {
	path := r.URL.EscapedPath()
	if !strings.Contains(path, "/uploads/") {
		return path
	}
	return uploaded().ReplaceAllString(path, "/uploads/[FILTERED]")
}

// Recovered logs what recover gave. It reports whether the panic is to go on: it is how a
// handler breaks off an answer.
func (g *Gate) Recovered(x *Exchange, r *http.Request, p any) (goOn bool) {
	if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		return true
	}
	g.Log.ErrorContext(r.Context(), "panic", "request_id", x.ID, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	return false
}

// Serve sends a request through the gate to a handler, which finds its exchange with [Of]. fail
// answers after a panic that left the answer unbegun.
func (g *Gate) Serve(w http.ResponseWriter, r *http.Request, serve, fail http.HandlerFunc) {
	x := &Exchange{}
	g.Begin(x, r)
	x.traffic = &traffic{}
	r = r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x))
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = &countedBody{ReadCloser: r.Body, x: x}
	}
	out := &recorder{ResponseWriter: w, x: x}
	out.Header().Set("X-Request-Id", x.ID)
	defer func() {
		if p := recover(); p != nil {
			if g.Recovered(x, r, p) {
				g.End(x, r, nil)
				panic(p)
			}
			if x.Status == 0 {
				fail(out, r)
			}
		}
		if x.Status == 0 {
			x.Status = http.StatusOK // the server sends it for a handler that wrote nothing
		}
		g.End(x, r, nil)
	}()
	serve(out, r)
}

type exchangeKey struct{}

// Of returns the exchange of a request that came through [Gate.Serve], an empty one for all
// others.
func Of(ctx context.Context) *Exchange {
	if x, ok := ctx.Value(exchangeKey{}).(*Exchange); ok {
		return x
	}
	return &Exchange{}
}

// recorder notes the status of an answer.
type recorder struct {
	http.ResponseWriter
	x *Exchange
}

// WriteHeader notes the final status.
func (r *recorder) WriteHeader(status int) {
	if r.x.Status == 0 && status >= http.StatusOK {
		r.x.Status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write begins the answer with 200 where nothing did before.
func (r *recorder) Write(p []byte) (int, error) {
	r.begin()
	n, err := r.ResponseWriter.Write(p)
	r.x.traffic.out.Add(int64(n))
	return n, err
}

// ReadFrom leaves copying to the writer below, which knows how to send files.
func (r *recorder) ReadFrom(from io.Reader) (int64, error) {
	r.begin()
	n, err := io.Copy(r.ResponseWriter, from)
	r.x.traffic.out.Add(n)
	return n, err
}

// countedBody counts the bytes of a body.
type countedBody struct {
	io.ReadCloser
	x *Exchange
}

// Read counts what is read.
func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.x.traffic.in.Add(int64(n))
	return n, err
}

func (r *recorder) begin() {
	if r.x.Status == 0 {
		r.x.Status = http.StatusOK
	}
}

// Unwrap lets a ResponseController reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// requestID takes over the id a proxy gave, where it is one, and makes one otherwise.
func requestID(given string) string {
	if given != "" && len(given) <= 128 && strings.Trim(given, idAlphabet) == "" {
		return given
	}
	var b [13]byte
	rand.Read(b[:]) // never fails
	return strings.ToUpper(hex.EncodeToString(b[:]))
}

const idAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."
