package note

import (
	"context"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/noteable"
)

// Permissions is what an actor may do with a note.
type Permissions struct {
	Change  bool // edit and delete it
	Award   bool
	Comment bool // beside it, and reply where that is possible
	Move    bool // to another point of an image
	Resolve bool // the thread that it is in
}

// Permissions tells what the actor may do with a note that was read for it.
func (s *Service) Permissions(ctx context.Context, as authz.Actor, on On, n *Note) (Permissions, error) {
	var out Permissions
	t, err := s.locate(ctx, as, on, authz.ReadNote)
	if err != nil {
		return out, err
	}
	if out.Comment, err = s.permitted(ctx, as, authz.CreateNote, t, t.Subject); err != nil {
		return out, err
	}
	own := t.Subject
	own.Own, own.Confidential = as.Is(n.AuthorID), false // it is seen already
	if !n.System {
		if out.Change, err = s.permitted(ctx, as, authz.AdminNote, t, own); err != nil {
			return out, err
		}
		if out.Award, err = s.permitted(ctx, as, authz.AwardEmoji, t, t.Subject); err != nil {
			return out, err
		}
	}
	out.Award = out.Award && s.Kinds.Of(t.Kind).Awards
	out.Move = out.Change && n.Position != nil && n.Position.Type == ImagePosition
	if n.Resolvable() {
		err = s.requireResolve(ctx, as, t, n)
		out.Resolve = err == nil
	}
	return out, forbidden(err)
}

// permitted reports whether the actor may do something with the notes of a thing, whose discussion
// may be locked.
func (s *Service) permitted(ctx context.Context, as authz.Actor, ability authz.Ability, t noteable.Target, subject authz.Subject) (bool, error) {
	may, err := s.Policy.Can(ctx, as, ability, subject)
	if err == nil && may && t.Locked {
		may, err = s.Policy.Can(ctx, as, authz.CreateNoteLocked, subject)
	}
	return may, err
}

// forbidden leaves out the errors that refuse what the actor may not do.
func forbidden(err error) error {
	switch errs.KindOf(err) {
	case errs.NotFound, errs.Forbidden, errs.Unauthorized:
		return nil
	}
	return err
}

// AuthorRole returns the name of the role of a note's author in the project or group that it is in, ""
// for none. It requires ReadMembers.
func (s *Service) AuthorRole(ctx context.Context, as authz.Actor, on On, n *Note) (string, error) {
	subject := on.Place.Subject
	if err := s.Policy.Require(ctx, as, authz.ReadMembers, subject); err != nil {
		return "", err
	}
	subject.Known = false // that is the level of the actor
	level, err := s.Policy.Level(ctx, authz.Actor{UserID: n.AuthorID}, subject)
	if err != nil || level == authz.NoAccess {
		return "", err
	}
	return level.Name(), nil
}
