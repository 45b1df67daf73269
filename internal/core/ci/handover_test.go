package ci_test

import (
	"context"
	"os"
	"testing"
	"time"

	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/runner"
)

// A job that cannot be handed over for a while stays pending, and keeps no other from its runner.
func TestService_Request_passing(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		other := w.other("group/tools", authz.Private, "other: {script: x}\n")
		p := w.begin("build: {script: x}\ntest: {script: x}\n")
		token := w.runner(runner.InstanceType, nil)
		w.pushTo(other, "main", yml("other: {script: y}\n"), "Change")
		// The folder of the repository is away, as one on a network disk may be.
		folder := w.git(w.id).Path()
		check(t, os.Rename(folder, folder+"-away"))
		w.take(token, "other")
		if a, _, err := w.ci.Request(ctx, ci.Ask{Token: token, SystemID: "s_1", Features: features()}); a != nil || err != nil {
			t.Errorf("without its repository: got %v, %v, want no job", a, err)
		}
		w.wantStates(p, "without its repository", "build:pending test:pending = pending")
		queued := w.job(p, "build").QueuedAt
		check(t, os.Rename(folder+"-away", folder))
		w.pass(time.Minute)
		w.take(token, "build")
		w.run(token, "test")
		if got := w.job(p, "build").QueuedAt; !got.Equal(queued.Time) {
			t.Errorf("queued at %s, want %s", got, queued)
		}
		w.wantStates(p, "with its repository", "build:running test:success = running")

		// A runner that has left gets no job.
		p = w.begin("last: {script: x}\n")
		gone, leave := context.WithCancel(ctx)
		leave()
		if a, _, err := w.ci.Request(gone, ci.Ask{Token: token, SystemID: "s_1", Features: features()}); a != nil || err == nil {
			t.Errorf("after the runner has left: got %v, %v", a, err)
		}
		w.wantStates(p, "after the runner has left", "last:pending = pending")
	})
}
