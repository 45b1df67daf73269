package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"tenon/internal/base/db"
	"tenon/test/scaletest"
)

// scale is a large instance that runs.
type scale struct {
	*scaletest.Seeder
	server *server
	tokens map[string]string // by who asks
}

// measureScale measures lists of a large instance, each asked for by an administrator
// and by a member of fifty groups.
func measureScale(ctx context.Context, o options, folder string, out *report) error {
	data := filepath.Join(folder, "data")
	w := &scale{Seeder: &scaletest.Seeder{Size: scaletest.Whole, Step: timed}, tokens: map[string]string{"administrator": rootToken}}
	if o.quick {
		w.Size = scaletest.Quick
	}
	if o.data != "" {
		return w.again(ctx, o, data, out)
	}
	s, err := startServer(ctx, o, data)
	if err != nil {
		return err
	}
	if err := w.prepare(ctx, newAPI(s.url, rootToken)); err != nil {
		return errors.Join(err, s.stop())
	}
	if err := s.stop(); err != nil {
		return err
	}
	if err := w.seed(ctx, o, data); err != nil {
		return fmt.Errorf("fill the database: %w", err)
	}
	if w.server, err = startServer(ctx, o, data); err != nil {
		return err
	}
	return errors.Join(w.measure(ctx, o, out), w.server.stop())
}

// seed fills the data folder of a server that does not run.
func (w *scale) seed(ctx context.Context, o options, data string) (err error) {
	address := o.database
	if address == "" {
		address = filepath.Join(data, "tenon.db")
	}
	d, err := db.Open(ctx, db.Config{URL: address, Stall: time.Hour})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	if err := d.Loosely(ctx, func() error { return w.Fill(ctx, d) }); err != nil {
		return err
	}
	return vacuum(ctx, o.database)
}

// make makes a template.
func (a *api) make(ctx context.Context, path string, in map[string]any) (scaletest.Made, error) {
	out, err := a.post(ctx, path, in)
	return scaletest.Made{ID: int64(out.ID), IID: int64(out.IID)}, err
}

// prepare makes the templates and the tokens.
func (w *scale) prepare(ctx context.Context, root *api) error {
	if err := w.Templates(ctx, root.make); err != nil {
		return fmt.Errorf("make the templates: %w", err)
	}
	return w.memberToken(ctx, root)
}

// again measures an instance that was filled before.
func (w *scale) again(ctx context.Context, o options, data string, out *report) (err error) {
	if w.server, err = startServer(ctx, o, data); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.server.stop()) }()
	root := newAPI(w.server.url, rootToken)
	text, err := root.get(ctx, "/users?username=member")
	if err != nil {
		return err
	}
	var members []made
	if err := json.Unmarshal(text, &members); err != nil || len(members) != 1 {
		return fmt.Errorf("look for the user member: %d found, %w", len(members), err)
	}
	w.Member = int64(members[0].ID)
	if err := w.memberToken(ctx, root); err != nil {
		return err
	}
	return w.measure(ctx, o, out)
}

func (w *scale) memberToken(ctx context.Context, root *api) error {
	token, err := root.post(ctx, fmt.Sprintf("/users/%d/personal_access_tokens", w.Member), map[string]any{
		"name": "bench", "scopes": []string{"api"},
	})
	w.tokens["member"] = token.Token
	return err
}

func (w *scale) measure(ctx context.Context, o options, out *report) error {
	l := &loader{server: w.server, length: o.length}
	out.line("\n%d projects, %d issues (%d in one project), %d merge requests, %d notes, %d users", w.Projects, w.Issues, w.InLarge,
		w.Requests, w.Noted*w.NotesEach+w.LongNote, w.Users)
	for _, who := range []string{"administrator", "member"} {
		out.line("\n| lists of 20 for the %s | p50 / p95 / p99 ms | longest | SQL | goal |\n|---|--:|--:|--:|---|", who)
		for _, list := range scaletest.Lists() {
			if !o.only.MatchString(list.Name) {
				continue
			}
			ready := request(w.server.url, w.tokens[who], http.MethodGet, list.Path, nil)
			op := operation{name: list.Name, wants: http.StatusOK, sends: func(int) []byte { return ready }}
			if err := w.row(ctx, l, op, list.Path, out); err != nil {
				return fmt.Errorf("%s for the %s: %w", list.Name, who, err)
			}
		}
	}
	return w.isolation(ctx, l, out)
}

// row measures a list by one client after one request that warms.
func (w *scale) row(ctx context.Context, l *loader, op operation, path string, out *report) error {
	began := time.Now()
	if err := l.probe(ctx, op, 0); err != nil {
		out.line("| %s | refused: %s | | | |", op.name, err)
		return nil
	}
	first := time.Since(began)
	op.most = int(min(200, max(5, 2*l.length/max(first, time.Millisecond))))
	before, err := w.server.usage(ctx)
	if err != nil {
		return err
	}
	f := l.run(ctx, op, new(atomic.Int64), 1, l.length)
	after, err := w.server.usage(ctx)
	if err != nil {
		return err
	}
	if f.done == 0 {
		return fmt.Errorf("no answer: %s", f.sample)
	}
	most := 50 * time.Millisecond
	if u, err := url.Parse(path); err == nil && u.Query().Has("search") {
		most = 150 * time.Millisecond
	}
	out.line("| %s | %s | %.1f | %.1f | %s |", op.name, percentiles(f), f.longest.Seconds()*1000,
		after.minus(before).statements/float64(f.done), met(f.p99 <= most, fmt.Sprintf("p99 %d ms", most.Milliseconds())))
	return nil
}

// isolation measures reading one project while one caller searches a large one four times
// at once, without end.
func (w *scale) isolation(ctx context.Context, l *loader, out *report) error {
	large := fmt.Sprintf("/projects/%d", scaletest.FirstProject)
	search := request(w.server.url, w.tokens["member"], http.MethodGet, large+"/issues?search=xylophone+quince&in=title,description", nil)
	read := request(w.server.url, w.tokens["administrator"], http.MethodGet, large, nil)
	searching, stop := context.WithCancel(ctx)
	var group sync.WaitGroup
	group.Go(func() {
		l.run(searching, operation{wants: http.StatusOK, sends: func(int) []byte { return search }}, new(atomic.Int64), 4, l.length+time.Second)
	})
	f := l.run(ctx, operation{wants: http.StatusOK, sends: func(int) []byte { return read }}, new(atomic.Int64), 1, l.length)
	stop()
	group.Wait()
	if f.done == 0 {
		return fmt.Errorf("read a project beside searches: %s", f.sample)
	}
	out.line("\n| beside four searches of another caller | p50 / p95 / p99 ms | longest | goal |\n|---|--:|--:|---|")
	out.line("| one project | %s | %.1f | %s |", percentiles(f), f.longest.Seconds()*1000, met(f.p99 <= 50*time.Millisecond, "p99 50 ms"))
	return nil
}
