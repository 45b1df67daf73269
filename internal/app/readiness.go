package app

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"time"
)

// readyCheck is one check of whether the server can do its work.
type readyCheck struct {
	name  string
	check func(ctx context.Context) error
}

// readyChecks are the checks of readiness. The first is the only one where not all are asked for.
func (a *App) readyChecks() []readyCheck {
	return []readyCheck{
		{"master_check", a.db.Ping},
		{"db_check", a.db.Ping},
		{"queues_check", func(ctx context.Context) error { _, err := a.jobs.Figures(ctx, a.now()); return err }},
		{"data_check", func(context.Context) error { _, err := os.ReadDir(a.config.Data); return err }},
	}
}

// readyTime is how long the checks may take together.
const readyTime = 5 * time.Second

// readiness answers whether the server can do its work: with each check by its name where the request has all=1.
func (a *App) readiness(w http.ResponseWriter, r *http.Request) {
	type result struct {
		Status string `json:"status"`
	}
	ctx, cancel := context.WithTimeout(r.Context(), readyTime)
	defer cancel()
	all := a.readyChecks()
	if wanted := r.URL.Query().Get("all"); wanted != "1" && wanted != "true" {
		all = all[:1]
	}
	out, code := map[string]any{"status": "ok"}, http.StatusOK
	for _, p := range all {
		one := result{"ok"}
		if err := p.check(ctx); err != nil {
			a.log.Error("not ready", "check", p.name, "error", err)
			one, out["status"], code = result{"failed"}, "failed", http.StatusServiceUnavailable
		}
		out[p.name] = []result{one}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(out)
}
