package mergerequest_test

import (
	"fmt"
	"testing"

	"tenon/internal/base/errs"
	"tenon/internal/core/ci"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/project"
)

// TestService_Merge_titleRegex merges under the project's pattern of titles, and lets an automatic merge end once the
// title does not match.
func TestService_Merge_titleRegex(t *testing.T) {
	t.Parallel()
	eachChecked(t, func(t *testing.T, w *checked) {
		ctx := t.Context()
		set := func(text string) error {
			_, err := w.Projects.Update(ctx, w.maintainer, fmt.Sprint(w.id), project.Changes{
				Settings: project.SettingsChanges{PlainSettings: project.PlainSettings{MergeRequestTitleRegex: &text}},
			})
			return err
		}
		wantError(t, set("(unclosed"), errs.Invalid, "not valid RE2 syntax")
		check(t, set(`^(feat|fix): `))
		title := func(m *mergerequest.MergeRequest, text string) {
			t.Helper()
			_, err := w.requests.Update(ctx, w.developer, w.as(w.developer), m.IID, mergerequest.Changes{Title: &text})
			check(t, err)
		}
		m := w.open("topic", files{"c": "c\n"})
		title(m, "Add a file")
		_, err := w.merge(w.maintainer, m.IID, mergerequest.MergeInput{})
		wantError(t, err, errs.NotAllowed, "the title does not match the pattern of the project")
		v, err := w.requests.Mergeability(ctx, w.maintainer, w.as(w.maintainer), m.IID)
		check(t, err)
		equal(t, "detailed status", v.Status, "title_regex")
		title(m, "feat: add a file")
		merged, err := w.merge(w.maintainer, m.IID, mergerequest.MergeInput{})
		check(t, err)
		equal(t, "state", merged.State, mergerequest.StateMerged)

		// An automatic merge ends where the title does not match when its time comes.
		check(t, set(""))
		waits := w.waiting("later", mergerequest.MergeInput{})
		check(t, set(`^(feat|fix): `))
		w.report("later", ci.Success)
		w.drain()
		waits = w.read(waits.IID)
		equal(t, "state", waits.State, mergerequest.StateOpened)
		equal(t, "waits", waits.MergeWhenPipelineSucceeds, false)
		equal(t, "event", w.last(), "mary the title does not match the pattern of the project")
	})
}
