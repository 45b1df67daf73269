package avatar_test

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"tenon/internal/base/blob"
	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/avatar"
	"tenon/internal/core/coretest"
	"tenon/internal/core/limit"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/core/setting"
)

type world struct {
	*coretest.World
	*avatar.Service
	objects *blob.Store
	clock   func() time.Time // of the service
}

func each(t *testing.T, fn func(t *testing.T, w *world)) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := &world{World: coretest.New(t, d)}
		w.clock = w.World.Now
		var err error
		if w.objects, err = blob.Open(t.TempDir()); err != nil {
			t.Fatal(err)
		}
		settings := setting.New(d, w.Now)
		w.Service = avatar.New(avatar.Deps{
			DB: d, Policy: w.Policy, Projects: w.World.Projects, Objects: w.objects, Log: slog.New(slog.DiscardHandler),
			Now:        func() time.Time { return w.clock() },
			Accounts:   account.New(account.Deps{Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Settings: settings, Now: w.Now}),
			Namespaces: namespace.New(namespace.Deps{Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Settings: settings, Now: w.Now}),
		})
		fn(t, w)
	})
}

// picture makes one of a single colour.
func (w *world) picture(gray uint8) *avatar.Picture {
	w.T.Helper()
	m := image.NewGray(image.Rect(0, 0, 2, 2))
	m.SetGray(0, 0, color.Gray{gray})
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		w.T.Fatal(err)
	}
	p, err := w.Read("me.png", &b)
	if err != nil {
		w.T.Fatal(err)
	}
	return p
}

// left lists what is on disk.
func (w *world) left() (keys []string) {
	w.T.Helper()
	for info, err := range w.objects.List(w.T.Context(), "") {
		if err != nil {
			w.T.Fatal(err)
		}
		keys = append(keys, info.Key)
	}
	return keys
}

func wants(t *testing.T, what string, err error, kind errs.Kind) {
	t.Helper()
	if err == nil || errs.KindOf(err) != kind {
		t.Errorf("%s: got %v (%v), want %v", what, err, errs.KindOf(err), kind)
	}
}

func TestService_SetUser(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		ann, ben, root := w.User("ann"), w.User("ben"), w.Admin("root")
		white, black := w.picture(255), w.picture(0)
		u, err := w.SetUser(ctx, ann, ann.UserID, white)
		if err != nil || avatar.FileName(u.Avatar) != "me.png" {
			t.Fatal(u, err)
		}
		first := avatar.Version(u.Avatar)
		if _, err := w.SetUser(ctx, ann, ann.UserID, white); err != nil || len(w.left()) != 1 { // the same again
			t.Errorf("left %v, %v", w.left(), err)
		}
		_, err = w.SetUser(ctx, ben, ann.UserID, black)
		wants(t, "somebody else's", err, errs.Forbidden)
		_, err = w.SetUser(ctx, authz.Actor{}, ann.UserID, black)
		wants(t, "nobody", err, errs.Unauthorized)
		_, err = w.SetUser(ctx, root, 999, black)
		wants(t, "of nobody", err, errs.NotFound)
		o, err := w.Open(ctx, authz.Actor{}, avatar.User, int64(ann.UserID), "me.png")
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(o)
		if err != nil || !bytes.HasPrefix(content, []byte("\x89PNG")) || o.Close() != nil {
			t.Errorf("%q, %v", content, err)
		}
		if u, err = w.SetUser(ctx, root, ann.UserID, black); err != nil || avatar.Version(u.Avatar) == first || len(w.left()) != 1 {
			t.Errorf("another one: %v, %v, %v", u, w.left(), err)
		}
		_, err = w.Open(ctx, ann, avatar.User, int64(ann.UserID), "you.png")
		wants(t, "another name", err, errs.NotFound)
		if u, err = w.SetUser(ctx, ann, ann.UserID, nil); err != nil || u.Avatar != "" || len(w.left()) != 0 {
			t.Errorf("none: %v, %v, %v", u, w.left(), err)
		}
		_, err = w.Open(ctx, ann, avatar.User, int64(ann.UserID), "")
		wants(t, "none", err, errs.NotFound)
	})
}

// Two who give a user now one picture, now the other, leave one that is there, however
// their calls cross.
func TestService_SetUser_back_and_forth(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ann := w.User("ann")
		var all sync.WaitGroup
		for from := range 4 {
			all.Go(func() {
				for round := range 10 {
					if _, err := w.SetUser(t.Context(), ann, ann.UserID, w.picture(uint8((from+round)%2))); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		o, err := w.Open(t.Context(), ann, avatar.User, int64(ann.UserID), "")
		if err != nil {
			t.Fatal(err)
		}
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestService_places(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		olga, dave, stan := w.User("olga"), w.User("dave"), w.User("stan")
		group := w.Group("team", authz.Private, 0)
		shop := w.World.Project("team/shop", authz.Private, group)
		w.Member(group, olga, authz.Owner)
		w.Member(group, dave, authz.Developer)
		set := map[avatar.Kind]func(as authz.Actor) error{
			avatar.Group:   func(as authz.Actor) error { _, err := w.SetGroup(ctx, as, group, w.picture(1)); return err },
			avatar.Project: func(as authz.Actor) error { _, err := w.SetProject(ctx, as, shop, w.picture(1)); return err },
		}
		ids := map[avatar.Kind]int64{avatar.Group: int64(group), avatar.Project: int64(shop)}
		for kind, set := range set {
			wants(t, "a developer", set(dave), errs.Forbidden)
			wants(t, "a stranger", set(stan), errs.NotFound)
			if err := set(olga); err != nil {
				t.Fatal(err)
			}
			o, err := w.Open(ctx, dave, kind, ids[kind], "")
			if err != nil {
				t.Fatal(err)
			}
			if err := o.Close(); err != nil {
				t.Error(err)
			}
			for name, as := range map[string]authz.Actor{"a stranger": stan, "nobody": {}} {
				_, err = w.Open(ctx, as, kind, ids[kind], "")
				wants(t, name+" looks", err, errs.NotFound)
			}
			_, err = w.Open(ctx, olga, kind, 999, "")
			wants(t, "of none", err, errs.NotFound)
		}
		if _, err := w.SetProject(ctx, olga, project.ID(ids[avatar.Project]), nil); err != nil || len(w.left()) != 1 {
			t.Errorf("left %v, %v", w.left(), err)
		}
	})
}

func TestService_Sweep(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		ann, ben := w.User("ann"), w.User("ben")
		for _, as := range []authz.Actor{ann, ben} {
			if _, err := w.SetUser(ctx, as, as.UserID, w.picture(7)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := w.World.DB.Exec(ctx, "UPDATE users SET avatar = '' WHERE id = ?", ben.UserID); err != nil {
			t.Fatal(err)
		}
		w.clock = w.World.Now // long before the files were written
		if err := w.Service.Sweep(ctx, avatar.Sweep{}); err != nil || len(w.left()) != 2 {
			t.Errorf("young files: %v, %v", w.left(), err)
		}
		w.clock = func() time.Time { return time.Now().Add(48 * time.Hour) }
		if err := w.Service.Sweep(ctx, avatar.Sweep{}); err != nil || len(w.left()) != 1 {
			t.Errorf("left %v, %v", w.left(), err)
		}
		if o, err := w.Open(ctx, ann, avatar.User, int64(ann.UserID), ""); err != nil || o.Close() != nil {
			t.Errorf("the one that somebody has: %v", err)
		}
	})
}

// The picture is kept as it came, under the name of its file.
func TestService_Read_name(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ann := w.User("ann")
		var moving, still bytes.Buffer
		frame := image.NewPaletted(image.Rect(0, 0, 2, 2), color.Palette{color.White, color.Black})
		if err := errors.Join(gif.EncodeAll(&moving, &gif.GIF{Image: []*image.Paletted{frame, frame}, Delay: []int{1, 1}}), jpeg.Encode(&still, frame, nil)); err != nil {
			t.Fatal(err)
		}
		for _, row := range []struct{ name, want, kind, content string }{
			{"wave.gif", "wave.gif", "image/gif", moving.String()},
			{"my wave (2).GIF", "my_wave__2_.GIF", "image/gif", moving.String()},
			{"gr\u00fc\u00dfe.jpeg", "gr\u00fc\u00dfe.jpeg", "image/jpeg", still.String()},
			{"me.jpg", "me.jpg", "image/jpeg", still.String()},
			{"page.html", "page.html.jpg", "image/jpeg", still.String()},
			{"../../x.png", "x.png.jpg", "image/jpeg", still.String()},
			{"", "unnamed.gif", "image/gif", moving.String()},
			{".gif", "gif.gif", "image/gif", moving.String()},
		} {
			p, err := w.Read(row.name, strings.NewReader(row.content))
			if err != nil {
				t.Fatal(err)
			}
			u, err := w.SetUser(t.Context(), ann, ann.UserID, p)
			if err != nil || avatar.FileName(u.Avatar) != row.want {
				t.Fatalf("%q: got %q, %v, want %q", row.name, u.Avatar, err, row.want)
			}
			o, err := w.Open(t.Context(), ann, avatar.User, int64(ann.UserID), row.want)
			if err != nil {
				t.Fatal(err)
			}
			content, err := io.ReadAll(o)
			if err := errors.Join(err, o.Close()); err != nil || string(content) != row.content || o.ContentType != row.kind {
				t.Errorf("%q: got %d bytes of %s, %v, want %d of %s as they were sent", row.name, len(content), o.ContentType, err, len(row.content), row.kind)
			}
		}
	})
}

func TestService_Read(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for text, want := range map[string]string{
			"<svg/>":                           "file format is not supported",
			strings.Repeat("x", 200<<10) + "x": "is too big (should be at most 200 KiB)",
		} {
			_, err := w.Read("a.png", strings.NewReader(text))
			wants(t, want, err, errs.Invalid)
			if err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%q says %v", text[:6], err)
			}
		}
	})
}
