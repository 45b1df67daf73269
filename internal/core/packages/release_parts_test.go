package packages

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/debian/debiantest"
)

// put uploads a file to the Debian repository.
func (w *depot) put(name, content, distribution string) {
	w.t.Helper()
	u := DebianFile{Name: name, Distribution: distribution}
	if distribution != "" {
		u.Component = "main"
	}
	w.check(w.one.UploadDebian(w.t.Context(), w.as, w.p, u, strings.NewReader(content)))
}

func (w *depot) check(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Error(err)
	}
}

// source uploads a source package with a binary one, which are in different indices.
func (w *depot) source(name, version string) {
	w.t.Helper()
	deb, dsc := debiantest.Deb(debiantest.Control(name, version, "amd64", "")), debiantest.Source(name, version, name+".tar.gz", "tar of "+name)
	files := []string{name + ".dsc", dsc, name + ".tar.gz", "tar of " + name, name + ".deb", deb}
	for i := 0; i < len(files); i += 2 {
		w.put(files[i], files[i+1], "")
	}
	w.put(name+"_"+version+"_amd64.changes", debiantest.Changes(name, version, "sid", files...), "")
}

// run runs the jobs that wait, of the kinds, in their order. It may be called by another goroutine than that of the test.
func (w *depot) run(kinds ...string) {
	w.t.Helper()
	for {
		w.mu.Lock()
		var next any
		for i, args := range w.waiting {
			if len(kinds) == 0 || strings.Contains(strings.Join(kinds, " "), args.Kind()) {
				next = args
				w.waiting = append(w.waiting[:i:i], w.waiting[i+1:]...)
				break
			}
		}
		w.mu.Unlock()
		ctx := context.WithoutCancel(w.t.Context())
		switch args := next.(type) {
		case nil:
			return
		case makeKey:
			w.check(w.one.makeKey(ctx, args))
		case process:
			w.check(w.one.process(ctx, args))
		case publishRelease:
			w.check(w.one.publishRelease(ctx, args))
		case destroy:
			w.check(w.one.destroy(ctx, args))
		}
	}
}

// dist reads a file of the distribution.
func (w *depot) dist(path string) string {
	w.t.Helper()
	f, err := w.one.Dist(w.t.Context(), w.as, w.p.Place(), "sid/"+path)
	w.must(err)
	if f.Object == nil {
		return f.Text
	}
	defer f.Object.Close()
	text, err := io.ReadAll(f.Object)
	w.must(err)
	return string(text)
}

// wantIndices compares which source packages and which binary ones the distribution has.
func (w *depot) wantIndices(want string) {
	w.t.Helper()
	for _, index := range []string{"main/source/Sources", "main/binary-amd64/Packages"} {
		var names []string
		for line := range strings.Lines(w.dist(index)) {
			if name, ok := strings.CutPrefix(line, "Package: "); ok {
				names = append(names, strings.TrimSpace(name))
			}
		}
		if got := strings.Join(names, " "); got != want {
			w.t.Errorf("%s: got %q, want %q", index, got, want)
		}
	}
}

// afterRead calls fn once, after a statement that begins so ran outside of transactions.
func (w *depot) afterRead(begins string, fn func()) {
	var once sync.Once
	w.DB.Observe(func(ctx context.Context, s db.Statement) {
		if !w.DB.InTransaction(ctx) && strings.HasPrefix(s.Query, begins) {
			once.Do(fn)
		}
	})
}

const (
	countsRead  = "SELECT d.id, p.id AS project_id"
	sectionRead = "SELECT t.distribution_id, t.publication"
)

// The job that publishes a distribution reads it in parts, without a snapshot. What is uploaded meanwhile is in the next Release with all of its files, and
// what is deleted meanwhile is in none.
func TestService_publishRelease_parts(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, ctx := newDepot(t, d), t.Context()
		made, err := w.one.CreateDistribution(ctx, w.as, w.p.Place(), "sid", DistributionChanges{})
		w.must(err)
		w.source("aaa", "1")
		w.run()
		w.wantIndices("aaa")

		for name, at := range map[string]string{"bbb": countsRead, "ccc": sectionRead} {
			w.must(w.one.republish(ctx, made.ID))
			if name == "bbb" { // else the Release file would be the one that is there
				_, err = d.Exec(ctx, "UPDATE debian_distributions SET label = ?", name)
				w.must(err)
			}
			before := w.dist("Release")
			w.afterRead(at, func() { w.source(name, "1"); w.run("debian_process") })
			w.mu.Lock()
			w.waiting = nil
			w.mu.Unlock()
			w.must(w.one.publishRelease(ctx, publishRelease{made.ID}))
			d.Observe(func(context.Context, db.Statement) {})
			if after := w.dist("Release"); name == "bbb" && (after == before || !strings.Contains(after, "Label: bbb")) {
				t.Errorf("nothing was published: %s", after)
			}
			for _, index := range []string{"main/source/Sources", "main/binary-amd64/Packages"} {
				if strings.Contains(w.dist(index), "Package: "+name) {
					t.Errorf("%s has %s, which came while the job ran", index, name)
				}
			}
			w.run()
			for _, index := range []string{"main/source/Sources", "main/binary-amd64/Packages"} {
				if !strings.Contains(w.dist(index), "Package: "+name) {
					t.Errorf("%s: %s is in no Release", index, name)
				}
			}
		}

		// aaa is deleted when its binary package was read, and its source package was not: the job begins again.
		id, err := db.Get[ID](ctx, d, "SELECT id FROM packages WHERE name = 'aaa' AND status = 'default'")
		w.must(err)
		admin := w.Admin("root")
		builds := 0
		w.DB.Observe(func(ctx context.Context, s db.Statement) {
			if strings.HasPrefix(s.Query, countsRead) && !w.DB.InTransaction(ctx) {
				builds++
			}
			if strings.HasPrefix(s.Query, sectionRead) && builds == 1 {
				builds++
				if err := w.one.Delete(context.WithoutCancel(t.Context()), admin, w.p, id); err != nil {
					t.Errorf("delete: %v", err)
				}
			}
		})
		w.must(w.one.publishRelease(ctx, publishRelease{made.ID}))
		d.Observe(func(context.Context, db.Statement) {})
		if builds != 3 {
			t.Errorf("the stanzas were read %d times, want twice", builds-1)
		}
		if got := w.dist("main/source/Sources") + w.dist("main/binary-amd64/Packages"); strings.Contains(got, "Package: aaa") {
			t.Error("what was deleted is shown")
		}
	})
}

// A large distribution is read by statements of bounded size, none of which runs in a snapshot.
func TestService_publishRelease_bounded(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, ctx := newDepot(t, d), t.Context()
		made, err := w.one.CreateDistribution(ctx, w.as, w.p.Place(), "sid", DistributionChanges{})
		w.must(err)
		w.put("x_1_amd64.deb", debiantest.Deb(debiantest.Control("x", "1", "amd64", "")), "sid")
		w.run()
		const more = 2*rowsAtOnce + 10
		w.must(d.InTx(ctx, func(ctx context.Context) error {
			file, err := db.Get[File](ctx, d, "SELECT "+fileColumns+" FROM package_files f LIMIT 1")
			if err != nil {
				return err
			}
			stanza, err := db.Get[stanzaRow](ctx, d, "SELECT "+db.Columns[stanzaRow]("t")+" FROM debian_stanzas t LIMIT 1")
			if err != nil {
				return err
			}
			rows := make([]File, more)
			for i := range rows {
				rows[i] = file
				rows[i].ID, rows[i].Name = 0, fmt.Sprintf("x_%d_amd64.deb", i+2)
			}
			ids, err := db.InsertAll(ctx, d, "package_files", rows)
			stanzas := make([]stanzaRow, len(ids))
			for i, id := range ids {
				stanzas[i] = stanza
				stanzas[i].ID, stanzas[i].FileID = 0, FileID(id)
			}
			if err == nil {
				_, err = db.InsertAll(ctx, d, "debian_stanzas", stanzas)
			}
			return err
		}))
		parts := 0
		d.Observe(func(ctx context.Context, s db.Statement) {
			if strings.HasPrefix(s.Query, sectionRead) {
				parts++
				if d.InTransaction(ctx) || !strings.Contains(s.Query, "LIMIT") {
					t.Errorf("stanzas are read in a snapshot or without bound: %s", s.Query)
				}
			}
		})
		w.must(w.one.publishRelease(ctx, publishRelease{made.ID}))
		d.Observe(func(context.Context, db.Statement) {})
		if n := strings.Count(w.dist("main/binary-amd64/Packages"), "\nSize: "); n != more+1 || parts != 3 {
			t.Errorf("%d stanzas in %d parts, want %d in 3", n, parts, more+1)
		}
	})
}

// Who uploaded what cannot be published gets mail once, however often the job runs.
func TestService_process_mail(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, ctx := newDepot(t, d), t.Context()
		w.put("x_1_amd64.deb", "no package", "sid")
		args, ok := w.waiting[0].(process)
		if !ok {
			t.Fatalf("jobs: %v", w.waiting)
		}
		for range 3 {
			w.must(w.one.process(ctx, args))
		}
		if len(w.mails) != 1 || !strings.HasPrefix(w.mails[0], "x_1_amd64.deb: ") {
			t.Errorf("mails: %q", w.mails)
		}
	})
}

// The files that a .changes names are looked for together, and published by few statements; those that were there already are found again.
func TestService_process_files(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, ctx := newDepot(t, d), t.Context()
		_, err := w.one.CreateDistribution(ctx, w.as, w.p.Place(), "sid", DistributionChanges{})
		w.must(err)
		looks := func(files ...string) (n, writes int) {
			for i := 0; i < len(files); i += 2 {
				w.put(files[i], files[i+1], "")
			}
			w.put(fmt.Sprintf("many_1_%d.changes", len(files)), debiantest.Changes("many", "1", "sid", files...), "")
			d.Observe(func(ctx context.Context, s db.Statement) {
				if strings.Contains(s.Query, "k.version AS of_version") {
					n++
				}
				if d.InTransaction(ctx) {
					writes++
				}
			})
			w.run("debian_process")
			d.Observe(func(context.Context, db.Statement) {})
			return n, writes
		}
		var files []string
		for i := range 30 {
			name := fmt.Sprintf("part%d", i)
			files = append(files, name+"_1_amd64.deb", debiantest.Deb(debiantest.Control(name, "1", "amd64", "Source: many\n")))
		}
		for _, some := range [][]string{files[:40], files} {
			if n, writes := looks(some...); n != 1 || writes > 20 {
				t.Errorf("%d statements look for %d files, %d publish them", n, len(some)/2, writes)
			}
			w.run()
			if got := strings.Count(w.dist("main/binary-amd64/Packages"), "Package: part"); got != len(some)/2 {
				t.Errorf("%d of %d files are published", got, len(some)/2)
			}
		}
	})
}
