package limit

import (
	"time"

	"tenon/internal/base/ratelimit"
	"tenon/internal/core/authz"
)

// Documents bounds the documents of GraphQL that a caller may send.
type Documents struct {
	Complexity    int // of all requests of a body together
	Introspection int // the same, where they ask about the schema alone
	Depth         int // levels of fields
}

// Documents returns the bounds for a caller.
func (s *Service) Documents(as authz.Actor) Documents {
	d := Documents{Complexity: 200, Introspection: 250, Depth: 15}
	if as.Known() {
		d.Complexity, d.Depth = 250, 20
	}
	if as.Admin {
		d.Complexity = 300
	}
	d.Introspection = max(d.Introspection, d.Complexity)
	return d
}

// What documents may cost together in a minute: for callers who are known, and for all others
// from one network.
const (
	knownBudget     = 1_000_000
	anonymousBudget = 200_000
)

// Spend takes the complexity of a request from the budget of its caller for this minute, and
// reports whether the budget had room for it.
func (s *Service) Spend(as authz.Actor, complexity int) bool {
	if s.off() {
		return true
	}
	most := anonymousBudget
	if as.Known() {
		most = knownBudget
	}
	var key ratelimit.Key
	caller(&key, as)
	used := s.counter.AddMany(ratelimit.Limit{Name: "graphql_complexity", Most: most, Every: time.Minute}, key, complexity)
	if used.Exceeded() {
		s.Refused("graphql_complexity")
		return false
	}
	return true
}
