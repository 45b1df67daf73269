package app

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"tenon/internal/base/budget"
	"tenon/internal/base/db"
	"tenon/internal/base/tracing"
	"tenon/internal/transport/githttp"
	"tenon/internal/transport/gitssh"
	"tenon/internal/transport/graphql"
	"tenon/internal/transport/graphql/exec"
	"tenon/internal/transport/httpkit"
	"tenon/internal/transport/openid"
	"tenon/internal/transport/rest"
	"tenon/internal/transport/rest/api"
	"tenon/internal/transport/runnerhttp"
	"tenon/internal/transport/web"
)

// transports builds what speaks to the outside.
func (a *App) transports() error {
	server := &rest.Server{
		Services: a.core, Revision: a.build.Revision, Now: a.now,
	}
	observe := a.observeRequest
	sessions, err := httpkit.NewSessions(a.core.Sessions, a.baseURL)
	if err != nil {
		return err
	}
	gate, signOn := &httpkit.Gate{Log: a.log, Observe: observe}, &httpkit.SignOn{Accounts: a.core.Accounts, Tokens: a.core.Tokens, Limits: a.core.Limits, Sessions: sessions, Jobs: a.core.CI}
	kit := api.New(api.Config{
		ExternalURL: a.baseURL, Authenticate: signOn.Authenticate, FindUser: signOn.FindUser, Recheck: server.Recheck, Limits: a.core.Limits,
		Session: sessions.Acting, Writable: a.core.Settings.Writable,
		Observe: observe, Log: a.log, Title: "Tenon", Version: rest.Level,
	}, server.Routes())
	git := githttp.New(githttp.Deps{Services: a.core, Gate: gate, SignOn: signOn, Log: a.log})
	if err := a.overSSH(); err != nil {
		return err
	}
	graph := graphql.New(graphql.Deps{
		Services: a.core, Gate: gate, SignOn: signOn, Log: a.log, Now: a.now, Together: a.db.Together, LimitReads: graphReads, NoAnonymousIntrospection: a.config.NoAnonymousIntrospection,
		Version: rest.Level, Revision: a.build.Revision,
	})
	runners := runnerhttp.New(runnerhttp.Deps{Services: a.core, Gate: gate, Log: a.log})
	tokens := openid.New(openid.Deps{Services: a.core, Log: a.log})
	pages := web.New(web.Deps{Services: a.core, Gate: gate, SignOn: signOn, Log: a.log})
	a.http = &http.Server{
		Handler: &router{api: kit, graph: graph, git: git, runners: runners, tokens: tokens, pages: pages, service: a.service(), started: a.metrics.RequestStarted, tracer: a.tracer, idle: &a.idle, proxies: a.config.TrustedProxies, reads: readTime, room: budget.NewRoom(budget.Total)},
		// A body may take long as long as it flows (see httpkit.Patiently); headers may not.
		ReadHeaderTimeout: 15 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(a.log.Handler(), slog.LevelWarn),
	}
	a.http.RegisterOnShutdown(a.core.Live.EndAll)
	a.http.RegisterOnShutdown(a.core.CI.EndAll)
	return nil
}

// overSSH builds what serves git over SSH, unless that is off.
func (a *App) overSSH() error {
	if a.sshAt == nil {
		return nil
	}
	var err error
	a.ssh, err = gitssh.New(gitssh.Deps{
		Services: a.core, Log: a.log, HostKeys: a.config.Data, Busy: a.idle.busy, Brief: a.brief, Observe: a.observeSSH,
	})
	if err != nil {
		return fmt.Errorf("start git over SSH: %w", err)
	}
	a.closing(func(ctx context.Context) error { a.ssh.Shutdown(ctx); return nil })
	return nil
}

// router hands a request to the transport whose path it has.
type router struct {
	api     http.Handler
	graph   *graphql.Handler
	git     *githttp.Handler
	runners *runnerhttp.Handler
	tokens  *openid.Handler
	pages   *web.Handler
	service http.Handler // /-/health and the like
	started func() (done func())
	tracer  *tracing.Tracer
	idle    *idleness
	proxies []netip.Prefix // that say where a request comes from
	reads   time.Duration  // how long the database may read for one request
	room    *budget.Room   // what answers may hold in memory
}

// ServeHTTP answers a request. The client can read the answer even where the request was not read to its end.
func (h *router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r, end := httpkit.Drain(w, r)
	h.serve(w, r)
	end()
}

// answered lets the answer of a request that reads take from the memory for all answers.
func (h *router) answered(r *http.Request) (_ *http.Request, leave func()) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead && !graphql.Match(r.URL.Path) {
		return r, func() {}
	}
	ctx, leave := h.room.Enter(r.Context())
	return r.WithContext(ctx), leave
}

// text answers by a transport whose answers are mostly text.
func (h *router) text(w http.ResponseWriter, r *http.Request, by http.Handler) {
	r, leave := h.answered(r)
	defer leave()
	w, end := httpkit.Compress(httpkit.Patiently(w, r, httpkit.Patience), r)
	defer end()
	by.ServeHTTP(w, r)
}

// serve chooses by the path alone.
func (h *router) serve(w http.ResponseWriter, r *http.Request) {
	if !runnerhttp.Waits(r.URL.Path) { // a job that it gets makes it busy
		defer h.idle.busy()()
	}
	defer h.started()()
	r, end := h.tracer.Request(r)
	defer end()
	httpkit.Forwarded(r, h.proxies)
	r = httpkit.SingleSlashes(r, "/api/")
	if graphql.Match(r.URL.Path) {
		r = r.WithContext(graphReads(r.Context()))
		h.text(w, r, h.graph)
		return
	}
	r = r.WithContext(db.LimitReads(r.Context(), h.reads, allReads(r, h.reads)))
	switch path := r.URL.Path; {
	case runnerhttp.Match(path):
		h.runners.ServeHTTP(httpkit.Patiently(w, r, httpkit.Patience), r)
	case path == "/api" || strings.HasPrefix(path, "/api/"):
		h.text(w, r, h.api)
	case githttp.Match(path):
		h.git.ServeHTTP(httpkit.Patiently(w, r, httpkit.GitPatience), r)
	case openid.Match(path):
		h.tokens.ServeHTTP(httpkit.Patiently(w, r, httpkit.Patience), r)
	case web.MatchFile(path):
		h.pages.ServeFile(httpkit.Patiently(w, r, httpkit.Patience), r)
	case slices.Contains(servicePaths, path):
		h.service.ServeHTTP(w, r)
	default:
		h.text(w, r, h.pages)
	}
}

// graphReads bounds what the database may read for one answer of GraphQL.
func graphReads(ctx context.Context) context.Context {
	return db.LimitReads(ctx, exec.Deadline, exec.Deadline)
}

// readTime is how long one statement that reads may take for a caller who waits, and all
// statements of a request that only reads. Answers and git processes may take longer.
const readTime = 15 * time.Second

// allReads is how long all statements of a request may read together, 0 where each counts
// for itself: what changes something looks at much in many small steps.
func allReads(r *http.Request, limit time.Duration) time.Duration {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return limit
	}
	return 0
}

// servicePaths are what service answers.
var servicePaths = []string{"/-/liveness", "/-/readiness", "/-/health", "/-/metrics", securityPath}

// securityPath is the path of security.txt (RFC 9116).
const securityPath = "/.well-known/security.txt"

// service answers the questions of monitoring systems.
func (a *App) service() http.Handler {
	mux := http.NewServeMux()
	ok := func(w http.ResponseWriter, text string) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(text))
	}
	mux.HandleFunc("GET /-/liveness", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(instanceHeader, a.id)
		ok(w, `{"status":"ok"}`)
	})
	mux.HandleFunc("GET /-/readiness", a.readiness)
	mux.HandleFunc("GET /-/health", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte("GitLab OK"))
	})
	mux.HandleFunc("GET "+securityPath, func(w http.ResponseWriter, r *http.Request) {
		text := a.core.Settings.Current().SecurityTxtContent
		if text == nil || *text == "" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		_, _ = w.Write([]byte(*text))
	})
	measured := a.nearby(a.metrics.Handler())
	mux.HandleFunc("GET /-/metrics", func(w http.ResponseWriter, r *http.Request) {
		if !a.core.Settings.Current().PrometheusMetricsEnabled {
			http.NotFound(w, r)
			return
		}
		measured.ServeHTTP(w, r)
	})
	return mux
}

// sshAddress is where git over SSH is reached, as clients see it: "" where it is off.
func (a *App) sshAddress() string {
	if a.sshAt == nil {
		return ""
	}
	if a.config.SSHExternal != "" {
		return a.config.SSHExternal
	}
	_, port, err := net.SplitHostPort(a.sshAt.Addr().String())
	if err != nil {
		return ""
	}
	host, err := a.host()
	if err != nil {
		return ""
	}
	return net.JoinHostPort(host, port)
}

// nearby shows a page to the addresses that may watch the server, and nothing to others.
func (a *App) nearby(page http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from, err := netip.ParseAddrPort(r.RemoteAddr)
		allowed := func(p netip.Prefix) bool { return p.Contains(from.Addr().Unmap()) }
		if err != nil || !slices.ContainsFunc(a.config.MetricsFrom, allowed) {
			http.NotFound(w, r)
			return
		}
		page.ServeHTTP(w, r)
	})
}
