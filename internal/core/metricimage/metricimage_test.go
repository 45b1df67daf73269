package metricimage_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/gif"
	"io"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"tenon/internal/base/blob"
	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/issue"
	"tenon/internal/core/label"
	"tenon/internal/core/limit"
	"tenon/internal/core/metricimage"
	"tenon/internal/core/project"
	"tenon/internal/core/quota"
	"tenon/internal/core/setting"
	"tenon/internal/core/upload"
	"tenon/internal/core/weburl"
)

// world has an incident in a private project.
type world struct {
	*coretest.World
	issues *issue.Service
	images *metricimage.Service

	id                       project.ID
	planner, reporter, guest authz.Actor
	incident                 issue.IID
}

func each(t *testing.T, fn func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := &world{World: coretest.New(t, d)}
		objects, err := blob.Open(t.TempDir())
		check(t, err)
		settings := setting.New(d, w.Now)
		uploads := upload.New(upload.Deps{
			DB: d, Policy: w.Policy, Bus: w.Bus, Settings: settings, Projects: w.Projects, Objects: objects,
			Quota: quota.New(quota.Deps{DB: d, Policy: w.Policy, Settings: settings}), Log: slog.New(slog.DiscardHandler), Now: w.Now,
		})
		w.issues = issue.New(issue.Deps{
			Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Projects: w.Projects, Labels: label.New(label.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Now: w.Now}),
			URLs: weburl.New(&url.URL{Scheme: "https", Host: "tenon.example"}, ""), Now: w.Now,
		})
		w.images = metricimage.New(metricimage.Deps{DB: d, Policy: w.Policy, Issues: w.issues, Projects: w.Projects, Uploads: uploads, Now: w.Now})
		w.images.Subscribe(w.Bus)
		group := w.Group("team", authz.Private, 0)
		w.id = w.Project("team/app", authz.Private, group)
		w.planner, w.reporter, w.guest = w.User("paul"), w.User("rita"), w.User("gus")
		w.Member(group, w.planner, authz.Owner)
		w.Join(w.id, w.reporter, authz.Reporter)
		w.Join(w.id, w.guest, authz.Guest)
		i, err := w.issues.Create(t.Context(), w.planner, w.at(w.planner), issue.Input{Title: "Down", Attributes: issue.Attributes{Type: new(issue.Incident)}})
		check(t, err)
		w.incident = i.IID
		fn(t, w)
	})
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) at(who authz.Actor) *project.Project { w.T.Helper(); return w.Find(who, w.id) }

// picture is a picture of one pixel.
func picture(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	check(t, gif.Encode(&out, image.NewRGBA(image.Rect(0, 0, 1, 1)), nil))
	return out.Bytes()
}

func (w *world) create(as authz.Actor, c metricimage.Changes) (*metricimage.Image, error) {
	w.T.Helper()
	return w.images.Create(w.T.Context(), as, w.at(as), w.incident, metricimage.Input{Name: "load.gif", From: bytes.NewReader(picture(w.T)), Changes: c})
}

func (w *world) uploads(want int) {
	w.T.Helper()
	if n, err := db.Get[int](w.T.Context(), w.DB, "SELECT COUNT(*) FROM uploads"); err != nil || n != want {
		w.T.Errorf("%d files, %v, want %d", n, err, want)
	}
}

// Images are named with their incident; one of another incident, and one of an incident that is hidden, is not found.
func TestService_hidden(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		other, err := w.issues.Create(ctx, w.planner, w.at(w.planner), issue.Input{Title: "Again", Attributes: issue.Attributes{Type: new(issue.Incident)}})
		check(t, err)
		m, err := w.create(w.reporter, metricimage.Changes{URL: new("https://metrics.example/load"), URLText: new("Load")})
		check(t, err)
		wrong := func(what string, err error) {
			t.Helper()
			if !errs.Is(err, errs.NotFound) {
				t.Errorf("%s: got %v, want not found", what, err)
			}
		}
		_, err = w.images.Update(ctx, w.planner, w.at(w.planner), other.IID, m.ID, metricimage.Changes{URL: new("")})
		wrong("update at another incident", err)
		wrong("delete at another incident", w.images.Delete(ctx, w.planner, w.at(w.planner), other.IID, m.ID))
		_, err = w.images.Open(ctx, w.planner, m.ID, "other.gif")
		wrong("another name", err)
		_, err = w.images.Open(ctx, w.User("stan"), m.ID, m.Name)
		wrong("a stranger", err)

		file, err := w.images.Open(ctx, w.guest, m.ID, m.Name)
		check(t, err)
		content, err := io.ReadAll(file)
		if err = errors.Join(err, file.Close()); err != nil || !bytes.HasPrefix(content, []byte("GIF8")) {
			t.Errorf("file: %.10q, %v", content, err)
		}
		_, err = w.issues.Update(ctx, w.planner, w.at(w.planner), w.incident, issue.Changes{Attributes: issue.Attributes{Confidential: new(true)}})
		check(t, err)
		_, err = w.images.Open(ctx, w.guest, m.ID, m.Name)
		wrong("a confidential incident", err)
		_, err = w.images.List(ctx, w.guest, w.at(w.guest), w.incident)
		wrong("list of a confidential incident", err)
		if _, err = w.images.Update(ctx, w.guest, w.at(w.guest), other.IID, m.ID, metricimage.Changes{}); !errs.Is(err, errs.Forbidden) {
			t.Errorf("a guest: %v", err)
		}
	})
}

// An incident that became a plain issue keeps its images and gets no more; they go with it, unless its deletion fails.
func TestService_life(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		m, err := w.create(w.planner, metricimage.Changes{})
		check(t, err)
		if m.URL != nil || m.URLText != nil {
			t.Errorf("made: %+v", m)
		}
		plain := issue.Plain
		_, err = w.issues.Update(ctx, w.planner, w.at(w.planner), w.incident, issue.Changes{Attributes: issue.Attributes{Type: &plain}})
		check(t, err)
		if _, err := w.create(w.planner, metricimage.Changes{}); !errs.Is(err, errs.Forbidden) {
			t.Errorf("an image of a plain issue: %v", err)
		}
		long := strings.Repeat("ü", 128)
		for _, tt := range []struct {
			name  string
			c     metricimage.Changes
			wrong string
		}{
			{"text", metricimage.Changes{URLText: &long}, ""},
			{"long text", metricimage.Changes{URLText: new(long + "x")}, "url_text is too long (maximum is 128 characters)"},
			{"address", metricimage.Changes{URL: new("http://a")}, ""},
			{"long address", metricimage.Changes{URL: new("http://" + strings.Repeat("a", 249))}, "url is too long (maximum is 255 characters)"},
			{"no scheme", metricimage.Changes{URL: new("//a/b")}, "url must be a valid URL"},
			{"a script", metricimage.Changes{URL: new("javascript://a/%0aalert(1)")}, "url must be a valid URL"},
		} {
			_, err := w.images.Update(ctx, w.planner, w.at(w.planner), w.incident, m.ID, tt.c)
			if tt.wrong == "" && err != nil || tt.wrong != "" && (err == nil || err.Error() != tt.wrong) {
				t.Errorf("%s: got %v, want %q", tt.name, err, tt.wrong)
			}
		}
		m, err = w.images.Update(ctx, w.planner, w.at(w.planner), w.incident, m.ID, metricimage.Changes{URL: new("")})
		if err != nil || m.URL != nil || *m.URLText != long {
			t.Errorf("without an address: %+v, %v", m, err)
		}
		w.uploads(1)
		undone := w.DB.InTx(ctx, func(ctx context.Context) error {
			check(t, w.issues.Delete(ctx, w.planner, w.at(w.planner), w.incident))
			return errs.New(errs.Conflict, "")
		})
		if list, err := w.images.List(ctx, w.guest, w.at(w.guest), w.incident); !errs.Is(undone, errs.Conflict) || err != nil || len(list) != 1 {
			t.Errorf("after a deletion that was undone: %+v, %v, %v", list, err, undone)
		}
		w.uploads(1)
		check(t, w.issues.Delete(ctx, w.planner, w.at(w.planner), w.incident))
		w.uploads(0)
	})
}

// An incident has at most 100 images, also when requests add them concurrently; files that are refused are not kept.
func TestService_Create_together(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		const room, n = 2, 8
		i, err := w.issues.Find(t.Context(), w.planner, w.at(w.planner), w.incident)
		check(t, err)
		for n := range 100 - room {
			file := w.Insert("uploads", coretest.Row{"namespace_id": w.at(w.planner).NamespaceID, "secret": fmt.Sprintf("%032d", n)})
			w.Insert("metric_images", coretest.Row{"issue_id": i.ID, "upload_id": file, "name": "a.png"})
		}
		var all sync.WaitGroup
		var made atomic.Int64
		for range n {
			all.Go(func() {
				switch _, err := w.create(w.reporter, metricimage.Changes{}); {
				case err == nil:
					made.Add(1)
				case !errs.Is(err, errs.BadRequest) || !strings.HasSuffix(err.Error(), "An incident has at most 100 metric images"):
					t.Error(err)
				}
			})
		}
		all.Wait()
		list, err := w.images.List(t.Context(), w.guest, w.at(w.guest), w.incident)
		if err != nil || made.Load() != room || len(list) != 100 {
			t.Errorf("%d were made, %d are there, %v; want %d of 100", made.Load(), len(list), err, room)
		}
		w.uploads(100)
	})
}
