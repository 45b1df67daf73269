package upload_test

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/blob"
	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/core/quota"
	"tenon/internal/core/setting"
	"tenon/internal/core/upload"
)

type world struct {
	*coretest.World
	*upload.Service
	objects  *blob.Store
	settings *setting.Store
	later    time.Duration
	deleted  []upload.Deleted

	shop, den               project.ID
	gus, mary, stan, nobody authz.Actor
}

func each(t *testing.T, fn func(t *testing.T, w *world)) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := &world{World: coretest.New(t, d)}
		var err error
		if w.objects, err = blob.Open(t.TempDir()); err != nil {
			t.Fatal(err)
		}
		w.settings = setting.New(d, w.Now)
		w.Service = upload.New(upload.Deps{
			DB: d, Policy: w.Policy, Bus: w.Bus, Settings: w.settings, Projects: w.Projects, Objects: w.objects,
			Quota: quota.New(quota.Deps{DB: d, Policy: w.Policy, Settings: w.settings}),
			Log:   slog.New(slog.DiscardHandler), Now: func() time.Time { return w.World.Now().Add(w.later) },
		})
		event.On(w.Bus, "test", func(_ context.Context, e upload.Deleted) error {
			w.deleted = append(w.deleted, e)
			return nil
		})
		w.gus, w.mary, w.stan = w.User("gus"), w.User("mary"), w.User("stan")
		g := w.Group("group", authz.Private, 0)
		w.shop, w.den = w.Project("group/shop", authz.Private, g), w.Project("group/den", authz.Public, g)
		w.Join(w.shop, w.gus, authz.Guest)
		w.Join(w.shop, w.mary, authz.Maintainer)
		fn(t, w)
	})
}

// at returns a project as a place, without a caller.
func (w *world) at(id project.ID) authz.Place {
	w.T.Helper()
	all, err := w.World.Projects.Load(w.T.Context(), []project.ID{id})
	if err != nil || all[id] == nil {
		w.T.Fatal(err)
	}
	return all[id].Place()
}

func (w *world) put(as authz.Actor, id project.ID, name, text string) *upload.Upload {
	w.T.Helper()
	u, err := w.Create(w.T.Context(), as, w.at(id), name, strings.NewReader(text))
	if err != nil {
		w.T.Fatal(err)
	}
	return u
}

func link(u *upload.Upload) upload.Address { return upload.Address{Secret: u.Secret, Name: u.Name} }

func read(t *testing.T, c *upload.Content, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	text, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func wants(t *testing.T, what string, err error, kind errs.Kind) {
	t.Helper()
	if err == nil || errs.KindOf(err) != kind {
		t.Errorf("%s: got %v (%v), want %v", what, err, errs.KindOf(err), kind)
	}
}

func TestService(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		u := w.put(w.gus, w.shop, "plan.txt", "the plan")
		if len(u.Secret) != 32 || u.Size != 8 || *u.UserID != w.gus.UserID {
			t.Errorf("made %+v", u)
		}
		c, err := w.Open(ctx, w.gus, w.at(w.shop), link(u))
		if text := read(t, c, err); text != "the plan" || c.Inline {
			t.Errorf("by link: %q, inline %v", text, c.Inline)
		}
		c, err = w.Open(ctx, w.mary, w.at(w.shop), upload.Address{ID: u.ID})
		if text := read(t, c, err); text != "the plan" {
			t.Errorf("by number: %q", text)
		}
		second := w.put(w.mary, w.shop, "b.png", "x")
		found, err := w.List(ctx, w.mary, w.at(w.shop), page.Range{Limit: 1})
		list, total := found.Items, found.Total
		if err != nil || total != 2 || len(list) != 1 || list[0].ID != second.ID {
			t.Errorf("list: %v of %d, %v", list, total, err)
		}
		sizes, err := w.Sizes(ctx, []namespace.ID{w.at(w.shop).Namespace, w.at(w.den).Namespace})
		if err != nil || len(sizes) != 1 || sizes[w.at(w.shop).Namespace] != 9 {
			t.Errorf("sizes: %v, %v", sizes, err)
		}

		for name, a := range map[string]upload.Address{
			"another name":   {Secret: u.Secret, Name: "b.png"},
			"another secret": {Secret: strings.Repeat("0", 32), Name: u.Name},
			"a path":         {Secret: "../" + u.Secret, Name: u.Name},
			"no such":        {ID: 99},
			"nothing":        {},
		} {
			_, err := w.Open(ctx, w.mary, w.at(w.shop), a)
			wants(t, name, err, errs.NotFound)
		}
		_, err = w.Open(ctx, w.mary, w.at(w.den), link(u))
		wants(t, "through another project", err, errs.NotFound)
		_, err = w.Open(ctx, w.stan, w.at(w.shop), link(u))
		wants(t, "a stranger with the link", err, errs.NotFound)
		_, err = w.Open(ctx, w.nobody, w.at(w.shop), link(u))
		wants(t, "nobody with the link", err, errs.NotFound)
		_, err = w.Open(ctx, w.gus, w.at(w.shop), upload.Address{ID: u.ID})
		wants(t, "a guest with the number", err, errs.Forbidden)
		_, err = w.List(ctx, w.gus, w.at(w.shop), page.Range{})
		wants(t, "a guest lists", err, errs.Forbidden)
		wants(t, "a guest deletes", w.Delete(ctx, w.gus, w.at(w.shop), link(u)), errs.Forbidden)
		wants(t, "a stranger deletes", w.Delete(ctx, w.stan, w.at(w.shop), link(u)), errs.NotFound)
		_, err = w.Create(ctx, w.stan, w.at(w.shop), "x", strings.NewReader(""))
		wants(t, "a stranger uploads", err, errs.NotFound)
		_, err = w.Create(ctx, w.nobody, w.at(w.den), "x", strings.NewReader(""))
		wants(t, "nobody uploads", err, errs.Unauthorized)

		if err := w.Delete(ctx, w.mary, w.at(w.shop), link(u)); err != nil {
			t.Fatal(err)
		}
		wants(t, "deleted twice", w.Delete(ctx, w.mary, w.at(w.shop), link(u)), errs.NotFound)
		if len(w.deleted) != 1 || w.deleted[0].Before.Name != "plan.txt" {
			t.Errorf("events: %+v", w.deleted)
		}
		if n := w.left(); n != 1 {
			t.Errorf("%d files are left", n)
		}
	})
}

func (w *world) left() (n int) {
	w.T.Helper()
	for _, err := range w.objects.List(w.T.Context(), "") {
		if err != nil {
			w.T.Fatal(err)
		}
		n++
	}
	return n
}

func TestService_Create_inGroup(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		id := w.Group("open", authz.Public, 0)
		w.Member(id, w.gus, authz.Guest)
		g := namespace.Group{ID: id, Path: "open", FullPath: "open", Visibility: authz.Public}
		for _, who := range []authz.Actor{w.stan, w.mary} {
			_, err := w.Create(t.Context(), who, g.Place(), "a.txt", strings.NewReader("x"))
			wants(t, who.Username+" is no member", err, errs.Forbidden)
		}
		u, err := w.Create(t.Context(), w.gus, g.Place(), "a.txt", strings.NewReader("text"))
		if err != nil {
			t.Fatal(err)
		}
		c, err := w.Open(t.Context(), w.stan, g.Place(), link(u))
		if got := read(t, c, err); got != "text" {
			t.Errorf("a stranger with the link: got %q", got)
		}
	})
}

func TestService_Create_tooLarge(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		if err := w.settings.Set(t.Context(), "max_attachment_size", 1); err != nil {
			t.Fatal(err)
		}
		w.put(w.gus, w.shop, "just.bin", strings.Repeat("x", 1<<20))
		_, err := w.Create(t.Context(), w.gus, w.at(w.shop), "more.bin", strings.NewReader(strings.Repeat("x", 1<<20+1)))
		wants(t, "one byte more", err, errs.TooLarge)
		if n := w.left(); n != 1 {
			t.Errorf("%d files are left", n)
		}
	})
}

// Where a project does not look at who asks, a picture can be had by its link, and nothing
// else can.
func TestService_OpenByLink(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		const png = "\x89PNG\r\n\x1a\n picture"
		picture, text := w.put(w.gus, w.shop, "a.png", png), w.put(w.gus, w.shop, "a.txt", "text")
		yes := func(*project.Project) bool { return true }
		open := func(u *upload.Upload, belongs func(*project.Project) bool) (*upload.Content, error) {
			return w.OpenByLink(t.Context(), link(u), belongs)
		}
		_, err := open(picture, yes)
		wants(t, "checked by default", err, errs.NotFound)
		if _, err := w.World.DB.Exec(t.Context(), `UPDATE projects SET settings = '{"enforce_auth_checks_on_uploads":false}' WHERE id = ?`, w.shop); err != nil {
			t.Fatal(err)
		}
		c, err := open(picture, yes)
		if got := read(t, c, err); got != png || !c.Inline || c.Type != "image/png" {
			t.Errorf("picture: %q as %s, inline %v", got, c.Type, c.Inline)
		}
		_, err = open(text, yes)
		wants(t, "a text", err, errs.NotFound)
		_, err = open(picture, func(*project.Project) bool { return false })
		wants(t, "through another address", err, errs.NotFound)
		_, err = w.OpenByLink(t.Context(), upload.Address{ID: picture.ID}, yes)
		wants(t, "by number", err, errs.NotFound)
	})
}

func TestService_Sweep(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		kept := w.put(w.gus, w.shop, "a.txt", "kept")
		w.put(w.mary, w.den, "b.txt", "gone")
		if _, err := w.World.DB.Exec(ctx, "DELETE FROM uploads WHERE namespace_id = ?", w.at(w.den).Namespace); err != nil {
			t.Fatal(err)
		}
		for want, later := range map[int]time.Duration{1: 20 * 365 * 24 * time.Hour} {
			if err := w.Service.Sweep(ctx, upload.Sweep{}); err != nil || w.left() != 2 {
				t.Errorf("young files: %d are left, %v", w.left(), err)
			}
			w.later = later
			if err := w.Service.Sweep(ctx, upload.Sweep{}); err != nil || w.left() != want {
				t.Errorf("%d files are left, %v", w.left(), err)
			}
		}
		c, err := w.Open(ctx, w.gus, w.at(w.shop), link(kept))
		if text := read(t, c, err); text != "kept" {
			t.Errorf("kept: %q", text)
		}
	})
}

// Whatever is in a file, a browser never runs it as coming from this server.
func TestContent_Headers(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for _, row := range []struct {
			name, text, kind string
			inline           bool
		}{
			{"a.png", "\x89PNG\r\n\x1a\n", "image/png", true},
			{"a.gif", "GIF89a<script>alert(1)</script>", "image/gif", true},
			{"a.html", "<html><script>alert(1)</script>", "application/octet-stream", false},
			{"a.png", "<html><script>alert(1)</script>", "application/octet-stream", false}, // says it is a picture
			{"a.svg", `<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`, "application/octet-stream", false},
			{"a.svg", "\x89PNG\r\n\x1a\n", "image/png", true},
			{"a.xml", "<?xml version='1.0'?><x/>", "application/octet-stream", false},
			{"a.xhtml", "<?xml version='1.0'?><html/>", "application/octet-stream", false},
			{"a.js", "alert(1)", "application/octet-stream", false},
			{"a.pdf", "%PDF-1.4", "application/pdf", false},
			{"unknown", "text", "application/octet-stream", false},
			{"empty", "", "application/octet-stream", false},
		} {
			u := w.put(w.gus, w.shop, row.name, row.text)
			c, err := w.Open(t.Context(), w.gus, w.at(w.shop), link(u))
			if err != nil {
				t.Fatal(err)
			}
			h := c.Headers()
			disposition, _, _ := strings.Cut(h["Content-Disposition"], ";")
			if h["Content-Type"] != row.kind || (disposition == "inline") != row.inline ||
				h["X-Content-Type-Options"] != "nosniff" || !strings.Contains(h["Content-Security-Policy"], "sandbox") {
				t.Errorf("%s with %q: %v", row.name, row.text, h)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestUpload_Markdown(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"dk.png": "![dk](/uploads/s/dk.png)", "a.MP4": "![a](/uploads/s/a.MP4)", "a.tar.gz": "[a.tar.gz](/uploads/s/a.tar.gz)",
	} {
		if got := (&upload.Upload{Secret: "s", Name: name}).Markdown(); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
