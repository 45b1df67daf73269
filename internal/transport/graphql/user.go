package graphql

import (
	"context"
	"html"

	"tenon/internal/base/errs"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/transport/graphql/exec"
)

// user is the value of every type of users: what all callers see. The rest is read for a whole
// level at once, see profile.
type user = account.Summary

// users binds users and what they say of themselves.
func (b *binder) users() {
	exec.Root(b.Schema, "currentUser", func(ctx context.Context, c *exec.Call[exec.None]) (*user, error) {
		if !c.As.SignedIn() {
			return nil, nil
		}
		return b.user(ctx, c.As.UserID)
	})
	exec.Root(b.Schema, "user", func(ctx context.Context, c *exec.Call[struct {
		ID       *globalID
		Username *string
	}],
	) (*user, error) {
		if (c.Args.ID == nil) == (c.Args.Username == nil) {
			return nil, argumentError("One and only one of [id, username] arguments is required.")
		}
		var found *account.User
		var err error
		if c.Args.ID != nil {
			found, err = b.Accounts.Find(ctx, c.As, authz.UserID(c.Args.ID.ID))
		} else {
			found, err = b.Accounts.ByUsername(ctx, c.As, *c.Args.Username)
		}
		if c.As.SignedIn() && errs.Is(err, errs.NotFound) {
			err = nil
		}
		return b.Accounts.Summary(found), err
	})

	value(b, "User.id", func(u *user) string { return gid("User", u.ID) })
	value(b, "User.webPath", func(u *user) string { return b.URLs.Path(u.WebURL) })
	value(b, "User.publicEmail", func(u *user) *string { return text(u.PublicEmail) })
	value(b, "User.email", func(u *user) *string { return text(u.PublicEmail) })
	value(b, "User.active", func(u *user) bool { return u.State == account.Active })
	value(b, "User.gitpodEnabled", func(*user) bool { return false })
	profile(b, "User.bot", func(v *account.View) bool { return v.Profile != nil && v.Profile.Bot })
	profile(b, "User.bio", ofProfile(func(p *account.ProfileView) *string { return text(p.Bio) }))
	profile(b, "User.location", ofProfile(func(p *account.ProfileView) *string { return p.Location }))
	profile(b, "User.jobTitle", ofProfile(func(p *account.ProfileView) *string { return text(p.JobTitle) }))
	profile(b, "User.organization", ofProfile(func(p *account.ProfileView) *string { return text(p.Organization) }))
	profile(b, "User.pronouns", ofProfile(func(p *account.ProfileView) *string { return p.Pronouns }))
	profile(b, "User.linkedin", ofProfile(func(p *account.ProfileView) *string { return text(p.LinkedIn) }))
	profile(b, "User.twitter", ofProfile(func(p *account.ProfileView) *string { return text(p.Twitter) }))
	profile(b, "User.discord", ofProfile(func(p *account.ProfileView) *string { return text(p.Discord) }))
	profile(b, "User.commitEmail", ofPrivate(func(p *account.PrivateView) *string { return text(p.CommitEmail) }))
	profile(b, "User.lastActivityOn", ofPrivate(func(p *account.PrivateView) *string { return text(p.LastActivityOn) }))
	b.statuses()
	exec.Connection[*user](b.Schema, "UserCore")
	exec.Struct[*user](b.Schema, "User")
}

// statuses binds what users say of the moment.
func (b *binder) statuses() {
	exec.Batch(b.Schema, "User.status", func(ctx context.Context, c *exec.Call[exec.None], of []*user) ([]*account.Status, error) {
		return exec.LoadEach(ctx, c, "statuses", of, func(u *user) authz.UserID { return u.ID }, func(ctx context.Context, ids []authz.UserID) (map[authz.UserID]*account.Status, error) {
			return b.Accounts.Statuses(ctx, c.As, ids)
		})
	})
	value(b, "UserStatus.emoji", func(s *account.Status) *string { return text(s.Emoji) })
	value(b, "UserStatus.message", func(s *account.Status) *string { return text(s.Message) })
	value(b, "UserStatus.messageHtml", func(s *account.Status) *string { return text(html.EscapeString(s.Message)) })
	value(b, "UserStatus.clearStatusAt", func(s *account.Status) any {
		if s.ClearAt == nil {
			return nil
		}
		return s.ClearAt.Time
	})
	exec.Struct[*account.Status](b.Schema, "UserStatus")
}

// usersByIDs reads what all callers see of users.
func (b *binder) usersByIDs(ctx context.Context, _ authz.Actor, ids []authz.UserID) (map[authz.UserID]*user, error) {
	return b.Accounts.ByIDs(ctx, ids)
}

// user returns one user.
func (b *binder) user(ctx context.Context, id authz.UserID) (*user, error) {
	found, err := b.Accounts.ByIDs(ctx, []authz.UserID{id})
	return found[id], err
}

// profile binds a field of users that is in their profile: nil parts are not for the caller.
func profile[R any](b *binder, field string, of func(v *account.View) R) {
	exec.Batch(b.Schema, field, func(ctx context.Context, c *exec.Call[exec.None], users []*user) ([]R, error) {
		views, err := exec.LoadEach(ctx, c, "profiles", users, func(u *user) authz.UserID { return u.ID }, func(ctx context.Context, ids []authz.UserID) (map[authz.UserID]*account.View, error) {
			return b.Accounts.Profiles(ctx, c.As, ids)
		})
		out := make([]R, len(users))
		for i, v := range views {
			if v == nil {
				v = &account.View{}
			}
			out[i] = of(v)
		}
		return out, err
	})
}

func ofProfile[R any](of func(p *account.ProfileView) *R) func(v *account.View) *R {
	return func(v *account.View) *R {
		if v.Profile == nil {
			return nil
		}
		return of(v.Profile)
	}
}

func ofPrivate[R any](of func(p *account.PrivateView) *R) func(v *account.View) *R {
	return func(v *account.View) *R {
		if v.Private == nil {
			return nil
		}
		return of(v.Private)
	}
}

// value binds a field that is taken from its parent.
func value[P, R any](b *binder, field string, f func(parent P) R) { exec.Value(b.Schema, field, f) }

// text returns a text that is null where it is empty.
func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
