package protection

import "tenon/internal/base/event"

// Subscribe registers what happens with rules when something else happens.
func (s *Service) Subscribe(b *event.Bus) { event.On(b, "protection rules", s.DropDeployKey) }
