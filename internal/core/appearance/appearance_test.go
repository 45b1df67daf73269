package appearance_test

import (
	"bytes"
	"image"
	"image/png"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/blob"
	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/core/appearance"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
)

type world struct {
	*coretest.World
	*appearance.Service
	objects *blob.Store
	now     time.Time
	boss    authz.Actor
}

func each(t *testing.T, fn func(t *testing.T, w *world)) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		objects, err := blob.Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		w := &world{World: coretest.New(t, d), objects: objects}
		w.now, w.boss = w.World.Now(), w.Admin("boss")
		w.Service = w.another()
		fn(t, w)
	})
}

// another is the service of another process on the same database.
func (w *world) another() *appearance.Service {
	return appearance.New(appearance.Deps{
		DB: w.World.DB, Policy: w.World.Policy, Bus: w.World.Bus, Objects: w.objects, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return w.now },
	})
}

// pixel is a picture.
func (w *world) pixel() *appearance.Picture {
	w.T.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		w.T.Fatal(err)
	}
	p, err := w.Read(appearance.Logo, "our logo.png", &b)
	if err != nil {
		w.T.Fatal(err)
	}
	return p
}

// kept are the pictures that are stored.
func (w *world) kept() (keys []string) {
	w.T.Helper()
	for info, err := range w.objects.List(w.T.Context(), "") {
		if err != nil {
			w.T.Fatal(err)
		}
		keys = append(keys, info.Key)
	}
	return keys
}

// A change is in force at once where it was made and after the next look elsewhere; reading it takes no statement.
func TestService_Update(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx, other := t.Context(), w.another()
		if a, err := w.Service.Find(ctx, w.boss); err != nil || a.Title != "" || a.MessageBackgroundColor != "#E75E40" || a.MessageFontColor != "#FFFFFF" || a.InMail {
			t.Fatalf("at first: %+v, %v", a, err)
		}
		if _, err := w.Update(ctx, w.boss, appearance.Changes{Attributes: appearance.Attributes{Title: new("Shipyard"), MessageFontColor: new("#abc"), InMail: new(true)}}); err != nil {
			t.Fatal(err)
		}
		a, err := w.Update(ctx, w.boss, appearance.Changes{Attributes: appearance.Attributes{HeaderMessage: new("Closed on Sunday"), MessageBackgroundColor: new("")}})
		if err != nil || a.Title != "Shipyard" || a.HeaderMessage != "Closed on Sunday" || !a.InMail {
			t.Fatalf("changed: %+v, %v", a, err)
		}
		before := w.World.DB.Statements()
		if now := w.Current(); now.Title != "Shipyard" || now.ID != a.ID {
			t.Errorf("in force: %+v", now)
		}
		if background, font := w.Current().Colors(); background != "#E75E40" || font != "#abc" {
			t.Errorf("colors: %s, %s", background, font)
		}
		if n := w.World.DB.Statements() - before; n != 0 {
			t.Errorf("looking took %d statements", n)
		}
		if err := other.Open(ctx); err != nil || other.Current().HeaderMessage != "Closed on Sunday" {
			t.Errorf("elsewhere: %+v, %v", other.Current(), err)
		}
		if n, err := db.Get[int](ctx, w.World.DB, "SELECT COUNT(*) FROM appearances"); n != 1 || err != nil {
			t.Errorf("%d rows, %v", n, err)
		}
	})
}

// A picture is anybody's to see under its present name. One that is replaced or removed is deleted, as is what a crash left.
func TestService_Update_images(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		set := func(of appearance.Image, p *appearance.Picture) *appearance.Appearance {
			t.Helper()
			a, err := w.Update(ctx, w.boss, appearance.Changes{Images: map[appearance.Image]*appearance.Picture{of: p}})
			if err != nil {
				t.Fatal(err)
			}
			return a
		}
		first := set(appearance.Logo, w.pixel())
		set(appearance.Favicon, w.pixel())
		keys := w.kept()
		a := set(appearance.Logo, w.pixel())
		if now := w.kept(); len(keys) != 2 || len(now) != 2 || slices.Equal(keys, now) || a.Logo == first.Logo {
			t.Errorf("replaced: %v, then %v", keys, now)
		}
		o, err := w.OpenImage(ctx, appearance.Logo, a.ID, "our_logo.png")
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(o)
		if err != nil || !bytes.HasPrefix(content, []byte("\x89PNG")) || o.ContentType != "image/png" || o.Close() != nil {
			t.Errorf("%q as %s, %v", content, o.ContentType, err)
		}
		for _, tt := range []struct {
			of   appearance.Image
			id   appearance.ID
			file string
		}{{appearance.Logo, a.ID + 1, "our_logo.png"}, {appearance.Logo, a.ID, "other.png"}, {appearance.HeaderLogo, a.ID, ""}, {"title", a.ID, "our_logo.png"}} {
			if _, err := w.OpenImage(ctx, tt.of, tt.id, tt.file); !errs.Is(err, errs.NotFound) {
				t.Errorf("%+v: %v", tt, err)
			}
		}
		if a = set(appearance.Logo, nil); a.Logo != "" || len(w.kept()) != 1 {
			t.Errorf("removed: %q, %v", a.Logo, w.kept())
		}

		left := "appearance/logo/left.png"
		if _, err := w.objects.Put(ctx, left, strings.NewReader("x"), blob.Wanted{}); err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			name string
			now  time.Time
			want int
		}{{"young", time.Now(), 2}, {"old", time.Now().Add(25 * time.Hour), 1}} {
			w.now = tt.now
			if err := w.Sweep(ctx, appearance.Sweep{}); err != nil || len(w.kept()) != tt.want {
				t.Errorf("%s: %v, %v", tt.name, w.kept(), err)
			}
		}
	})
}

func TestService_Update_refused(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		for _, tt := range []struct {
			as   authz.Actor
			c    appearance.Changes
			kind errs.Kind
			want string
		}{
			{authz.Actor{}, appearance.Changes{}, errs.Unauthorized, ""},
			{w.User("ann"), appearance.Changes{Attributes: appearance.Attributes{Title: new("Mine")}}, errs.Forbidden, ""},
			{w.boss, appearance.Changes{Attributes: appearance.Attributes{Title: new(strings.Repeat("x", 256))}}, errs.Invalid, "title is too long"},
			{w.boss, appearance.Changes{Attributes: appearance.Attributes{HeaderMessage: new(strings.Repeat("x", 1001))}}, errs.Invalid, "header_message is too long"},
			{w.boss, appearance.Changes{Attributes: appearance.Attributes{MemberGuidelines: new(strings.Repeat("x", 4097))}}, errs.Invalid, "member_guidelines is too long"},
			{w.boss, appearance.Changes{Attributes: appearance.Attributes{MessageFontColor: new("#fff}body{display:none")}}, errs.Invalid, "message_font_color must be a valid color code"},
			{w.boss, appearance.Changes{Attributes: appearance.Attributes{MessageBackgroundColor: new("red")}}, errs.Invalid, "message_background_color must be a valid color code"},
		} {
			if _, err := w.Update(ctx, tt.as, tt.c); !errs.Is(err, tt.kind) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%+v: got %v, want %s", tt.c, err, tt.want)
			}
		}
		if _, err := w.Service.Find(ctx, w.User("ben")); !errs.Is(err, errs.Forbidden) {
			t.Errorf("read by a user: %v", err)
		}
		for file, want := range map[string]string{
			`<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`: "favicon file format is not supported",
			strings.Repeat("x", 1<<20+1): "favicon is too big (should be at most 1 MiB)",
		} {
			if _, err := w.Read(appearance.Favicon, "a.png", strings.NewReader(file)); !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), want) {
				t.Errorf("%.20s: %v", file, err)
			}
		}
		if len(w.kept()) != 0 {
			t.Errorf("kept: %v", w.kept())
		}
	})
}
