package namespace

import (
	"context"
	"errors"
	"fmt"
	"net/mail"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
)

// Invitation waits for a user with an address to get an account.
type Invitation struct {
	ID          int64         `db:"id"`
	NamespaceID ID            `db:"namespace_id"`
	Email       string        `db:"email" fold:"email_fold"`
	Level       authz.Level   `db:"access_level"`
	ExpiresOn   *string       `db:"expires_on"` // YYYY-MM-DD, of the membership
	CreatedByID *authz.UserID `db:"created_by_id"`
	CreatedAt   db.Time       `db:"created_at"`
	UpdatedAt   db.Time       `db:"updated_at"`
}

// InvitationInput is an address and what its owner gets.
type InvitationInput struct {
	Email     string
	Level     authz.Level
	ExpiresOn *string // YYYY-MM-DD, nil never
}

// Invited says that an address was invited to become a member.
type Invited struct {
	authz.Stamp

	Place authz.Place
	Email string
	Level authz.Level
}

// InvitationRemoved says that an invitation was taken back.
type InvitationRemoved struct {
	authz.Stamp

	Place authz.Place
	Email string
}

var invitationColumns = db.Columns[Invitation]("")

// Invite invites an address. Where a user has confirmed that it is theirs, they
// become a member at once; otherwise once they have.
func (s *Service) Invite(ctx context.Context, as authz.Actor, p authz.Place, in InvitationInput) error {
	if err := s.Policy.Require(ctx, as, adminAbility(p), p.Subject); err != nil {
		return err
	}
	if err := s.mayInvite(as); err != nil {
		return err
	}
	own, err := s.Policy.Level(ctx, as, p.Subject)
	if err != nil {
		return err
	}
	address, err := mail.ParseAddress(in.Email)
	if err != nil || address.Name != "" || address.Address != in.Email || strings.ContainsAny(in.Email, "<> \t\r\n") {
		return errs.Plain("Invite email is invalid")
	}
	known, err := db.Get[authz.UserID](ctx, s.DB, "SELECT user_id FROM emails WHERE email_fold = ? AND confirmed_at IS NOT NULL", db.Fold(in.Email))
	switch {
	case err == nil:
		return s.inviteUser(ctx, as, p, known, in)
	case !errors.Is(err, db.ErrNotFound):
		return fmt.Errorf("look for address: %w", err)
	}
	if err := s.checkMember(ctx, p, 0, in.Level, in.ExpiresOn); err != nil {
		return err
	}
	if !mayGive(as, own, in.Level) {
		cause := &TooHigh{Username: in.Email}
		return &errs.Error{Kind: errs.Invalid, Message: cause.Error(), Err: cause}
	}
	if err := s.admitsAddress(ctx, p, in.Email); err != nil {
		return err
	}
	now := db.At(s.Now())
	row := Invitation{NamespaceID: p.Namespace, Email: in.Email, Level: in.Level, ExpiresOn: in.ExpiresOn, CreatedAt: now, UpdatedAt: now}
	if as.SignedIn() {
		row.CreatedByID = &as.UserID
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := db.Create(ctx, s.DB, "invitations", &row); err != nil {
			return err
		}
		return s.Bus.Publish(ctx, Invited{Place: p, Email: in.Email, Level: in.Level, Stamp: as.Stamp(s.Now())})
	})
	if db.Duplicate(err, "invitations") {
		return errs.Plain("Invite email has already been taken")
	}
	if err != nil {
		return fmt.Errorf("invite: %w", err)
	}
	s.Log.WarnContext(ctx, "invitation waits and no mail is sent: a user with this confirmed address accepts it",
		"place", p.Path, "command", "tenon admin user create USERNAME --email ADDRESS")
	return nil
}

func (s *Service) inviteUser(ctx context.Context, as authz.Actor, p authz.Place, user authz.UserID, in InvitationInput) error {
	_, err := s.Add(ctx, as, p, MemberInput{UserID: user, Level: in.Level, ExpiresOn: in.ExpiresOn})
	if errs.Is(err, errs.Conflict) {
		return errs.Plain("User already exists in source")
	}
	return err
}

// Invitations lists the addresses that are invited, by id; query is part of one.
func (s *Service) Invitations(ctx context.Context, as authz.Actor, p authz.Place, query string, r page.Range) (page.Page[Invitation], error) {
	if err := s.Policy.Require(ctx, as, adminAbility(p), p.Subject.Reading()); err != nil {
		return page.Page[Invitation]{}, err
	}
	q := page.Query{Columns: invitationColumns, From: "invitations", Order: page.Order{page.ID("id")}}
	q.Where.And("namespace_id = ?", p.Namespace)
	if query != "" {
		q.Where.And(`email_fold LIKE ? ESCAPE '\'`, "%"+db.LikePattern(db.Fold(query))+"%")
	}
	list, err := page.Select[Invitation](ctx, s.DB, q, r)
	if err != nil {
		return list, fmt.Errorf("list invitations: %w", err)
	}
	return list, nil
}

// InvitationChanges are the attributes of an invitation that a call sets.
type InvitationChanges struct {
	Level     *authz.Level
	ExpiresOn **string // nil leaves alone, a nil inside takes the date away
}

// ChangeInvitation gives an invited address another role or date.
func (s *Service) ChangeInvitation(ctx context.Context, as authz.Actor, p authz.Place, email string, c InvitationChanges) (*Invitation, error) {
	if err := s.Policy.Require(ctx, as, adminAbility(p), p.Subject); err != nil {
		return nil, err
	}
	own, err := s.Policy.Level(ctx, as, p.Subject)
	if err != nil {
		return nil, err
	}
	old, err := s.invitation(ctx, p, email)
	if err != nil {
		return nil, err
	}
	var out db.Change[Invitation]
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		var err error
		out, err = db.Update(ctx, s.DB, db.Row{Table: "invitations", ID: old.ID, Now: s.Now, If: as.UnmodifiedAt}, func(ctx context.Context, i *Invitation) error {
			was := i.Level
			if c.Level != nil {
				i.Level = *c.Level
			}
			if c.ExpiresOn != nil {
				i.ExpiresOn = *c.ExpiresOn
			}
			if err := s.checkMember(ctx, p, 0, i.Level, i.ExpiresOn); err != nil {
				return err
			}
			if !as.Admin && (was > own || i.Level != was && !mayGive(as, own, i.Level)) {
				return errs.Denied("")
			}
			return nil
		})
		if err != nil {
			return err
		}
		return s.Bus.Publish(ctx, Invited{Place: p, Email: out.After.Email, Level: out.After.Level, Stamp: as.Stamp(s.Now())})
	})
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.Missing("")
	}
	if err != nil {
		return nil, errs.Wrap(err, "change invitation")
	}
	return &out.After, nil
}

func (s *Service) invitation(ctx context.Context, p authz.Place, email string) (*Invitation, error) {
	found, err := db.Get[Invitation](ctx, s.DB, "SELECT "+invitationColumns+" FROM invitations WHERE namespace_id = ? AND email_fold = ?",
		p.Namespace, db.Fold(email))
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.Missing("")
	}
	if err != nil {
		return nil, fmt.Errorf("find invitation: %w", err)
	}
	return &found, nil
}

// Uninvite takes an invitation back.
func (s *Service) Uninvite(ctx context.Context, as authz.Actor, p authz.Place, email string) error {
	if err := s.Policy.Require(ctx, as, adminAbility(p), p.Subject); err != nil {
		return err
	}
	old, err := s.invitation(ctx, p, email)
	if err != nil {
		return err
	}
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		row := db.Row{Table: "invitations", ID: old.ID, If: as.UnmodifiedAt, Missing: errs.Missing("")}
		if _, err := db.Delete[Invitation](ctx, s.DB, row, nil); err != nil {
			return errs.Wrap(err, "remove invitation")
		}
		return s.Bus.Publish(ctx, InvitationRemoved{Place: p, Email: old.Email, Stamp: as.Stamp(s.Now())})
	})
}

// AcceptInvitations makes a user a member wherever one of the user's confirmed
// addresses is invited. It is called in the transaction that confirms an address, and
// asks for no permission: a user who invited had it.
func (s *Service) AcceptInvitations(ctx context.Context, user authz.UserID) error {
	type waiting struct {
		Invitation
		Kind      Kind   `db:"kind"`
		ParentID  *ID    `db:"parent_id"`
		Name      string `db:"name"`
		FullPath  string `db:"full_path"`
		ProjectID *int64 `db:"project_id"`
		Inviter   string `db:"inviter"`
	}
	list, err := db.Select[waiting](ctx, s.DB, `SELECT i.id, i.namespace_id, i.email, i.access_level, i.expires_on, i.created_by_id, i.created_at,
		n.kind, n.parent_id, n.name, r.path AS full_path, p.id AS project_id, COALESCE(u.username, '') AS inviter
		FROM emails e JOIN invitations i ON i.email_fold = e.email_fold
		JOIN namespaces n ON n.id = i.namespace_id JOIN routes r ON r.namespace_id = n.id
		LEFT JOIN projects p ON p.namespace_id = n.id LEFT JOIN users u ON u.id = i.created_by_id
		WHERE e.user_id = ? AND e.confirmed_at IS NOT NULL ORDER BY i.id`, user)
	if err != nil {
		return fmt.Errorf("invitations of user: %w", err)
	}
	for _, in := range list {
		p := authz.Place{Namespace: in.NamespaceID, Parent: in.ParentID, Group: in.Kind == GroupKind, ID: int64(in.NamespaceID), Name: in.Name, Path: in.FullPath}
		if in.ProjectID != nil {
			p.ID = *in.ProjectID
		}
		if err := s.admitsAddress(ctx, p, in.Email); errs.Is(err, errs.Forbidden) || errs.Is(err, errs.Unprocessable) {
			continue // the rules have changed since
		} else if err != nil {
			return err
		}
		if _, err := db.Drop(ctx, s.DB, db.Row{Table: "invitations", ID: in.ID}); err != nil {
			return fmt.Errorf("use invitation: %w", err)
		}
		member, err := db.Get[bool](ctx, s.DB, `SELECT EXISTS (SELECT 1 FROM members
			WHERE namespace_id = ? AND user_id = ? AND (expires_on IS NULL OR expires_on > ?))`, in.NamespaceID, user, s.today())
		if err != nil {
			return fmt.Errorf("look for membership: %w", err)
		}
		if member || in.ExpiresOn != nil && *in.ExpiresOn <= s.today() {
			continue
		}
		by := authz.Actor{Username: in.Inviter}
		if in.CreatedByID != nil {
			by.UserID = *in.CreatedByID
		}
		if _, err := s.join(ctx, by, p, joining{user, in.Level, in.ExpiresOn}); err != nil {
			return fmt.Errorf("accept invitation: %w", err)
		}
	}
	return nil
}

// About names it for events.
func (i Invitation) About() change.Subject {
	return change.Subject{Type: "User", Title: i.Email}
}

// Changed is the event in its generic form.
func (e Invited) Changed() change.Fact {
	return change.View(e.Stamp, e.Place, nil, &Invitation{NamespaceID: e.Place.Namespace, Email: e.Email, Level: e.Level})
}

// Changed is the event in its generic form.
func (e InvitationRemoved) Changed() change.Fact {
	return change.View(e.Stamp, e.Place, &Invitation{NamespaceID: e.Place.Namespace, Email: e.Email}, nil)
}
