package note

import (
	"context"
	"fmt"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/noteable"
	"tenon/internal/core/quickaction"
)

// Pending is a note that its author has kept back until now.
type Pending struct {
	Body       string
	Discussion string // that it replies to; "" begins one
	Resolve    bool   // the discussion, where the author may: a reply without it opens that again
	CommitID   *string
	Position   *Position // as CheckPosition gave it; nil for none
	LineCode   *string
	Suggested  []Suggestion // as SuggestionsIn gave them for the body
}

// Reviewed is published when notes were published together.
type Reviewed struct {
	authz.Stamp

	Target noteable.Target
	Notes  []ID // at least one, in the order of their publication
}

// MayAdd is MayComment for one more comment, which is counted.
func (s *Service) MayAdd(ctx context.Context, as authz.Actor, on On) (noteable.Target, error) {
	return s.mayAdd(ctx, as, on)
}

// MayComment finds a thing for an actor who may comment on it.
func (s *Service) MayComment(ctx context.Context, as authz.Actor, on On) (noteable.Target, error) {
	return s.mayComment(ctx, as, on)
}

// CheckBody holds the text of a note against the limits of notes.
func CheckBody(body string) error { return checkBody(body) }

// MayResolve reports whether an actor may resolve a discussion on a thing.
func (s *Service) MayResolve(ctx context.Context, as authz.Actor, t noteable.Target, d *Discussion) (bool, error) {
	if !d.Notes[0].Resolvable() {
		return false, nil
	}
	err := s.requireResolve(ctx, as, t, &d.Notes[0])
	if refusal(err) {
		return false, nil
	}
	return err == nil, err
}

// MayReply reports whether there can be replies to a discussion.
func (s *Service) MayReply(d *Discussion) bool { return s.repliable(&d.Notes[0]) }

// Publish writes notes in the caller's transaction, with everything that follows from new
// notes. Several of them are one review. Quick actions are not run: it returns the texts that have some, for RunCommands
// after the transaction; a text that has nothing else makes no note. The caller has asked MayComment for the target.
func (s *Service) Publish(ctx context.Context, as authz.Actor, on On, t noteable.Target, list []Pending) ([]quickaction.Text, error) {
	var texts []quickaction.Text
	var made []ID
	on.reviewed = len(list) > 1
	seen, err := s.sight(ctx, as, t)
	if err != nil {
		return nil, err
	}
	before, err := s.threads(ctx, t.Ref, "")
	if err != nil {
		return nil, err
	}
	for i := range list {
		text := s.Commands.Parse(on.Kind, list[i].Body)
		if len(text.Commands) > 0 {
			texts = append(texts, text)
		}
		if text.Only() {
			continue
		}
		p := list[i]
		p.Body = text.Rest
		n, err := s.publish(ctx, as, on, t, seen, &p)
		if err != nil {
			return nil, fmt.Errorf("publish note: %w", err)
		}
		made = append(made, n.ID)
	}
	after, err := s.threads(ctx, t.Ref, "")
	if err != nil {
		return nil, err
	}
	stamp := as.Stamp(s.Now())
	if before.Unresolved > 0 && after.Unresolved == 0 {
		if err := s.Bus.Publish(ctx, ThreadsResolved{Target: t, Stamp: stamp}); err != nil {
			return nil, err
		}
	}
	if !on.reviewed || len(made) == 0 {
		return texts, nil
	}
	return texts, s.Bus.Publish(ctx, Reviewed{Stamp: stamp, Target: t, Notes: made})
}

// publish writes one note. The reply to a discussion that is gone stands alone.
func (s *Service) publish(ctx context.Context, as authz.Actor, on On, t noteable.Target, seen sight, p *Pending) (*Note, error) {
	n, err := s.build(ctx, as, t, Input{Body: p.Body})
	if err != nil {
		return nil, err
	}
	n.Suggested = p.Suggested
	if p.Discussion != "" {
		first, err := s.first(ctx, seen, p.Discussion)
		if err != nil && !errs.Is(err, errs.NotFound) {
			return nil, err
		}
		if err == nil && s.repliable(first) {
			n.DiscussionID, n.Internal = p.Discussion, first.Internal
			return n, s.write(ctx, as, on, t, n, s.replied(as, t, seen, n, p.Resolve))
		}
	}
	n.CommitID = p.CommitID
	if p.Position != nil {
		kind := diffNote
		n.Type, n.Position, n.LineCode = &kind, p.Position, p.LineCode
	}
	return n, s.write(ctx, as, on, t, n, nil)
}

// replied is what goes with the writing of a reply: it resolves its discussion or opens it again.
func (s *Service) replied(as authz.Actor, t noteable.Target, seen sight, n *Note, resolve bool) func(context.Context, noteable.Counts) error {
	join := s.joining(as, seen, n)
	return func(ctx context.Context, before noteable.Counts) error {
		if err := join(ctx, before); err != nil {
			return err
		}
		first, err := s.first(ctx, seen, n.DiscussionID)
		if err != nil {
			return err
		}
		resolved := false
		if resolve {
			if resolved, err = s.MayResolve(ctx, as, t, &Discussion{ID: n.DiscussionID, Notes: []Note{*first}}); err != nil {
				return err
			}
		}
		n.resolve(as, n.UpdatedAt.Time, Resolution{resolved})
		set, cond := "resolved_at = NULL, resolved_by_id = NULL", " AND resolved_at IS NOT NULL"
		var args []any
		if resolved {
			set, cond = "resolved_at = ?, resolved_by_id = ?", " AND resolved_at IS NULL"
			args = []any{n.ResolvedAt, n.ResolvedByID}
		}
		_, err = s.DB.Exec(ctx, "UPDATE notes SET "+set+" WHERE noteable_type = ? AND noteable_id = ? AND discussion_id = ? AND type IS NOT NULL"+cond,
			append(args, t.Kind, t.ID, n.DiscussionID)...)
		return err
	}
}

// RunCommands runs the quick actions of texts that Publish gave. What they cannot do is left out.
func (s *Service) RunCommands(ctx context.Context, as authz.Actor, on On, t noteable.Target, texts []quickaction.Text) error {
	for _, text := range texts {
		if _, err := s.Commands.Done(ctx, as, commanded(on, t, ""), text.Commands); err != nil {
			return err
		}
	}
	return nil
}
