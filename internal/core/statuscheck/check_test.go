package statuscheck_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/page"
	"tenon/internal/base/safehttp"
	"tenon/internal/core/approval"
	"tenon/internal/core/approval/approvaltest"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/protection"
	"tenon/internal/core/statuscheck"
)

// standings reads how the checks of a merge request stand, "name status" each.
func (w *world) standings(iid mergerequest.IID) string {
	w.T.Helper()
	list, err := w.checks.Standings(w.T.Context(), w.Reporter, w.As(w.Reporter), iid, page.Range{Limit: 20})
	approvaltest.Check(w.T, err)
	out := make([]string, len(list.Items))
	for i, st := range list.Items {
		out[i] = st.Check.Name + " " + string(st.Status)
	}
	return strings.Join(out, ", ")
}

func (w *world) approve(iid mergerequest.IID) func(ctx context.Context, as authz.Actor) error {
	return func(ctx context.Context, as authz.Actor) error {
		_, err := w.approvals.Approve(ctx, as, w.As(as), iid, approval.Input{})
		return err
	}
}

func (w *world) unapprove(iid mergerequest.IID) func(ctx context.Context, as authz.Actor) error {
	return func(ctx context.Context, as authz.Actor) error {
		_, err := w.approvals.Unapprove(ctx, as, w.As(as), iid)
		return err
	}
}

// TestService is the life of a check: who may do what, what is refused, what events say, and that
// the secret is stored encrypted and approvaltest.Removed when the URL changes.
func TestService(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, p := t.Context(), w.As(w.Maintainer)
		in := statuscheck.Input{Name: "scan", URL: "https://scan.example.com/x", Secret: "s3cret"}
		for _, who := range []authz.Actor{w.Developer, w.Guest} {
			_, err := w.checks.Create(ctx, who, w.As(who), in)
			approvaltest.WantError(t, "create by "+who.Username, err, errs.Forbidden, "")
			_, err = w.checks.List(ctx, who, w.As(who), page.Range{Limit: 20})
			approvaltest.WantError(t, "list by "+who.Username, err, errs.Forbidden, "")
		}
		for text, bad := range map[string]statuscheck.Input{
			"Name can't be blank, External url can't be blank":                            {},
			"Name is too long (maximum is 255 characters)":                                {Name: strings.Repeat("n", 256), URL: in.URL},
			"External url is blocked: Only allowed schemes are http, https":               {Name: "n", URL: "ftp://example.com"},
			"External url must not contain a user name or password":                       {Name: "n", URL: "https://u:p@example.com"},
			"Shared secret is too long (maximum is 255 characters)":                       {Name: "n", URL: in.URL, Secret: strings.Repeat("s", 256)},
			"External url is blocked: Requests to the link local network are not allowed": {Name: "n", URL: "http://169.254.169.254/latest"},
			"Protected branches total must be less than or equal to 500":                  {Name: "n", URL: in.URL, Branches: make([]protection.RuleID, 501)},
			"External url is too long (maximum is 255 characters)":                        {Name: "n", URL: in.URL + strings.Repeat("u", 255)},
		} {
			_, err := w.checks.Create(ctx, w.Maintainer, p, bad)
			approvaltest.WantError(t, fmt.Sprintf("%.80v", bad), err, errs.Unprocessable, text)
		}

		var facts coretest.Facts[statuscheck.Check]
		coretest.Hear(w.Bus, &facts, func(e statuscheck.Created) coretest.Fact[statuscheck.Check] { return coretest.FactOf(e.Of) })
		coretest.Hear(w.Bus, &facts, func(e statuscheck.Updated) coretest.Fact[statuscheck.Check] { return coretest.FactOf(e.Of) })
		coretest.Hear(w.Bus, &facts, func(e statuscheck.Deleted) coretest.Fact[statuscheck.Check] { return coretest.FactOf(e.Of) })
		find := func() *statuscheck.Check {
			list, err := w.checks.List(ctx, w.Maintainer, p, page.Range{Limit: 20})
			approvaltest.Check(t, err)
			if len(list.Items) == 0 {
				return nil
			}
			return list.Items[0]
		}
		branch, err := w.Protections.ProtectBranch(ctx, w.Maintainer, p, protection.Input{Name: "release-*"})
		approvaltest.Check(t, err)
		var id statuscheck.ID
		update := func(c statuscheck.Changes) func() error {
			return func() error { _, err := w.checks.Update(ctx, w.Maintainer, p, id, c); return err }
		}
		coretest.CheckFacts(t, &facts, w.Maintainer, find, []coretest.Step{
			coretest.Do("create", func() error {
				c, err := w.checks.Create(ctx, w.Maintainer, p, in)
				if err == nil {
					id = c.ID
				}
				return err
			}, 1),
			coretest.Do("name", update(statuscheck.Changes{Name: new("lint")}), 1),
			coretest.Do("branches", update(statuscheck.Changes{Branches: &[]protection.RuleID{branch.ID, 424242}}), 1),
		})
		c := find()
		approvaltest.Equal(t, "secret", c.Signs(), true)
		approvaltest.Equal(t, "branches", len(c.Branches), 1)
		stored, err := db.Get[string](ctx, w.DB, "SELECT sealed_secret FROM external_status_checks WHERE id = ?", id)
		if err != nil || stored == "" || strings.Contains(stored, in.Secret) {
			t.Errorf("stored secret: got %q, %v, want it encrypted", stored, err)
		}
		_, err = w.checks.Create(ctx, w.Maintainer, p, statuscheck.Input{Name: "lint", URL: in.URL})
		approvaltest.WantError(t, "the same", err, errs.Unprocessable, "Name has already been taken, External url has already been taken")
		approvaltest.Check(t, update(statuscheck.Changes{URL: new("https://scan.example.com/y")})())
		approvaltest.Equal(t, "secret for another URL", find().Signs(), false)
		approvaltest.Check(t, update(statuscheck.Changes{Secret: new("new")})())
		approvaltest.Equal(t, "new secret", find().Signs(), true)
		approvaltest.Check(t, update(statuscheck.Changes{Secret: new("")})())
		approvaltest.Equal(t, "no secret", find().Signs(), false)
		_, err = w.checks.Update(ctx, w.Maintainer, p, id+1, statuscheck.Changes{})
		approvaltest.WantError(t, "update of none", err, errs.NotFound, "")
		approvaltest.WantError(t, "delete by a developer", w.checks.Delete(ctx, w.Developer, w.As(w.Developer), id), errs.Forbidden, "")

		// An unprotected branch leaves a check that is about all branches.
		approvaltest.Check(t, w.Protections.UnprotectBranch(ctx, w.Maintainer, p, "release-*"))
		approvaltest.Equal(t, "branches without the protected one", len(find().Branches), 0)
		coretest.CheckFacts(t, &facts, w.Maintainer, find, []coretest.Step{
			coretest.Do("delete", func() error { return w.checks.Delete(ctx, w.Maintainer, p, id) }, 1),
		})
		approvaltest.WantError(t, "delete twice", w.checks.Delete(ctx, w.Maintainer, p, id), errs.NotFound, "")
		for i := range 51 {
			_, err = w.checks.Create(ctx, w.Maintainer, p, statuscheck.Input{Name: fmt.Sprint("check ", i), URL: fmt.Sprint(in.URL, i)})
		}
		approvaltest.WantError(t, "one too many", err, errs.Unprocessable, "Project has already 50 external status checks")
	})
}

// TestService_Respond is a merge request on its way: its service is notified of it and of each
// version, its answers count for one head, and a merge waits for them.
func TestService_Respond(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, p, dev := t.Context(), w.As(w.Maintainer), w.As(w.Developer)
		w.rules = safehttp.Rules{Local: true}
		s := newService(t)
		c, err := w.checks.Create(ctx, w.Maintainer, p, statuscheck.Input{Name: "scan", URL: s.URL + "/scan", Secret: "s3cret"})
		approvaltest.Check(t, err)
		other, err := w.Protections.ProtectBranch(ctx, w.Maintainer, p, protection.Input{Name: "release-*"})
		approvaltest.Check(t, err)
		elsewhere, err := w.checks.Create(ctx, w.Maintainer, p, statuscheck.Input{Name: "release", URL: s.URL + "/release", Branches: []protection.RuleID{other.ID}})
		approvaltest.Check(t, err)

		m := w.Open("topic", approvaltest.Files{"b": "b\n"})
		w.drain()
		told := s.take()
		if len(told) != 1 {
			t.Fatalf("deliveries of a new merge request: got %d, want 1", len(told))
		}
		first := told[0]
		attributes := first.body["object_attributes"].(map[string]any)
		approvaltest.Equal(t, "payload", fmt.Sprint(first.path, first.body["object_kind"], attributes["action"], attributes["iid"], attributes["last_commit"].(map[string]any)["id"],
			first.body["external_approval_rule"], first.body["user"].(map[string]any)["username"], first.body["project"].(map[string]any)["path_with_namespace"]),
			fmt.Sprint("/scan", "merge_request", "open", m.IID, m.HeadSHA, map[string]any{"id": float64(c.ID), "name": "scan", "external_url": c.URL}, "dave", "group/shop"))
		mac := hmac.New(sha256.New, []byte("s3cret"))
		mac.Write(first.raw)
		approvaltest.Equal(t, "signature", first.header.Get("X-Gitlab-Signature"), hex.EncodeToString(mac.Sum(nil)))
		approvaltest.Equal(t, "event", first.header.Get("X-Gitlab-Event"), "Merge Request Hook")

		// Nothing waits for it until the project says so.
		approvaltest.Equal(t, "standings", w.standings(m.IID), "scan pending")
		approvaltest.Equal(t, "status where the project does not ask", w.Status(m.IID), "mergeable")
		w.demand()
		approvaltest.Equal(t, "status", w.Status(m.IID), "external_status_checks")
		approvaltest.WantError(t, "merge", w.Merge(m.IID), errs.NotAllowed, "the external status checks must pass")
		mergeability, err := w.MergeRequests.Mergeability(ctx, w.Developer, w.As(w.Developer), m.IID)
		approvaltest.Check(t, err)
		got := ""
		for _, v := range mergeability.Conditions {
			if v.Reason != "" {
				got = fmt.Sprint(v.Name, v.State, v.Change, v.CanChange, v.Checks)
			}
		}
		approvaltest.Equal(t, "mergeability", got, "status_checks_must_passfailedanswer_status_checkstrue [scan]")

		var events []statuscheck.Responded
		event.On(w.Bus, "test", func(_ context.Context, e statuscheck.Responded) error { events = append(events, e); return nil })
		respond := func(who authz.Actor, sha string, id statuscheck.ID, status statuscheck.Status) error {
			t.Helper()
			_, err := w.checks.Respond(ctx, who, w.Plain(), m.IID, statuscheck.Answer{CheckID: id, SHA: sha, Status: status})
			return err
		}
		approvaltest.WantError(t, "answer of a reporter", respond(w.Reporter, m.HeadSHA, c.ID, statuscheck.Passed), errs.Forbidden, "")
		approvaltest.WantError(t, "answer of a stranger", respond(w.Stranger, m.HeadSHA, c.ID, statuscheck.Passed), errs.NotFound, "")
		approvaltest.WantError(t, "answer about another head", respond(w.Developer, strings.Repeat("1", 40), c.ID, statuscheck.Passed), errs.Conflict,
			"SHA does not match HEAD of source branch: "+m.HeadSHA)
		approvaltest.WantError(t, "answer of a check for other branches", respond(w.Developer, m.HeadSHA, elsewhere.ID, statuscheck.Passed), errs.NotFound, "")
		retry := func(id statuscheck.ID) error { return w.checks.Retry(ctx, w.Developer, dev, m.IID, id) }
		approvaltest.WantError(t, "retry of one that did not fail", retry(c.ID), errs.Unprocessable, "External status check must be failed")
		approvaltest.Check(t, respond(w.Developer, m.HeadSHA, c.ID, statuscheck.Failed))
		approvaltest.Equal(t, "failed", w.standings(m.IID), "scan failed")
		approvaltest.WantError(t, "merge of what failed", w.Merge(m.IID), errs.NotAllowed, "")
		approvaltest.Check(t, retry(c.ID))
		w.drain()
		told = s.take()
		approvaltest.Equal(t, "told again, and pending", fmt.Sprint(len(told), w.standings(m.IID)), "1scan pending")
		approvaltest.Check(t, respond(w.Developer, m.HeadSHA, c.ID, statuscheck.Passed))
		approvaltest.Equal(t, "passed", w.standings(m.IID)+" "+w.Status(m.IID), "scan passed mergeable")
		got = ""
		for _, e := range events {
			before := statuscheck.Status("none")
			if e.Was != nil {
				before = e.Was.Status
			}
			got += fmt.Sprint(before, ">", e.Response.Status, " ")
		}
		approvaltest.Equal(t, "events", got, "none>failed failed>pending pending>passed ")

		// A push takes the answer back: it was about another head.
		old := m.HeadSHA
		head := w.Push("topic", "", approvaltest.Files{"b": "c\n"}, "dave")
		w.drain()
		told = s.take()
		approvaltest.Equal(t, "told of the push", fmt.Sprint(len(told), told[0].body["object_attributes"].(map[string]any)["oldrev"]), fmt.Sprint(1, old))
		approvaltest.Equal(t, "after a push", w.standings(m.IID)+" "+w.Status(m.IID), "scan pending external_status_checks")
		approvaltest.WantError(t, "answer about the former head", respond(w.Developer, old, c.ID, statuscheck.Passed), errs.Conflict, "")

		// A failure of the service is tried again, as the same delivery.
		s.answer(http.StatusInternalServerError, "")
		_, err = w.MergeRequests.Update(ctx, w.Developer, dev, m.IID, mergerequest.Changes{Title: new("Add more")})
		approvaltest.Check(t, err)
		if err := w.Jobs.Drain(ctx); err == nil {
			t.Error("a failing service: got no error of the job")
		}
		s.answer(http.StatusOK, "")
		w.Exec("UPDATE river_job SET scheduled_at = created_at WHERE kind = 'external_status_check'") // its time has come
		w.drain()
		told = s.take()
		keys := map[string]bool{}
		for _, d := range told {
			keys[d.header.Get("Idempotency-Key")] = true
		}
		changes := told[0].body["changes"].(map[string]any)
		approvaltest.Equal(t, "deliveries and their keys", fmt.Sprint(len(told), len(keys), slices.Sorted(maps.Keys(changes)), changes["title"]),
			"2 1 [last_edited_at last_edited_by_id title updated_at updated_by_id] map[current:Add more previous:Add topic]")

		// It is notified of approvals, and whether they are all that are asked for.
		w.Exec("UPDATE projects SET approvals_before_merge = 2 WHERE id = ?", w.ID)
		for _, step := range []struct {
			do   func(ctx context.Context, as authz.Actor) error
			who  authz.Actor
			want string
		}{
			{w.approve(m.IID), w.Reviewer, "approval ruth"},
			{w.approve(m.IID), w.Maintainer, "approved mary"},
			{w.unapprove(m.IID), w.Reviewer, "unapproved ruth"},
			{w.unapprove(m.IID), w.Maintainer, "unapproval mary"},
		} {
			approvaltest.Check(t, step.do(ctx, step.who))
			w.drain()
			told = s.take()
			if len(told) != 1 {
				t.Fatalf("told of an approval: got %d deliveries, want 1", len(told))
			}
			approvaltest.Equal(t, "told", fmt.Sprint(told[0].body["object_attributes"].(map[string]any)["action"], " ", told[0].body["user"].(map[string]any)["username"]), step.want)
		}
		w.Exec("UPDATE projects SET approvals_before_merge = 0 WHERE id = ?", w.ID)

		approvaltest.Check(t, respond(w.Developer, head, c.ID, statuscheck.Passed))
		approvaltest.Check(t, w.Merge(m.IID))

		// The end of a merge request ends what was answered about it.
		approvaltest.Check(t, w.MergeRequests.Delete(ctx, w.Owner, w.As(w.Owner), m.IID))
		left, err := db.Get[int64](ctx, w.DB, "SELECT COUNT(*) FROM status_check_responses")
		approvaltest.Check(t, err)
		approvaltest.Equal(t, "responses of a deleted merge request", left, 0)
	})
}

// A merge request waits for no check that was deleted.
func TestService_Delete_unblocks(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, p := t.Context(), w.As(w.Maintainer)
		w.demand()
		c, err := w.checks.Create(ctx, w.Maintainer, p, statuscheck.Input{Name: "scan", URL: "https://scan.example.com"})
		approvaltest.Check(t, err)
		m := w.Open("topic", approvaltest.Files{"b": "b\n"})
		answer := func(status statuscheck.Status) {
			t.Helper()
			_, err := w.checks.Respond(ctx, w.Developer, w.As(w.Developer), m.IID, statuscheck.Answer{CheckID: c.ID, SHA: m.HeadSHA, Status: status})
			approvaltest.Check(t, err)
		}
		answer(statuscheck.Passed)
		answer(statuscheck.Failed)
		approvaltest.WantError(t, "merge after another answer", w.Merge(m.IID), errs.NotAllowed, "the external status checks must pass")
		approvaltest.Check(t, w.checks.Delete(ctx, w.Maintainer, p, c.ID))
		approvaltest.Check(t, w.Merge(m.IID))
	})
}
