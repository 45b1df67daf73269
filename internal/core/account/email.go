package account

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
)

// Address is a secondary address of a user.
type Address struct {
	ID          int64        `db:"id"`
	UserID      authz.UserID `db:"user_id"`
	Email       string       `db:"email"`
	ConfirmedAt *db.Time     `db:"confirmed_at"` // nil until the user has confirmed it
	CreatedAt   db.Time      `db:"created_at"`
	UpdatedAt   db.Time      `db:"updated_at"`
}

const fromAddresses = ` FROM emails e WHERE e.user_id = ? AND NOT e.is_primary AND NOT e.pending`

// Emails returns the secondary addresses of a user, oldest first: zero is the actor,
// another user's are for administrators, here and below.
func (s *Service) Emails(ctx context.Context, as authz.Actor, user authz.UserID, r page.Range) (page.Page[Address], error) {
	user, _, err := s.mayAddress(ctx, as, user)
	if err != nil {
		return page.Page[Address]{}, err
	}
	q := page.Query{Columns: db.Columns[Address]("e"), From: "emails e", Order: page.Order{page.ID("e.id")}}
	q.Where.And("e.user_id = ? AND NOT e.is_primary AND NOT e.pending", user)
	list, err := page.Select[Address](ctx, s.DB, q, r)
	if err != nil {
		return list, fmt.Errorf("list addresses: %w", err)
	}
	return list, nil
}

// Email returns one of a user's secondary addresses.
func (s *Service) Email(ctx context.Context, as authz.Actor, user authz.UserID, id int64) (Address, error) {
	user, _, err := s.mayAddress(ctx, as, user)
	if err != nil {
		return Address{}, err
	}
	return s.address(ctx, user, id)
}

func (s *Service) address(ctx context.Context, user authz.UserID, id int64) (Address, error) {
	a, err := db.Get[Address](ctx, s.DB, "SELECT "+db.Columns[Address]("e")+fromAddresses+" AND e.id = ?", user, id)
	if errors.Is(err, db.ErrNotFound) {
		return Address{}, errs.Missing("Email")
	}
	if err != nil {
		return Address{}, fmt.Errorf("read address: %w", err)
	}
	return a, nil
}

// EmailInput is one more address of a user. Confirmed takes it for verified, which only
// administrators may ask for. What users claim of themselves is never taken for verified:
// it would turn invitations to others, and their commits, into theirs.
type EmailInput struct {
	Address   string
	Confirmed bool
}

// AddEmail gives a user one more address. One that is taken is Invalid.
func (s *Service) AddEmail(ctx context.Context, as authz.Actor, user authz.UserID, in EmailInput) (Address, error) {
	user, username, err := s.mayAddress(ctx, as, user)
	if err != nil {
		return Address{}, err
	}
	email := strings.ToLower(strings.TrimSpace(in.Address))
	var f errs.Fields
	checkEmail(&f, "email", email)
	if err := f.Err(); err != nil {
		return Address{}, err
	}
	now := db.At(s.Now())
	row := emailRow{UserID: user, Email: email, EmailFold: db.Fold(email), CreatedAt: now, UpdatedAt: now}
	if as.Admin && (in.Confirmed || s.Settings.Current().EmailConfirmationSetting == "off") {
		row.ConfirmedAt = &now
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		taken, err := db.Get[bool](ctx, s.DB, `SELECT EXISTS (SELECT 1 FROM emails WHERE email_fold = ?
			AND (user_id = ? OR is_primary OR confirmed_at IS NOT NULL))`, row.EmailFold, user)
		if err != nil {
			return err
		}
		if taken {
			return errAddressTaken()
		}
		if err := db.Create(ctx, s.DB, "emails", &row); err != nil {
			return err
		}
		return s.Bus.Publish(ctx, AddressAdded{
			ID: row.ID, UserID: user, Username: username, Email: row.Email, Confirmed: row.ConfirmedAt != nil, Stamp: as.Stamp(s.Now()),
		})
	})
	if db.Duplicate(err, "emails") { // another request was first
		return Address{}, errAddressTaken()
	}
	if err != nil {
		return Address{}, fmt.Errorf("add address: %w", err)
	}
	return Address{ID: row.ID, UserID: user, Email: row.Email, ConfirmedAt: row.ConfirmedAt}, nil
}

func errAddressTaken() error {
	var f errs.Fields
	f.Add("email", "has already been taken")
	return f.Err()
}

// DeleteEmail takes a secondary address from a user; what the user showed of it goes too.
func (s *Service) DeleteEmail(ctx context.Context, as authz.Actor, user authz.UserID, id int64) error {
	owner, username, err := s.mayAddress(ctx, as, user)
	if err != nil {
		return err
	}
	a, err := s.address(ctx, owner, id)
	if err != nil {
		return err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := s.lock(ctx, a.UserID); err != nil {
			return err
		}
		row := db.Row{Table: "emails", ID: id, If: as.UnmodifiedAt, Missing: errs.Missing("Email")}
		row.And.And("NOT is_primary") // or it became so meanwhile
		_, err := db.Delete[emailRow](ctx, s.DB, row, nil)
		if err != nil {
			return err
		}
		s.forget(ctx, a.UserID)
		_, err = s.DB.Exec(ctx, `UPDATE users SET public_email = CASE WHEN public_email = ? THEN '' ELSE public_email END,
			commit_email = CASE WHEN commit_email = ? THEN '' ELSE commit_email END, updated_at = ? WHERE id = ?`,
			a.Email, a.Email, s.Now(), a.UserID)
		if err != nil {
			return err
		}
		return s.Bus.Publish(ctx, AddressRemoved{ID: id, UserID: a.UserID, Username: username, Email: a.Email, Stamp: as.Stamp(s.Now())})
	})
	return errs.Wrap(err, "delete address")
}

// mayAddress asks for the right to a user's addresses, zero being the actor, and says
// whose they are.
func (s *Service) mayAddress(ctx context.Context, as authz.Actor, user authz.UserID) (authz.UserID, string, error) {
	if user == 0 {
		return as.UserID, as.Username, s.Policy.Require(ctx, as, authz.UpdateOwnUser, authz.Subject{})
	}
	if err := s.Policy.Require(ctx, as, authz.AdminUsers, authz.Subject{}); err != nil {
		return 0, "", err
	}
	u, err := s.load(ctx, "u.id = ?", user)
	if err != nil {
		return 0, "", err
	}
	return user, u.Username, nil
}
