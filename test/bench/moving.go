package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// movingSize says what is moved.
type movingSize struct {
	archive movingArchive
	large   movingArchive // with one large relation
	uploads movingArchive // with nothing else

	projects, issues int // of the group that is transferred, and of each of its projects
	reads            int // a second, of other callers
}

var (
	fullMoving = movingSize{
		archive: movingArchive{issues: 10_000, requests: 5_000, notes: 100_000, textBytes: 500}, large: movingArchive{issues: 20_000, textBytes: 100_000},
		uploads: movingArchive{uploads: 107}, projects: 200, issues: 100, reads: 100,
	}
	quickMoving = movingSize{
		archive: movingArchive{issues: 1_000, requests: 400, notes: 10_000, textBytes: 500}, large: movingArchive{issues: 500, textBytes: 100_000},
		uploads: movingArchive{uploads: 1}, projects: 5, issues: 100, reads: 50,
	}
)

// movers measures exports, imports and transfers.
type movers struct {
	*server

	root *api
	out  *report
	size movingSize
}

// moved are the figures of one move.
type moved struct {
	took   time.Duration
	memory float64 // MB more than before at most
}

func measureMoving(ctx context.Context, o options, folder string, s *server, out *report) (err error) {
	m := &movers{server: s, root: newAPI(s.url, rootToken), out: out, size: fullMoving}
	f := &filler{world: &world{size: fullSize, url: s.url, source: filepath.Join(folder, "seed.git")}, root: m.root}
	if o.quick {
		m.size, f.size = quickMoving, quickSize
	}
	if err := timed(ctx, "repository made", f.makeRepository); err != nil {
		return err
	}
	a := &m.size.archive
	a.bundle = filepath.Join(folder, "seed.bundle")
	if a.shas, err = bundle(ctx, f.source, a.bundle); err != nil {
		return err
	}
	archive := filepath.Join(folder, "archive.tar.gz")
	if err := a.write(archive); err != nil {
		return err
	}
	if err := m.open(ctx); err != nil {
		return err
	}
	out.line("\n| %d issues, %d merge requests, %d notes, %d commits | took | memory more | goal |\n|---|--:|--:|---|", a.issues, a.requests, a.notes, f.commits)
	id, got, err := m.imports(ctx, archive, "imported")
	if err != nil {
		return err
	}
	out.moved("import", got, 120*time.Second, 200)
	if err := vacuum(ctx, o.database); err != nil {
		return err
	}
	if got, err = m.exports(ctx, id); err != nil {
		return err
	}
	out.moved("export", got, 60*time.Second, 150)
	for _, part := range []struct {
		name string
		run  func() error
	}{
		{"large", func() error {
			a := &m.size.large
			return m.large(ctx, folder, a, fmt.Sprintf("a relation of %.1f GB", float64(a.issues)*float64(a.textBytes)/(1<<30)))
		}},
		{"uploads", func() error {
			a := &m.size.uploads
			return m.large(ctx, folder, a, fmt.Sprintf("uploads of %.1f GB", float64(a.uploads)*uploadBytes/(1<<30)))
		}},
		{"beside", func() error { return m.beside(ctx, id, archive) }},
		{"transfer", func() error { return m.transfer(ctx, o, folder) }},
	} {
		if !o.only.MatchString(part.name) {
			continue
		}
		if err := part.run(); err != nil {
			return err
		}
	}
	return nil
}

// large imports and exports what fits no memory.
func (m *movers) large(ctx context.Context, folder string, a *movingArchive, what string) error {
	file := filepath.Join(folder, "large.tar.gz")
	if err := a.write(file); err != nil {
		return err
	}
	id, got, err := m.imports(ctx, file, fmt.Sprintf("large-%d", a.uploads))
	if err = errors.Join(err, os.Remove(file)); err != nil {
		return err
	}
	m.out.moved("import, "+what, got, 0, 200)
	if got, err = m.exports(ctx, id); err != nil {
		return err
	}
	m.out.moved("export, "+what, got, 0, 150)
	return nil
}

// open lets archives be large, and transfers come from this machine.
func (m *movers) open(ctx context.Context) error {
	_, err := m.root.send(ctx, http.MethodPut, "/application/settings", map[string]any{
		"bulk_import_enabled": true, "allow_local_requests_from_web_hooks_and_services": true, "max_import_size": 0, "max_decompressed_archive_size": 0,
	})
	return err
}

// peak runs fn and returns how much more memory the server took at most than before, in MB.
func (m *movers) peak(fn func() error) (moved, error) {
	before, err := m.memory("VmRSS")
	if err != nil {
		return moved{}, err
	}
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", m.cmd.Process.Pid), []byte("5"), 0); err != nil { // forgets the highest size so far
		return moved{}, err
	}
	began := time.Now()
	if err := fn(); err != nil {
		return moved{}, err
	}
	took := time.Since(began)
	after, err := m.memory("VmHWM")
	return moved{took, after - before}, err
}

// imports imports an archive and waits for the end.
func (m *movers) imports(ctx context.Context, file, path string) (id int, _ moved, err error) {
	got, err := m.peak(func() error {
		if id, err = m.upload(ctx, file, path); err != nil {
			return err
		}
		return m.await(ctx, fmt.Sprintf("/projects/%d/import", id), "import_status")
	})
	return id, got, err
}

func (m *movers) exports(ctx context.Context, id int) (moved, error) {
	return m.peak(func() error {
		path := fmt.Sprintf("/projects/%d/export", id)
		if _, err := m.root.send(ctx, http.MethodPost, path, nil); err != nil {
			return err
		}
		return m.await(ctx, path, "export_status")
	})
}

// await asks until a status is finished.
func (m *movers) await(ctx context.Context, path, key string) error {
	for {
		text, err := m.root.get(ctx, path)
		if err != nil {
			return err
		}
		var status map[string]any
		if err := json.Unmarshal(text, &status); err != nil {
			return err
		}
		switch status[key] {
		case "finished":
			return nil
		case "failed":
			return fmt.Errorf("%s: %s", path, text)
		}
		if err := wait(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

// upload sends an archive.
func (m *movers) upload(ctx context.Context, file, path string) (id int, err error) {
	from, to := io.Pipe()
	form := multipart.NewWriter(to)
	go func() { // ends with the request, which closes the pipe
		err := form.WriteField("path", path)
		if err == nil {
			err = copyInto(form, file)
		}
		to.CloseWithError(errors.Join(err, form.Close()))
	}()
	defer func() { err = errors.Join(err, from.Close()) }()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.url+"/api/v4/projects/import", from)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Private-Token", m.root.token)
	req.Header.Set("Content-Type", form.FormDataContentType())
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusCreated {
		err = fmt.Errorf("%s: %s", resp.Status, text)
	}
	if err != nil {
		return 0, err
	}
	var out made
	err = json.Unmarshal(text, &out)
	return out.ID, err
}

func copyInto(form *multipart.Writer, file string) (err error) {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	part, err := form.CreateFormFile("file", "export.tar.gz")
	if err == nil {
		_, err = io.Copy(part, f)
	}
	return err
}

// beside measures what other callers feel: reads at a fixed rate, alone and beside an import and an export, and writes meanwhile.
func (m *movers) beside(ctx context.Context, id int, archive string) error {
	other, err := m.root.post(ctx, "/projects", map[string]any{"name": "other"})
	if err != nil {
		return err
	}
	project := fmt.Sprintf("/projects/%d", other.ID)
	for i := range 100 {
		if _, err := m.root.post(ctx, project+"/issues", map[string]any{"title": fmt.Sprintf("issue %d", i)}); err != nil {
			return err
		}
	}
	m.out.line("\n| reads of 20 issues, %d/s | p50 / p95 / p99 ms | longest write | goal |\n|---|--:|--:|---|", m.size.reads)
	alone, err := m.watch(ctx, project, func() error { return wait(ctx, 10*time.Second) })
	if err != nil {
		return err
	}
	m.out.beside("alone", alone, alone)
	for _, of := range []struct {
		name string
		run  func() error
	}{
		{"beside an import", func() error { _, _, err := m.imports(ctx, archive, "beside"); return err }},
		{"beside an export", func() error { _, err := m.exports(ctx, id); return err }},
	} {
		got, err := m.watch(ctx, project, of.run)
		if err != nil {
			return err
		}
		m.out.beside(of.name, got, alone)
	}
	return nil
}

// felt is what other callers feel.
type felt struct {
	reads []time.Duration
	write time.Duration // the longest
}

// watch reads at a fixed rate, and writes ten times a second, while fn runs.
func (m *movers) watch(ctx context.Context, project string, fn func() error) (f felt, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var group sync.WaitGroup
	var mu sync.Mutex
	ask := func(every time.Duration, send func() error, add func(took time.Duration)) {
		group.Go(func() { // ends with stop
			ticks := time.NewTicker(every)
			defer ticks.Stop()
			var calls sync.WaitGroup
			defer calls.Wait()
			for {
				select {
				case <-ctx.Done():
					return
				case at := <-ticks.C:
					calls.Go(func() {
						failed := send()
						mu.Lock()
						defer mu.Unlock()
						if failed != nil && ctx.Err() == nil {
							err = errors.Join(err, failed)
						}
						if failed == nil {
							add(time.Since(at))
						}
					})
				}
			}
		})
	}
	ask(time.Second/time.Duration(m.size.reads), func() error {
		_, err := m.root.get(ctx, project+"/issues?per_page=20")
		return err
	}, func(took time.Duration) { f.reads = append(f.reads, took) })
	ask(100*time.Millisecond, func() error {
		_, err := m.root.post(ctx, project+"/issues/1/notes", map[string]any{"body": "written meanwhile"})
		return err
	}, func(took time.Duration) { f.write = max(f.write, took) })
	ran := fn()
	stop()
	group.Wait()
	slices.Sort(f.reads)
	return f, errors.Join(ran, err)
}

func (f *felt) at(share float64) time.Duration {
	if len(f.reads) == 0 {
		return 0
	}
	return f.reads[min(len(f.reads)-1, int(share*float64(len(f.reads))))]
}

// transfer moves a group of many projects into another server.
func (m *movers) transfer(ctx context.Context, o options, folder string) (err error) {
	if o.database != "" {
		m.out.line("\nA transfer is measured on SQLite alone: one database holds one server.")
		return nil
	}
	to, err := startServer(ctx, o, filepath.Join(folder, "destination"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.stop()) }()
	there := &movers{server: to, root: newAPI(to.url, rootToken), out: m.out, size: m.size}
	if err := there.open(ctx); err != nil {
		return err
	}
	group, err := m.root.post(ctx, "/groups", map[string]any{"name": "Moving", "path": "moving"})
	if err != nil {
		return err
	}
	small := filepath.Join(folder, "small.tar.gz")
	if err := (&movingArchive{issues: m.size.issues, textBytes: 500}).write(small); err != nil {
		return err
	}
	for i := range m.size.projects {
		id, _, err := m.imports(ctx, small, fmt.Sprintf("small-%d", i))
		if err == nil {
			_, err = m.root.send(ctx, http.MethodPut, fmt.Sprintf("/projects/%d/transfer", id), map[string]any{"namespace": group.ID})
		}
		if err != nil {
			return err
		}
	}
	got, err := there.peak(func() error {
		bulk, err := there.root.post(ctx, "/bulk_imports", map[string]any{
			"configuration": map[string]any{"url": m.url, "access_token": rootToken},
			"entities":      []map[string]any{{"source_type": "group_entity", "source_full_path": "moving", "destination_slug": "moved", "destination_namespace": ""}},
		})
		if err != nil {
			return err
		}
		return there.await(ctx, fmt.Sprintf("/bulk_imports/%d", bulk.ID), "status")
	})
	if err != nil {
		return err
	}
	m.out.line("\n| transfer | took | memory more at the destination | goal |\n|---|--:|--:|---|")
	m.out.moved(fmt.Sprintf("%d projects of %d issues", m.size.projects, m.size.issues), got, 5*time.Minute, 0)
	return nil
}

func (r *report) moved(name string, m moved, longest time.Duration, most float64) {
	goal := ""
	if longest > 0 {
		goal = met(m.took <= longest, longest.String())
	}
	if most > 0 {
		goal += " " + met(m.memory <= most, fmt.Sprintf("%.0f MB", most))
	}
	r.line("| %s | %.1f s | %.0f MB | %s |", name, m.took.Seconds(), m.memory, goal)
}

func (r *report) beside(name string, f, alone felt) {
	limit := max(alone.at(0.95)*12/10, alone.at(0.95)+5*time.Millisecond)
	ms := func(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d)/float64(time.Millisecond)) }
	r.line("| %s | %s / %s / %s | %s ms | %s %s |", name, ms(f.at(0.5)), ms(f.at(0.95)), ms(f.at(0.99)), ms(f.write),
		met(f.at(0.95) <= limit, "p95 "+ms(limit)+" ms"), met(f.write <= 200*time.Millisecond, "200 ms"))
}
