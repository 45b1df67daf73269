package repo

import (
	"context"
	"fmt"
	"io"
	"runtime/debug"

	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
)

// Receiving is what a client of a push sends and reads.
type Receiving struct {
	Advertise bool   // it asks what there is, as a first HTTP request does
	Stateless bool   // one request and its answer, as HTTP does it
	Protocol  string // what the client says of versions, as it stands
	In        io.Reader
	Out       io.Writer
}

// pushLimits bound the pushes that are taken at a time. A client decides how long one lasts.
var pushLimits = FetchLimits{Running: 64, PerActor: 16}

// Receive takes the push. Where one actor has many under way at once, the rest wait for
// their turn.
func (p *Push) Receive(ctx context.Context, r Receiving) error {
	leave, err := p.service.receives.enter(ctx, p.as)
	if err != nil {
		return err
	}
	defer leave()
	in := gitcmd.Receive{
		Advertise: r.Advertise, Stateless: r.Stateless, Protocol: r.Protocol, Hidden: hiddenRefs, Judge: pushJudge{p}, Refuse: refusedRef,
		Stdin: r.In, Stdout: r.Out,
	}
	if !r.Advertise {
		if in.MaxInput, in.TooLarge, err = p.mostInput(ctx); err != nil {
			return err
		}
	}
	return p.repo.ReceivePack(ctx, in)
}

// pushJudge lets a push be asked by what takes its objects. A failure of the server is
// logged; the person who pushes cannot act on it.
type pushJudge struct{ push *Push }

const textTryAgain = "The server could not finish this push. Please try again."

// Failed logs what kept the server from taking the push.
func (j pushJudge) Failed(err error) {
	log := j.push.service.Log
	if j.push.attached != nil {
		log.Error("push failed", "attached_id", j.push.attached.ID, "error", err)
		return
	}
	log.Error("push failed", "project_id", j.push.project.ID, "error", err)
}

// Check judges the push.
func (j pushJudge) Check(ctx context.Context, view *gitcmd.Repo, updates []gitstore.RefUpdate, options []string) (refusal string, reasons []string) {
	defer j.rescue(func() { refusal = textTryAgain })
	refusal, err := j.push.Check(ctx, view, changesOf(updates), options)
	if err != nil {
		j.Failed(err)
		return textTryAgain, nil
	}
	return refusal, nil
}

// refusedRef returns the reason why no push may change a reference, "" where one may.
func refusedRef(u gitstore.RefUpdate) string {
	switch {
	case u.Ref.Below(hiddenRefs):
		return "deny updating a hidden ref" // git's own words
	case !u.New.IsZero() && !taken(u.Ref): // what an old repository has may be deleted
		return textOtherRef
	}
	return ""
}

// Apply moves the references.
func (j pushJudge) Apply(ctx context.Context, updates []gitstore.RefUpdate) (reasons []string, message string) {
	reasons = make([]string, len(updates))
	for i := range reasons {
		reasons[i] = "internal server error"
	}
	defer j.rescue(func() { message = textTryAgain })
	results, message, err := j.push.Apply(ctx, changesOf(updates))
	if err != nil {
		j.Failed(err)
		return reasons, textTryAgain
	}
	for i, result := range results {
		reasons[i] = result.Reason
	}
	return reasons, message
}

// rescue logs a panic and lets the answer say that something failed: half a push is
// never taken for a whole one.
func (j pushJudge) rescue(answer func()) {
	if caught := recover(); caught != nil {
		j.Failed(fmt.Errorf("panic: %v\n%s", caught, debug.Stack()))
		answer()
	}
}

func changesOf(updates []gitstore.RefUpdate) []RefChange {
	changes := make([]RefChange, len(updates))
	for i, u := range updates {
		changes[i] = RefChange{Ref: u.Ref, Old: u.Old, New: u.New}
	}
	return changes
}
