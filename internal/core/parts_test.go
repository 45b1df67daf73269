package core

import (
	"strings"
	"testing"
	"time"

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

// A service that takes what stands above it and is not given it ends the start with its name.
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
