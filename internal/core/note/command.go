package note

import (
	"context"
	"errors"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/noteable"
	"tenon/internal/core/quickaction"
)

// Create comments on a thing and runs the quick actions of the text. Where it has nothing else no note is
// made, and the result says what they did. A body that is one emoji reacts to the thing instead.
func (s *Service) Create(ctx context.Context, as authz.Actor, on On, in Input) (Result, noteable.Target, error) {
	text := s.Commands.Parse(on.Kind, in.Body)
	in.Body = text.Rest
	if !text.Only() {
		out, t, err := s.create(ctx, as, on, in)
		if err == nil && len(text.Commands) > 0 {
			out.Commands, err = s.Commands.Done(ctx, as, commanded(on, t, in.HeadSHA), text.Commands)
		}
		return out, t, err
	}
	done, t, err := s.alone(ctx, as, on, in.HeadSHA, text)
	return Result{Commands: done}, t, err
}

// alone runs the quick actions of a text that has nothing else, for those who may comment.
func (s *Service) alone(ctx context.Context, as authz.Actor, on On, head string, text quickaction.Text) (*quickaction.Result, noteable.Target, error) {
	t, err := s.mayAdd(ctx, as, on)
	if err != nil {
		return nil, t, err
	}
	done, err := s.Commands.Alone(ctx, as, commanded(on, t, head), text.Commands)
	return done, t, refused(err)
}

// Begun is a discussion that was created, and what the quick actions of its text did. One of
// them is nil where the text had none, or nothing else.
type Begun struct {
	Discussion *Discussion
	Commands   *quickaction.Result
}

// CreateDiscussion begins a thread on a thing and runs the quick actions of the text. Where it has nothing
// else no discussion begins.
func (s *Service) CreateDiscussion(ctx context.Context, as authz.Actor, on On, in Input) (Begun, noteable.Target, error) {
	text := s.Commands.Parse(on.Kind, in.Body)
	in.Body = text.Rest
	if text.Only() {
		done, t, err := s.alone(ctx, as, on, in.HeadSHA, text)
		return Begun{Commands: done}, t, err
	}
	var out Begun
	d, t, err := s.createDiscussion(ctx, as, on, in)
	out.Discussion = d
	if err == nil && len(text.Commands) > 0 {
		out.Commands, err = s.Commands.Done(ctx, as, commanded(on, t, in.HeadSHA), text.Commands)
	}
	return out, t, err
}

// Reply adds a note to a discussion that the actor may read and runs the quick actions of the text. Where it has
// nothing else there is no reply.
func (s *Service) Reply(ctx context.Context, as authz.Actor, on On, id string, in Input) (Result, noteable.Target, error) {
	text := s.Commands.Parse(on.Kind, in.Body)
	in.Body = text.Rest
	if text.Only() {
		if _, t, err := s.FindDiscussion(ctx, as, on, id); err != nil {
			return Result{}, t, err
		}
		done, t, err := s.alone(ctx, as, on, in.HeadSHA, text)
		return Result{Commands: done}, t, err
	}
	var out Result
	n, t, err := s.reply(ctx, as, on, id, in)
	out.Note = n
	if err == nil && len(text.Commands) > 0 {
		out.Commands, err = s.Commands.Done(ctx, as, commanded(on, t, in.HeadSHA), text.Commands)
	}
	return out, t, err
}

// Update changes the text of a note and runs its quick actions. Where it has nothing else the note is
// deleted.
func (s *Service) Update(ctx context.Context, as authz.Actor, on On, id ID, c Changes) (Result, noteable.Target, error) {
	var text quickaction.Text
	if c.Body != nil {
		text = s.Commands.Parse(on.Kind, *c.Body)
		c.Body = &text.Rest
	}
	if !text.Only() {
		n, t, err := s.update(ctx, as, on, id, c)
		out := Result{Note: n}
		if err == nil && len(text.Commands) > 0 {
			out.Commands, err = s.Commands.Done(ctx, as.Unconditional(), commanded(on, t, ""), text.Commands)
		}
		return out, t, err
	}
	_, t, err := s.administer(ctx, as, on, id)
	if err != nil {
		return Result{}, t, err
	}
	if err := s.Delete(ctx, as, on, id); err != nil {
		return Result{}, t, err
	}
	done, err := s.Commands.Alone(ctx, as.Unconditional(), commanded(on, t, ""), text.Commands)
	return Result{Commands: done}, t, refused(err)
}

// commanded is what the quick actions of a note are run on.
func commanded(on On, t noteable.Target, head string) quickaction.On {
	return quickaction.On{Place: on.Place, Target: t, HeadSHA: head}
}

// refused makes what an attribute of the target refuses an error of the note.
func refused(err error) error {
	var invalid *errs.Error
	if errors.As(err, &invalid) && len(invalid.Fields) > 0 {
		return refuse("validation", invalid.Error())
	}
	return err
}
