package release_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/milestone"
	"tenon/internal/core/release"
)

// drain runs the jobs that are due.
func (w *world) drain() {
	w.T.Helper()
	if err := w.Jobs.Drain(w.T.Context()); err != nil {
		w.T.Fatal(err)
	}
}

// evidences are those of a release that an actor sees.
func (w *world) evidences(as authz.Actor, tag string) []release.Evidence {
	w.T.Helper()
	ctx, p := w.T.Context(), w.As(as)
	r, err := w.releases.Find(ctx, as, p, tag)
	if err != nil {
		w.T.Fatal(err)
	}
	v, err := w.releases.View(ctx, as, p, r)
	if err != nil {
		w.T.Fatal(err)
	}
	return v.Evidences
}

// issue writes an issue of the project.
func (w *world) issue(row coretest.Row) {
	w.T.Helper()
	row["project_id"], row["author_id"], row["state"], row["issue_type"] = w.ID, w.Owner.UserID, "opened", "issue"
	w.Insert("issues", row)
}

// Evidence is collected once a release is there: its content is what its SHA-256 says, and shows no confidential issue and none of another project.
// Only those who may read the issues get it, it can be collected again, and it goes with the release.
func TestService_Evidence(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, dev, p := t.Context(), w.Developer, w.As(w.Developer)
		m, err := w.milestones.Create(ctx, w.Owner, p.Place(), milestone.Input{Title: "one"})
		if err != nil {
			t.Fatal(err)
		}
		long := strings.Repeat("é", 5_000)
		w.issue(coretest.Row{"iid": 1, "title": "shown", "milestone_id": m.ID, "description": long})
		w.issue(coretest.Row{"iid": 2, "title": "secret", "milestone_id": m.ID, "confidential": true})
		w.issue(coretest.Row{"iid": 3, "title": "of no milestone"})
		text := "All of it"
		if err := w.create(dev, release.Input{Tag: "v1", Ref: "main", Description: &text, Milestones: release.Milestones{Titles: []string{"one"}}}); err != nil {
			t.Fatal(err)
		}
		if got := w.evidences(dev, "v1"); len(got) != 0 {
			t.Errorf("evidence before its job: %+v", got)
		}
		w.drain()
		got := w.evidences(w.Reporter, "v1")
		if len(got) != 1 || !got[0].Milestones {
			t.Fatalf("evidence: %+v", got)
		}
		content, err := w.releases.Evidence(ctx, w.Reporter, w.As(w.Reporter), "v1", got[0].ID)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(content)
		if hex.EncodeToString(sum[:]) != got[0].SHA {
			t.Errorf("SHA-256 of the content: %x, want %s", sum, got[0].SHA)
		}
		var out struct {
			Truncated bool
			Release   struct {
				Tag         string `json:"tag_name"`
				Description string
				Project     struct{ Name string }
				Milestones  []struct {
					Title  string
					Issues []struct{ Title, Description string }
				}
				Reports []any `json:"report_artifacts"`
			}
		}
		if err := json.Unmarshal(content, &out); err != nil {
			t.Fatal(err)
		}
		if r := out.Release; r.Tag != "v1" || r.Description != text || r.Project.Name != p.Name || len(r.Milestones) != 1 || r.Milestones[0].Title != "one" ||
			len(r.Milestones[0].Issues) != 1 || r.Milestones[0].Issues[0].Title != "shown" || len(r.Milestones[0].Issues[0].Description) != 4_000 || !out.Truncated || r.Reports == nil {
			t.Errorf("content: %s", content)
		}
		if strings.Contains(string(content), "secret") || strings.Contains(string(content), "of no milestone") {
			t.Error("the content shows issues that are not in it for everyone")
		}

		// It is collected once by itself, and again on demand.
		r, err := w.releases.Find(ctx, dev, p, "v1")
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if err := w.releases.CollectDue(ctx, r.ID); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if got := w.evidences(dev, "v1"); len(got) != 1 {
			t.Errorf("the job ran again: %d pieces of evidence", len(got))
		}
		_, err = w.releases.CollectEvidence(ctx, w.Reporter, w.As(w.Reporter), "v1")
		want(t, err, errs.Forbidden, "")
		_, err = w.releases.CollectEvidence(ctx, dev, p, "v9")
		want(t, err, errs.NotFound, "")
		if _, err := w.releases.CollectEvidence(ctx, dev, p, "v1"); err != nil || len(w.evidences(dev, "v1")) != 2 {
			t.Errorf("on demand: %v, %d pieces of evidence", err, len(w.evidences(dev, "v1")))
		}

		// Where issues are kept from a reader, so is what shows them.
		if _, err := w.DB.Exec(ctx, "UPDATE projects SET issues_access = ?", authz.FeatureDisabled); err != nil {
			t.Fatal(err)
		}
		if len(w.evidences(dev, "v1")) != 0 {
			t.Error("evidence with issues where there are none")
		}
		_, err = w.releases.Evidence(ctx, dev, w.As(dev), "v1", got[0].ID)
		want(t, err, errs.NotFound, "")
		if _, err := w.DB.Exec(ctx, "UPDATE projects SET issues_access = ?", authz.FeatureEnabled); err != nil {
			t.Fatal(err)
		}
		_, err = w.releases.Evidence(ctx, w.Guest, w.As(w.Guest), "v1", got[0].ID)
		want(t, err, errs.Forbidden, "")
		_, err = w.releases.Evidence(ctx, w.Stranger, w.Plain(), "v1", got[0].ID)
		want(t, err, errs.NotFound, "")
		if err := w.create(dev, release.Input{Tag: "v2", Ref: "main"}); err != nil {
			t.Fatal(err)
		}
		_, err = w.releases.Evidence(ctx, dev, w.As(dev), "v2", got[0].ID)
		want(t, err, errs.NotFound, "") // of another release
		for range 100 {
			if _, err = w.releases.CollectEvidence(ctx, dev, p, "v1"); err != nil {
				break
			}
		}
		want(t, err, errs.Invalid, "Evidences are too many (maximum is 100)")

		if _, err := w.releases.Delete(ctx, dev, p, "v1"); err != nil {
			t.Fatal(err)
		}
		n, err := db.Get[int](ctx, w.DB, "SELECT COUNT(*) FROM release_evidences WHERE release_id = ?", r.ID)
		if err != nil || n != 0 {
			t.Errorf("evidence of a deleted release: %d, %v", n, err)
		}
		if err := w.releases.CollectDue(ctx, r.ID); err != nil {
			t.Errorf("the job of a deleted release: %v", err)
		}
	})
}

// A release that was there before it was created has no evidence, and one that comes later has it then, also where it was put off.
func TestService_Evidence_upcoming(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, dev, p := t.Context(), w.Developer, w.As(w.Developer)
		past, future := w.Now().Add(-time.Hour), w.Now().Add(time.Hour)
		for tag, at := range map[string]*time.Time{"old": &past, "new": &future} {
			if err := w.create(dev, release.Input{Tag: tag, Ref: "main", ReleasedAt: at}); err != nil {
				t.Fatal(err)
			}
		}
		w.drain()
		for _, tag := range []string{"old", "new"} {
			if got := w.evidences(dev, tag); len(got) != 0 {
				t.Errorf("%s: %+v", tag, got)
			}
		}
		later := future.Add(time.Hour)
		r, err := w.releases.Update(ctx, dev, p, "new", release.Changes{ReleasedAt: &later})
		if err != nil {
			t.Fatal(err)
		}
		due := func(until time.Time) int {
			for w.Now().Before(until) {
				continue
			}
			if err := w.releases.CollectDue(ctx, r.ID); err != nil {
				t.Error(err)
			}
			return len(w.evidences(dev, "new"))
		}
		if n := due(future); n != 0 {
			t.Errorf("%d pieces of evidence of a release that was put off", n)
		}
		if n := due(later); n != 1 {
			t.Errorf("%d pieces of evidence once it is released", n)
		}
	})
}
