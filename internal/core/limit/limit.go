// Package limit says how often callers may do things: the limits of single operations,
// the throttles of everything, and who keeps guessing passwords. The numbers come from
// the settings of the moment.
package limit

import (
	"sync/atomic"
	"time"

	"tenon/internal/base/errs"
	"tenon/internal/base/ratelimit"
	"tenon/internal/core/authz"
	"tenon/internal/core/setting"
)

// Service judges by the settings in force. A zero one limits nothing. It is safe for
// concurrent use. Its counters are of this process and start again when it does.
type Service struct {
	Deps

	counter *ratelimit.Counter
	bans    *ratelimit.Bans
	visits  visits

	enforced atomic.Bool
}

// Deps is what a Service is made of.
type Deps struct {
	Settings *setting.Store
	Now      func() time.Time
	Refused  func(class string) `wire:"optional"` // is told the class of each refusal
	Off      bool               // limits nothing before Enforce
}

// New builds the service.
func New(d Deps) *Service {
	if d.Refused == nil {
		d.Refused = func(string) {}
	}
	s := &Service{Deps: d, counter: ratelimit.New(d.Now), bans: ratelimit.NewBans(d.Now)}
	s.enforced.Store(!d.Off)
	return s
}

// Enforce has a service that was made with Off limit what callers do from now on.
func (s *Service) Enforce() { s.enforced.Store(true) }

func (s *Service) off() bool { return !s.enforced.Load() }

// Check counts a call of the class for the caller. Who made too many gets TooMany, which
// wraps a *ratelimit.Exceeded. A class that is not there has no limit.
func (s *Service) Check(class Class, as authz.Actor) error { return s.check(class, as, 0, "") }

// CheckIn is Check for what is asked for in a project; text names it where one project
// has many. Ask after the permission check: the answer must not tell of hidden projects.
func (s *Service) CheckIn(class Class, as authz.Actor, project int64, text string) error {
	return s.check(class, as, project, text)
}

// CheckSearch counts a list where it is searched.
func (s *Service) CheckSearch(as authz.Actor, text string) error {
	if text == "" {
		return nil
	}
	return s.Check(Search, as)
}

// CheckLarge counts a file of more than [LargeFile] bytes.
func (s *Service) CheckLarge(as authz.Actor, project, size int64) error {
	if size <= LargeFile {
		return nil
	}
	return s.CheckIn(LargeBlob, as, project, "")
}

// CheckRaw counts a file that is sent as it is, and a large one as such.
func (s *Service) CheckRaw(as authz.Actor, project int64, name string, size int64) error {
	if err := s.CheckLarge(as, project, size); err != nil {
		return err
	}
	return s.CheckIn(RawBlob, as, project, name)
}

// CheckAt is CheckIn for a project or a group.
func (s *Service) CheckAt(class Class, as authz.Actor, at authz.Place) error {
	if at.Group {
		return s.check(class, as, at.ID, "group")
	}
	return s.check(class, as, at.ID, "")
}

func (s *Service) check(class Class, as authz.Actor, what int64, text string) error {
	if s.off() {
		return nil
	}
	r := rules[class]
	if r.most == nil {
		return nil
	}
	most := r.most(s.Settings.Current(), as)
	if most <= 0 {
		return nil
	}
	key := ratelimit.Key{What: what, Text: text}
	if !r.shared {
		caller(&key, as)
	}
	if r.known != "" && as.Known() {
		class = r.known
	}
	used := s.counter.Add(ratelimit.Limit{Name: string(class), Most: most, Every: r.every}, key)
	if !used.Exceeded() {
		return nil
	}
	s.Refused(string(class))
	return &errs.Error{Kind: errs.TooMany, Message: r.text, Err: &ratelimit.Exceeded{Usage: used, After: r.every}}
}

// caller puts into a key who calls: a user, a deploy key or token, or an address.
func caller(k *ratelimit.Key, as authz.Actor) {
	switch {
	case as.UserID != 0:
		k.Who = int64(as.UserID)
	case as.Deploy.TokenID != 0:
		k.Who, k.Text = as.Deploy.TokenID, "deploy token "+k.Text
	case as.Deploy.KeyID != 0:
		k.Who, k.Text = as.Deploy.KeyID, "deploy key "+k.Text
	default:
		k.From = ratelimit.NetworkOf(as.Address)
	}
}
