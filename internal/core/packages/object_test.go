package packages

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tenon/internal/base/blob"
	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/job"
	"tenon/internal/base/secret"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/planlimit"
	"tenon/internal/core/project"
	"tenon/internal/core/setting"
)

// depot is a project that packages are published in, by servers that share a database and the objects.
type depot struct {
	*coretest.World

	t       *testing.T
	folder  string // of the objects
	p       *project.Project
	as      authz.Actor // a developer of the project
	one     *Service
	mu      sync.Mutex
	waiting []job.Args
	mails   []string
}

func newDepot(t *testing.T, d *db.DB) *depot {
	t.Helper()
	w := &depot{World: coretest.New(t, d), t: t, folder: t.TempDir()}
	group := w.Group("tools", authz.Public, 0)
	id := w.Project("tools/depot", authz.Public, group)
	if _, err := d.Exec(t.Context(), `UPDATE projects SET settings = '{"packages_enabled":true}'`); err != nil {
		t.Fatal(err)
	}
	w.as = w.User("dave")
	w.Join(id, w.as, authz.Developer)
	w.p = w.Find(w.as, id)
	box, err := secret.NewBox(secret.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	w.one = w.server(box)
	return w
}

// server starts a server on the database and the objects.
func (w *depot) server(box *secret.Box) *Service {
	w.t.Helper()
	objects, err := blob.Open(w.folder)
	if err != nil {
		w.t.Fatal(err)
	}
	return New(Deps{
		DB: w.DB, Policy: w.Policy, Bus: w.Bus, Projects: w.Projects, Settings: setting.New(w.DB, w.Now), Plans: planlimit.New(planlimit.Deps{DB: w.DB, Now: w.Now}), Objects: objects, Box: box,
		Now: w.Now, Log: slog.New(slog.DiscardHandler), Email: "noreply@tenon.example", KeyBits: 2048, Mailer: w,
		Jobs: job.EnqueuerFunc(func(_ context.Context, args job.Args, _ ...job.Option) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			if !slices.Contains(w.waiting, args) {
				w.waiting = append(w.waiting, args)
			}
			return nil
		}),
	})
}

// PackageRefused notes the mail.
func (w *depot) PackageRefused(_ context.Context, _ project.ID, _ authz.UserID, failure string) error {
	w.mails = append(w.mails, failure)
	return nil
}

func (w *depot) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// upload publishes a generic package on a server.
func (w *depot) upload(on *Service, name, content string) *File {
	w.t.Helper()
	f, err := on.PublishGeneric(w.t.Context(), w.as, w.p, GenericFile{Package: name, Version: "1", File: "file"}, "", strings.NewReader(content))
	w.must(err)
	return f
}

// remove deletes the rows of a package.
func (w *depot) remove(f *File) {
	w.t.Helper()
	_, err := w.DB.Exec(w.t.Context(), "DELETE FROM packages WHERE id = ?", f.PackageID)
	w.must(err)
}

// wantContent reads a file as its readers do.
func (w *depot) wantContent(f *File, want string) {
	w.t.Helper()
	_, o, err := w.one.Open(w.t.Context(), w.as, w.p, f.PackageID, f.ID)
	w.must(err)
	text, err := io.ReadAll(o)
	w.must(errors.Join(err, o.Close()))
	if string(text) != want {
		w.t.Errorf("%s: got %q, want %q", f.key(), text, want)
	}
}

// age makes the objects old enough for the sweep.
func (w *depot) age() {
	w.t.Helper()
	for info, err := range w.one.Objects.List(w.t.Context(), objects) {
		w.must(err)
		old := w.Now().Add(-2 * unnamedFor)
		w.must(os.Chtimes(w.folder+"/"+info.Key, old, old))
	}
}

// wantWhole compares the objects with the rows: none is without the other.
func (w *depot) wantWhole(objectsLeft int) {
	w.t.Helper()
	lacking, err := w.one.Check(w.t.Context())
	w.must(err)
	if len(lacking) > 0 {
		w.t.Errorf("rows without objects: %v", lacking)
	}
	var keys []string
	for info, err := range w.one.Objects.List(w.t.Context(), objects) {
		w.must(err)
		keys = append(keys, info.Key)
	}
	named, err := w.one.named(w.t.Context(), keys)
	w.must(err)
	if len(keys) != objectsLeft || len(named) != len(keys) {
		w.t.Errorf("got the objects %v, of which files name %v; want %d", keys, named, objectsLeft)
	}
	if n, err := db.Get[int](w.t.Context(), w.DB, "SELECT COUNT(*) FROM package_object_claims"); n != 0 || err != nil {
		w.t.Errorf("%d claims are left, %v", n, err)
	}
}

// Two servers share a database. While one sweeps an object that no file names, the same bytes are uploaded again on the other, at each of the
// moments that there are: the file has its object afterwards.
func TestService_Sweep_servers(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, ctx := newDepot(t, d), t.Context()
		two := w.server(w.one.Box)
		const content = "the same bytes"

		// The sweep has claimed the object, and has not deleted it.
		first := w.upload(w.one, "a", content)
		w.remove(first)
		c, err := w.one.condemn(ctx, first.key())
		if err != nil || c == nil {
			t.Fatalf("claim of the sweep: %v %v", c, err)
		}
		again := w.upload(two, "b", content)
		if again.key() == first.key() {
			t.Errorf("the upload has the key that is deleted")
		}
		if c, err := two.condemn(ctx, first.key()); err != nil || c != nil {
			t.Errorf("the other server claims it as well: %v %v", c, err)
		}
		w.must(w.one.deleteClaimed(ctx, c))
		w.wantContent(again, content)
		w.wantWhole(1)
		w.age()
		w.must(two.Sweep(ctx, Sweep{}))
		w.wantContent(again, content)

		// The upload has claimed the object and written it, and its row is not there yet.
		up, err := two.claim(ctx, first.SHA256)
		w.must(err)
		_, err = two.Objects.Put(ctx, up.Object, strings.NewReader(content), blob.Wanted{})
		w.must(err)
		w.age()
		w.must(w.one.Sweep(ctx, Sweep{}))
		if _, err := two.Objects.Stat(ctx, up.Object); err != nil {
			t.Errorf("the object of an upload: %v", err)
		}
		if there, err := two.release(ctx, up); !there || err != nil {
			t.Errorf("claim of the upload: %v %v", there, err)
		}
		w.must(w.one.Sweep(ctx, Sweep{})) // that upload came to nothing
		w.wantWhole(1)
		w.remove(again)
		w.must(w.one.Sweep(ctx, Sweep{}))
		w.wantWhole(0)
	})
}

// A server stops after the sweep has claimed an object, or an upload has: a later sweep deletes what is left, and an upload that was thought to be
// at its end names nothing.
func TestService_Sweep_abandoned(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, ctx := newDepot(t, d), t.Context()
		f := w.upload(w.one, "a", "bytes")
		w.remove(f)
		c, err := w.one.condemn(ctx, f.key())
		if err != nil || c == nil {
			t.Fatalf("claim of the sweep: %v %v", c, err)
		}
		w.must(w.one.Sweep(ctx, Sweep{}))
		if _, err := w.one.Objects.Stat(ctx, f.key()); err != nil {
			t.Errorf("another sweep deletes an object that one has claimed just now: %v", err)
		}
		later := func(by time.Duration) {
			_, err := d.Exec(ctx, "UPDATE package_object_claims SET created_at = ?", db.At(w.Now().Add(-by)))
			w.must(err)
		}
		later(abandonedFor + time.Minute)
		w.must(w.one.Sweep(ctx, Sweep{}))
		w.wantWhole(0)

		up, err := w.one.claim(ctx, f.SHA256)
		w.must(err)
		later(unnamedFor + time.Minute)
		w.must(w.one.Sweep(ctx, Sweep{}))
		if there, err := w.one.release(ctx, up); there || err != nil {
			t.Errorf("the claim of an upload is there after a day: %v %v", there, err)
		}
		w.age()
		w.must(w.one.Sweep(ctx, Sweep{}))
		w.wantWhole(0)
	})
}

// Both servers upload and delete the same bytes while both sweep: no file is without its object.
func TestService_Sweep_parallel(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, ctx := newDepot(t, d), t.Context()
		two := w.server(w.one.Box)
		var group sync.WaitGroup
		for name, on := range map[string]*Service{"one": w.one, "two": two} {
			group.Go(func() {
				for i := range 20 {
					f := w.upload(on, name+string(rune('a'+i)), "the same bytes")
					if i%2 == 0 {
						w.remove(f)
					}
				}
			})
			group.Go(func() {
				for range 40 {
					for info, err := range on.Objects.List(ctx, objects) { // as if all were old
						w.must(err)
						c, err := on.condemn(ctx, info.Key)
						if err == nil && c != nil {
							err = on.deleteClaimed(ctx, c)
						}
						w.must(err)
					}
				}
			})
		}
		group.Wait()
		w.age()
		w.must(w.one.Sweep(ctx, Sweep{}))
		lacking, err := w.one.Check(ctx)
		if err != nil || len(lacking) > 0 {
			t.Errorf("rows without objects: %v %v", lacking, err)
		}
	})
}
