package pushrule

import "tenon/internal/base/event"

// Subscribe registers what happens with push rules when something else happens.
func (s *Service) Subscribe(b *event.Bus) {
	event.On(b, "push rule of the group", s.OnProjectCreated)
}
