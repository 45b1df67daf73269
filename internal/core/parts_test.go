package core

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/event"
	"tenon/internal/base/job"
	"tenon/internal/core/account"
	"tenon/internal/core/award"
	"tenon/internal/core/limit"
	"tenon/internal/core/protection"
	"tenon/internal/core/repo"
	"tenon/internal/core/setting"
	"tenon/internal/core/trigger"
)

// Services that are there are found by what they do, in the order of the fields.
func TestParts(t *testing.T) {
	t.Parallel()
	s := &Services{Repos: repo.New(repo.Deps{Limits: &limit.Service{}}), Triggers: trigger.New(trigger.Deps{}), Awards: award.New(award.Deps{}), Settings: setting.New(nil, time.Now)}
	if got := parts[Starter](s); len(got) != 3 || got[0] != Starter(s.Settings) || got[1] != Starter(s.Triggers) || got[2] != Starter(s.Repos) {
		t.Errorf("%T start, want settings, triggers and repositories", got)
	}
	if got := parts[account.Executor](s); len(got) != 1 || got[0] != account.Executor(s.Awards) {
		t.Errorf("%T take care of what users leave, want award emoji", got)
	}
	if got := parts[Opener](s); len(got) != 1 || got[0] != Opener(s.Settings) {
		t.Errorf("%T open, want settings", got)
	}
	var r job.Registry
	s.RegisterJobs(&r)
	if len(r.Kinds()) == 0 {
		t.Error("no job of repositories is registered")
	}
}

// doesAll is the service of a subject that does all that the start looks for.
type doesAll struct{ did []string }

func (a *doesAll) note(what string)                      { a.did = append(a.did, what) }
func (a *doesAll) Subscribe(*event.Bus)                  { a.note("subscribe") }
func (a *doesAll) RegisterJobs(*job.Registry)            { a.note("jobs") }
func (a *doesAll) Open(context.Context) error            { a.note("open"); return nil }
func (a *doesAll) Settle(context.Context, db.Time) error { a.note("settle"); return nil }
func (a *doesAll) Start()                                { a.note("start") }
func (a *doesAll) Check(context.Context) ([]string, error) {
	a.note("check")
	return []string{"a row is wrong"}, nil
}
func (a *doesAll) Clean(context.Context) error { a.note("clean"); return nil }
func (a *doesAll) Stop(context.Context) error  { a.note("stop"); return nil }

// What the service of a subject does is found as that of every other.
func TestParts_subject(t *testing.T) {
	t.Parallel()
	s, all, ctx := &Services{}, &doesAll{}, t.Context()
	s.Add(all)
	s.Subscribe(&event.Bus{})
	s.RegisterJobs(&job.Registry{})
	found, err := s.Check(ctx)
	if err := errors.Join(err, s.Open(ctx), s.Settle(ctx, db.Time{}), s.Clean(ctx)); err != nil {
		t.Fatal(err)
	}
	s.Start()
	if err := s.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(all.did, " "), "subscribe jobs check open settle clean start stop"; got != want || len(found) != 1 {
		t.Errorf("did %q and found %q, want %q and one", got, found, want)
	}
	if Part[*doesAll](s) != all {
		t.Error("the service is not found by its type")
	}
}

// A service that takes what is above it and is not given it ends the start with its name.
func TestConnected(t *testing.T) {
	t.Parallel()
	s := &Services{Repos: repo.New(repo.Deps{Limits: &limit.Service{}}), Protections: protection.New(protection.Deps{})}
	var c check
	connect(&c, s.Protections, protection.Above{})
	c.connected(s)
	err := c.err()
	if err == nil {
		t.Fatal("a service is not connected, and the start goes on")
	}
	for _, want := range []string{"protection.Above: Collaborators is missing", "*repo.Service was not given what stands above it"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got %q, want %q in it", err, want)
		}
	}
	if strings.Contains(err.Error(), "*protection.Service") {
		t.Errorf("got %q, which names a service that is connected", err)
	}
}
