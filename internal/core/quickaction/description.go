package quickaction

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/noteable"
)

// Cut takes the commands out of a description; run, which is nil where there are none, is Done.
func (s *Service) Cut(kind noteable.Kind, text string) (rest string, run noteable.Run) {
	cut := s.Parse(kind, text)
	if len(cut.Commands) == 0 {
		return cut.Rest, nil
	}
	return cut.Rest, func(ctx context.Context, as authz.Actor, at authz.Place, t noteable.Target) error {
		_, err := s.Done(ctx, as, On{Place: at, Target: t}, cut.Commands)
		return err
	}
}
