package mergerequest_test

import (
	"testing"

	"tenon/internal/base/errs"
	"tenon/internal/core/mergerequest"
)

// What a project says about squashing goes before what a merge asks for.
func TestService_Merge_squashOption(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		option     string
		asks, want bool
	}{
		{"never", true, false},
		{"always", false, true},
		{"default_on", false, false},
		{"default_off", true, true},
	} {
		t.Run(row.option, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, w *world) {
				w.exec("UPDATE projects SET squash_option = ?", row.option)
				w.push("topic", w.tip("main"), files{"c": "1\n"}, "One")
				w.push("topic", "", files{"c": "2\n"}, "Two")
				m := w.create(mergerequest.Input{SourceBranch: "topic", TargetBranch: "main", Title: "Add c", Squash: &row.asks})
				done, err := w.merge(w.maintainer, m.IID, mergerequest.MergeInput{})
				check(t, err)
				equal(t, "squashed", done.SquashCommitSHA != nil, row.want)
			})
		})
	}
}

// A skipped pipeline is not enough where one has to succeed, but where the project or a group above says so.
func TestService_Merge_skipped(t *testing.T) {
	eachPiped(t, func(t *testing.T, w *piped) {
		w.exec("UPDATE projects SET only_allow_merge_if_pipeline_succeeds = ?", true)
		for branch, allow := range map[string]string{"one": "projects", "two": "groups"} {
			m := w.open(branch, files{branch: "c\n"})
			w.drain()
			w.drain()
			w.idle()
			w.exec("UPDATE pipelines SET status = 'skipped'")
			_, err := w.merge(w.maintainer, m.IID, mergerequest.MergeInput{})
			wantError(t, err, errs.NotAllowed, "pipeline must succeed")
			w.exec("UPDATE " + allow + " SET allow_merge_on_skipped_pipeline = true")
			_, err = w.merge(w.maintainer, m.IID, mergerequest.MergeInput{})
			check(t, err)
			w.exec("UPDATE " + allow + " SET allow_merge_on_skipped_pipeline = false")
		}
	})
}
