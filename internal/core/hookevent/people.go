package hookevent

import (
	"context"

	"tenon/internal/base/db"
	"tenon/internal/base/event"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/namespace"
	"tenon/internal/core/payload"
	"tenon/internal/core/sshkey"
)

// member is an event about a membership, or a request for one, as it was at the time.
type member struct {
	payload.MemberEvent

	Group authz.NamespaceID `json:",omitzero"` // zero for a project
}

func (member) kind() string { return "member" }

func (e *member) fill(ctx context.Context, s *Service, m *payload.Message) error {
	if e.User.Username == "" { // of a request
		users, err := s.Accounts.Load(ctx, []authz.UserID{e.User.ID})
		u := users[e.User.ID]
		if err != nil {
			return err
		}
		if u == nil {
			return errDeleted
		}
		e.User = namespace.MemberUser{ID: u.ID, Username: u.Username, Name: u.Name, PublicEmail: u.PublicEmail}
	}
	if e.Group == 0 {
		if m.Project == nil {
			return errDeleted
		}
		m.Body = s.Payloads.ProjectMember(m.Project, &e.MemberEvent)
		return nil
	}
	body, err := s.Payloads.GroupMember(ctx, e.Group, &e.MemberEvent)
	return setBody(m, body, err)
}

// user is an event about a user, as it was at the time.
type user struct {
	Name string
	ID   authz.UserID
	Old  string            `json:",omitzero"`  // user name before a change
	Body *payload.UserBody `json:",omitempty"` // nil for a failed sign-on, which only concerns blocked users
}

func (user) kind() string { return "user" }

func (e *user) fill(ctx context.Context, s *Service, m *payload.Message) error {
	if e.Body == nil {
		users, err := s.Accounts.Load(ctx, []authz.UserID{e.ID})
		if err != nil {
			return err
		}
		u := users[e.ID]
		if u == nil || !u.State.Barred() {
			return errDeleted
		}
		e.Body = s.Payloads.User(e.Name, u, db.At(m.At))
		e.Body.State = string(u.State)
	}
	m.Body = e.Body
	return nil
}

// key is an event about an SSH key of a user.
type key struct {
	Body *payload.KeyBody
	User authz.UserID
}

func (key) kind() string { return "key" }

func (e *key) fill(ctx context.Context, s *Service, m *payload.Message) error {
	if e.Body.Username == "" {
		users, err := s.Accounts.Load(ctx, []authz.UserID{e.User})
		if err != nil {
			return err
		}
		if u := users[e.User]; u != nil {
			e.Body.Username = u.Username
		}
	}
	m.Body = e.Body
	return nil
}

func (s *Service) subscribePeople(b *event.Bus) {
	on(b, func(ctx context.Context, e namespace.MemberAdded) error {
		return s.member(ctx, e.Of, e.User, "user_add_to_team", "user_add_to_group")
	})
	on(b, func(ctx context.Context, e namespace.MemberChanged) error {
		return s.member(ctx, e.Of, e.User, "user_update_for_team", "user_update_for_group")
	})
	on(b, func(ctx context.Context, e namespace.MemberRemoved) error {
		return s.member(ctx, e.Of, e.User, "user_remove_from_team", "user_remove_from_group")
	})
	on(b, func(ctx context.Context, e namespace.AccessRequested) error {
		return s.asked(ctx, e.Place, e.Stamp, e.By.UserID, asking{"user_access_request_to_project", "user_access_request_to_group", "user_access_request_to_group"})
	})
	on(b, func(ctx context.Context, e namespace.AccessDenied) error {
		return s.asked(ctx, e.Place, e.Stamp, e.UserID, asking{
			"user_access_request_revoked_for_project", "user_access_request_denied_for_group", "user_access_request_revoked_for_group",
		})
	})
	on(b, func(ctx context.Context, e account.UserCreated) error {
		return s.user(ctx, e.Stamp, "user_create", e.Row(), "")
	})
	on(b, func(ctx context.Context, e account.UserRemoved) error {
		return s.user(ctx, e.Stamp, "user_destroy", e.Row(), "")
	})
	on(b, func(ctx context.Context, e account.UserUpdated) error {
		if e.Before == nil || e.Before.Username == e.Row().Username {
			return nil
		}
		return s.user(ctx, e.Stamp, "user_rename", e.Row(), e.Before.Username)
	})
	on(b, func(ctx context.Context, e account.SignOnFailed) error {
		if e.By.UserID == 0 {
			return nil
		}
		return s.record(ctx, authz.Place{}, e.Stamp, candidate{payload.System, func() source { return &user{Name: "user_failed_login", ID: e.By.UserID} }})
	})
	on(b, func(ctx context.Context, e sshkey.Added) error { return s.key(ctx, e.Of, "key_create") })
	on(b, func(ctx context.Context, e sshkey.Removed) error { return s.key(ctx, e.Of, "key_destroy") })
}

// member records what became of a membership, for hooks of groups and of the instance.
func (s *Service) member(ctx context.Context, e change.Of[namespace.Member], u namespace.MemberUser, inProject, inGroup string) error {
	row := e.Row()
	out := member{MemberEvent: payload.MemberEvent{
		Name: inProject, User: u, Level: row.Level, ExpiresOn: row.ExpiresOn, CreatedAt: row.CreatedAt, UpdatedAt: db.At(e.At),
	}}
	candidates := []candidate{{payload.System, func() source { return &out }}}
	if e.Place.Group {
		out.Name, out.Group = inGroup, e.Place.Namespace
		candidates = append(candidates, candidate{payload.Member, func() source { return &out }})
	}
	return s.record(ctx, e.Place, e.Stamp, candidates...)
}

// asking is what a request for membership, or its end, is called: in a project, in hooks of a group, and in those of the instance about a group.
type asking struct{ inProject, inGroup, ofInstance string }

// asked records a request for membership, or its end.
func (s *Service) asked(ctx context.Context, at authz.Place, stamp authz.Stamp, who authz.UserID, what asking) error {
	named := func(name string) *member {
		out := &member{MemberEvent: payload.MemberEvent{
			Name: name, User: namespace.MemberUser{ID: who}, CreatedAt: db.At(stamp.At), UpdatedAt: db.At(stamp.At),
		}}
		if at.Group {
			out.Group = at.Namespace
		}
		return out
	}
	if !at.Group {
		return s.record(ctx, at, stamp, candidate{payload.System, func() source { return named(what.inProject) }})
	}
	return s.record(ctx, at, stamp,
		candidate{payload.System, func() source { return named(what.ofInstance) }}, candidate{payload.Member, func() source { return named(what.inGroup) }})
}

// user records what became of a user.
func (s *Service) user(ctx context.Context, stamp authz.Stamp, name string, u *account.User, old string) error {
	return s.record(ctx, authz.Place{}, stamp, candidate{payload.System, func() source {
		out := &user{Name: name, ID: u.ID, Body: s.Payloads.User(name, u, db.At(stamp.At))}
		out.Body.OldUsername = old
		return out
	}})
}

// key records what became of the SSH key of a user.
func (s *Service) key(ctx context.Context, e change.Of[sshkey.Key], name string) error {
	k := e.Row()
	if k.Kind != sshkey.UserKey || k.UserID == nil {
		return nil
	}
	return s.record(ctx, authz.Place{}, e.Stamp, candidate{payload.System, func() source {
		return &key{s.Payloads.Key(name, k, k.OwnerUsername, db.At(e.At)), *k.UserID}
	}})
}
