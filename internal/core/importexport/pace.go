package importexport

import (
	"context"
	"io"
	"time"
)

// What an export works at a time, and rests at most after that.
const (
	paceWork = 4 * time.Millisecond
	paceRest = 50 * time.Millisecond
)

// paced writes, and rests as long as was worked between writes, so that an export leaves at least half of its time on the processors to those who
// wait for an answer.
type paced struct {
	ctx   context.Context // of the export
	to    io.Writer
	since time.Time
}

func newPaced(ctx context.Context, to io.Writer) *paced { return &paced{ctx, to, time.Now()} }

func (p *paced) Write(text []byte) (int, error) {
	n, err := p.to.Write(text)
	worked := time.Since(p.since)
	if err != nil || worked < paceWork {
		return n, err
	}
	rest := time.NewTimer(min(worked, paceRest))
	defer rest.Stop()
	select {
	case <-rest.C:
	case <-p.ctx.Done():
		return n, context.Cause(p.ctx)
	}
	p.since = time.Now()
	return n, nil
}
