package authz

import "time"

// Stamp says who did something and when. Every event embeds one, which [Actor.Stamp] makes.
type Stamp struct {
	By Actor // without the condition of the request, which was about the row that changed
	At time.Time
}

// Stamp is what the events of a change say of the actor. A handler that acts as By changes
// rows that the request did not name, so that the condition of the request does not apply.
func (a Actor) Stamp(at time.Time) Stamp {
	a.UnmodifiedSince = time.Time{}
	return Stamp{By: a, At: at}
}

// Happened is the time of the event.
func (s Stamp) Happened() time.Time { return s.At }
