package mergerequest_test

import (
	"testing"

	"tenon/internal/base/errs"
	"tenon/internal/core/mergerequest"
)

// TestService_Merge_pushedMeanwhile pushes to the source branch between the checks of a merge
// and the move of the target branch, with and without the job that follows the push: nothing
// is merged, and the caller who said which head it wants is told which one there is.
func TestService_Merge_pushedMeanwhile(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		for _, row := range []struct {
			name          string
			sha, followed bool
		}{{"plain", false, false}, {"sha", true, false}, {"followed", false, true}, {"followed-sha", true, true}} {
			w.push(row.name, w.tip("main"), files{row.name: "1\n"}, "Begin "+row.name)
			m := w.create(mergerequest.Input{SourceBranch: row.name, TargetBranch: "main", Title: "Add", Description: new("Closes #1")})
			w.drain()
			before, pushed := w.tip("main"), ""
			w.resolving = func() {
				w.resolving = nil
				pushed = w.push(row.name, "", files{row.name: "2\n"}, "More")
				if row.followed {
					w.drain()
				}
			}
			in := mergerequest.MergeInput{}
			if row.sha {
				in.SHA = m.HeadSHA
			}
			_, err := w.merge(w.maintainer, m.IID, in)
			if pushed == "" {
				t.Fatalf("%s: issues were not looked for: %v", row.name, err)
			}
			if row.sha {
				wantError(t, err, errs.Conflict, "SHA does not match HEAD of source branch: "+pushed)
			} else {
				wantError(t, err, errs.Unprocessable, "Branch cannot be merged")
			}
			equal(t, row.name+": main", w.tip("main"), before)
			after := w.read(m.IID)
			equal(t, row.name+": state", after.State, mergerequest.StateOpened)
			equal(t, row.name+": head", after.HeadSHA, pushed)
			if after.MergeError == nil || *after.MergeError != "Branch has been updated since the merge was requested. Please review the changes." {
				t.Errorf("%s: merge error %v", row.name, after.MergeError)
			}
			_, err = w.merge(w.maintainer, m.IID, mergerequest.MergeInput{SHA: pushed})
			check(t, err)
		}
	})
}

// TestService_Recheck counts the jobs that lists ask for: one for each target branch, and none
// for callers who may not update the requests.
func TestService_Recheck(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		for _, name := range []string{"one", "two"} {
			w.open(name, files{name: "x\n"})
		}
		w.push("main", "", files{"z": "z\n"}, "Go on")
		var asked int
		w.enqueued = func() { asked++ }
		defer func() { w.enqueued = nil }()
		list, err := w.requests.List(t.Context(), w.reporter, w.as(w.reporter).Place(), mergerequest.Filter{})
		check(t, err)
		equal(t, "status", list.Items[0].Status, mergerequest.Unchecked)
		check(t, w.requests.Recheck(t.Context(), w.reporter, list.Items))
		equal(t, "jobs for a reporter", asked, 0)
		check(t, w.requests.Recheck(t.Context(), w.developer, list.Items))
		equal(t, "jobs for a developer", asked, 1)
		w.drain()
		list, err = w.requests.List(t.Context(), w.reporter, w.as(w.reporter).Place(), mergerequest.Filter{})
		check(t, err)
		equal(t, "status after the job", list.Items[1].Status, mergerequest.CanBeMerged)
	})
}
