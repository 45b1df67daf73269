package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/debian/debiantest"
)

// packagesSize says how much is in a registry.
type packagesSize struct {
	debs, generics int
	uploads        int   // that are measured
	large          int64 // bytes of a file
}

var (
	fullPackages  = packagesSize{debs: 20_000, generics: 100_000, uploads: 10, large: 1 << 30}
	quickPackages = packagesSize{debs: 2_000, generics: 5_000, uploads: 3, large: 64 << 20}
)

// depot measures the package registry.
type depot struct {
	*server

	root          *api
	out           *report
	size          packagesSize
	debian, plain int // projects: one with a distribution, one with generic packages
}

func measurePackages(ctx context.Context, o options, folder string, out *report) (err error) {
	d := &depot{out: out, size: fullPackages}
	if o.quick {
		d.size = quickPackages
	}
	data := filepath.Join(folder, "data")
	if err := d.start(ctx, o, data); err != nil {
		return err
	}
	if err := d.prepare(ctx); err != nil {
		return errors.Join(err, d.stop())
	}
	if err := d.stop(); err != nil {
		return err
	}
	if err := timed(ctx, "rows written", func(ctx context.Context) (int, error) {
		return d.size.debs + d.size.generics, d.seed(ctx, o, data)
	}); err != nil {
		return err
	}
	if err := d.start(ctx, o, data); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.stop()) }()
	if err := wait(ctx, o.rest); err != nil {
		return err
	}
	idle, err := d.memory("VmRSS")
	if err != nil {
		return err
	}
	out.line("Memory %d s after the start, with all of that in the database: %.1f MB.\n", int(o.rest.Seconds()), idle)
	for _, part := range []struct {
		name string
		run  func(ctx context.Context, o options) error
	}{{"publication", d.publications}, {"reads", d.reads}, {"large", d.large}} {
		if o.only.MatchString(part.name) {
			if err := part.run(ctx, o); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *depot) start(ctx context.Context, o options, data string) (err error) {
	if d.server, err = startServer(ctx, o, data); err == nil {
		d.root = newAPI(d.url, rootToken)
	}
	return err
}

// prepare makes two public projects, one with a distribution that has one package.
func (d *depot) prepare(ctx context.Context) error {
	for _, p := range []struct {
		name string
		id   *int
	}{{"debian", &d.debian}, {"plain", &d.plain}} {
		made, err := d.root.post(ctx, "/projects", map[string]any{"name": p.name, "visibility": "public"})
		if err != nil {
			return err
		}
		*p.id = made.ID
	}
	if _, err := d.root.post(ctx, fmt.Sprintf("/projects/%d/debian_distributions", d.debian), map[string]any{"codename": "sid"}); err != nil {
		return err
	}
	if _, err := d.deb(ctx, "first"); err != nil {
		return err
	}
	if err := d.put(ctx, fmt.Sprintf("/projects/%d/packages/generic/first/1/file", d.plain), strings.NewReader("first")); err != nil {
		return err
	}
	return d.published(ctx, "first")
}

// put uploads a file.
func (d *depot) put(ctx context.Context, path string, content io.Reader) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, d.url+"/api/v4"+path, content)
	if err != nil {
		return err
	}
	req.Header.Set("Private-Token", rootToken)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err == nil && resp.StatusCode != http.StatusCreated {
		err = fmt.Errorf("%s: %s: %s", path, resp.Status, text)
	}
	return err
}

// deb uploads a binary package and returns when the request began.
func (d *depot) deb(ctx context.Context, name string) (time.Time, error) {
	file := debiantest.Deb(debiantest.Control(name, "1", "amd64", ""))
	began := time.Now()
	return began, d.put(ctx, fmt.Sprintf("/projects/%d/packages/debian/%s_1_amd64.deb?distribution=sid&component=main", d.debian, name), strings.NewReader(file))
}

func (d *depot) dist(file string) string {
	return fmt.Sprintf("/projects/%d/packages/debian/dists/sid/%s", d.debian, file)
}

// published waits until another InRelease than before has a package.
func (d *depot) published(ctx context.Context, name string) error {
	var last []byte
	for {
		text, err := d.root.get(ctx, d.dist("InRelease"))
		if err == nil && !bytes.Equal(text, last) {
			last = text
			index, err := d.root.get(ctx, d.dist("main/binary-amd64/Packages"))
			if err != nil {
				return err
			}
			if bytes.Contains(index, []byte("Package: "+name+"\n")) {
				return nil
			}
		}
		if err := wait(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// seed copies the rows of the packages that are there.
func (d *depot) seed(ctx context.Context, o options, data string) (err error) {
	address := o.database
	if address == "" {
		address = filepath.Join(data, "tenon.db")
	}
	base, err := db.Open(ctx, db.Config{URL: address, Stall: time.Hour})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, base.Close()) }()
	err = base.Loosely(ctx, func() error {
		return errors.Join(d.copies(ctx, base, "debian", d.size.debs), d.copies(ctx, base, "generic", d.size.generics))
	})
	if err != nil {
		return err
	}
	return vacuum(ctx, o.database)
}

// copies writes the rows of n more packages like the one of a kind.
func (d *depot) copies(ctx context.Context, base *db.DB, kind string, n int) error {
	copied := func(table, columns, values, from, where string) string {
		return "INSERT INTO " + table + " (" + columns + ") SELECT " + values + " FROM " + from + " WHERE " + where
	}
	numbers := fmt.Sprintf("WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < %d) ", n)
	const name = "'p' || CAST(n AS TEXT)"
	one := "kind = '" + kind + "' AND name = 'first'"
	mark := "k.kind = '" + kind + "' AND k.name LIKE 'p%'"
	statements := []string{
		numbers + copied("packages", "project_id, kind, name, name_fold, version, status, creator_id, created_at, updated_at",
			"project_id, kind, "+name+", "+name+", version, status, creator_id, created_at, updated_at", "packages, numbers", one),
		copied("package_files", "package_id, project_id, user_id, name, size, md5, sha1, sha256, created_at, updated_at",
			"k.id, k.project_id, f.user_id, k.name || '_1_amd64.deb', f.size, f.md5, f.sha1, f.sha256, f.created_at, f.updated_at",
			"packages k JOIN packages o ON o.project_id = k.project_id AND o.name = 'first' JOIN package_files f ON f.package_id = o.id", mark+" ORDER BY k.id"),
	}
	if kind == "debian" {
		statements = append(statements,
			copied("debian_publications", "package_id, distribution_id", "k.id, u.distribution_id",
				"packages k JOIN packages o ON o.project_id = k.project_id AND o.name = 'first' JOIN debian_publications u ON u.package_id = o.id", mark),
			copied("debian_stanzas", "file_id, distribution_id, directory, stanza, publication",
				"f.id, t.distribution_id, t.directory, REPLACE(t.stanza, 'Package: first', 'Package: ' || k.name), t.publication",
				"packages k JOIN package_files f ON f.package_id = k.id JOIN packages o ON o.project_id = k.project_id AND o.name = 'first'"+
					" JOIN package_files e ON e.package_id = o.id JOIN debian_stanzas t ON t.file_id = e.id", mark+" ORDER BY f.id"))
	}
	for _, s := range statements {
		if _, err := base.Exec(ctx, s); err != nil {
			return fmt.Errorf("%.60s: %w", s, err)
		}
	}
	return nil
}

// publications measures when a further upload is in InRelease, and what it costs.
func (d *depot) publications(ctx context.Context, _ options) error {
	var took, cost []time.Duration
	for i := range d.size.uploads + 1 {
		before, err := d.usage(ctx)
		if err != nil {
			return err
		}
		name := fmt.Sprintf("further%d", i)
		since, err := d.modified(ctx)
		if err != nil {
			return err
		}
		began, err := d.deb(ctx, name)
		if err != nil {
			return err
		}
		for now := since; now == since; {
			if now, err = d.modified(ctx); err == nil {
				err = wait(ctx, 20*time.Millisecond)
			}
			if err != nil {
				return err
			}
		}
		lasted := time.Since(began)
		if err := wait(ctx, 300*time.Millisecond); err != nil { // what comes after the publication
			return err
		}
		after, err := d.usage(ctx)
		if err != nil {
			return err
		}
		if i > 0 { // the first publishes all that was written
			took, cost = append(took, lasted), append(cost, after.minus(before).own)
		}
	}
	slices.Sort(took)
	slices.Sort(cost)
	size, err := d.root.get(ctx, d.dist("main/binary-amd64/Packages"))
	if err != nil {
		return err
	}
	d.out.line("| a further upload, %d packages, index of %.1f MB | median | longest | goal |\n|---|--:|--:|---|", d.size.debs, float64(len(size))/(1<<20))
	d.out.line("| until it is in InRelease | %.2f s | %.2f s | %s |", took[len(took)/2].Seconds(), took[len(took)-1].Seconds(), met(took[len(took)-1] <= 2*time.Second, "2 s"))
	d.out.line("| processor time of the server, with the questions of the client | %.2f s | %.2f s | %s |\n", cost[len(cost)/2].Seconds(), cost[len(cost)-1].Seconds(), met(cost[len(cost)/2] <= 500*time.Millisecond, "0.5 s"))
	return nil
}

// modified is when InRelease was made.
func (d *depot) modified(ctx context.Context) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, d.url+"/api/v4"+d.dist("InRelease"), nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	return resp.Header.Get("Last-Modified"), resp.Body.Close()
}

// reads measures what apt and npm ask for, and a list.
func (d *depot) reads(ctx context.Context, o options) error {
	since, err := d.modified(ctx)
	if err != nil {
		return err
	}
	anonymous := func(path string, headers ...string) []byte {
		return fmt.Appendf(nil, "GET /api/v4%s HTTP/1.1\r\nHost: %s\r\n%s\r\n", path, strings.TrimPrefix(d.url, "http://"), strings.Join(headers, ""))
	}
	installs, err := d.npmReads(ctx)
	if err != nil {
		return err
	}
	fast := goal{rate: 3000, noGit: true}
	l := &loader{server: d.server, length: o.length}
	if err := l.background(ctx); err != nil {
		return err
	}
	failed, err := l.measureAll(ctx, options{only: regexp.MustCompile("")}, append([]operation{
		{name: "InRelease, conditional", goal: fast, wants: 304, sends: func(int) []byte {
			return anonymous(d.dist("InRelease"), "If-Modified-Since: "+since+"\r\n")
		}},
		{name: "InRelease", goal: fast, wants: 200, sends: func(int) []byte { return anonymous(d.dist("InRelease")) }},
		{name: "list 20 packages", goal: goal{rate: 1500, statements: 10, noGit: true}, wants: 200, check: rows(20), sends: func(int) []byte {
			return request(d.url, rootToken, "GET", fmt.Sprintf("/projects/%d/packages?per_page=20", d.plain), nil)
		}},
	}, installs...), d.out)
	if err == nil && failed > 0 {
		err = fmt.Errorf("%d requests failed", failed)
	}
	return err
}

// zeros is content of a size.
type zeros struct{ left int64 }

// Read fills.
func (z *zeros) Read(p []byte) (int, error) {
	if z.left == 0 {
		return 0, io.EOF
	}
	n := int(min(int64(len(p)), z.left))
	z.left -= int64(n)
	return n, nil
}

// large uploads and downloads a large file.
func (d *depot) large(ctx context.Context, _ options) error {
	mb := float64(d.size.large) / (1 << 20)
	path := fmt.Sprintf("/projects/%d/packages/generic/large/1/file", d.plain)
	m := &movers{server: d.server}
	up, err := m.peak(func() error { return d.put(ctx, path, &zeros{d.size.large}) })
	if err != nil {
		return err
	}
	file := filepath.Join(d.data, "dd")
	began := time.Now()
	if out, err := exec.CommandContext(ctx, "dd", "if=/dev/zero", "of="+file, "bs=1M", fmt.Sprintf("count=%d", d.size.large>>20), "conv=fsync").CombinedOutput(); err != nil {
		return fmt.Errorf("dd: %w: %s", err, out)
	}
	disk := mb / time.Since(began).Seconds()
	defer func() { _ = os.Remove(file) }()
	goalRate := min(150, 0.8*disk)
	d.out.line("\n| %.0f MB | MB/s | memory more | goal |\n|---|--:|--:|---|", mb)
	rate := mb / up.took.Seconds()
	d.out.line("| upload | %.0f | %.0f MB | %s %s |", rate, up.memory, met(rate >= goalRate, fmt.Sprintf("%.0f MB/s", goalRate)), met(up.memory <= 10, "10 MB"))
	d.out.line("| dd conv=fsync on the same disk | %.0f | | |", disk)
	down, err := m.peak(func() error { return fetch(ctx, d.url+"/api/v4"+path, d.size.large) })
	if err != nil {
		return err
	}
	plain, err := d.plainly(ctx, file)
	if err != nil {
		return err
	}
	rate = mb / down.took.Seconds()
	d.out.line("| download | %.0f | %.0f MB | %s |", rate, down.memory, met(rate >= 0.9*mb/plain.Seconds(), fmt.Sprintf("%.0f MB/s", 0.9*mb/plain.Seconds())))
	d.out.line("| net/http.FileServer | %.0f | | |", mb/plain.Seconds())
	return nil
}

// plainly is how long Go's own file server takes for a file.
func (d *depot) plainly(ctx context.Context, file string) (time.Duration, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	s := &http.Server{Handler: http.FileServer(http.Dir(filepath.Dir(file))), ReadHeaderTimeout: longest}
	go func() { _ = s.Serve(listener) }() // ends with Close
	defer s.Close()
	began := time.Now()
	err = fetch(ctx, "http://"+listener.Addr().String()+"/"+filepath.Base(file), d.size.large)
	return time.Since(began), err
}

// fetch reads a file to its end.
func fetch(ctx context.Context, url string, size int64) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	n, err := io.Copy(io.Discard, resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err == nil && (resp.StatusCode != http.StatusOK || n != size) {
		err = fmt.Errorf("%s: %s, %d bytes", url, resp.Status, n)
	}
	return err
}
