package account

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
)

// Changes to an account; nil leaves alone. What has a tag is stored in its column.
type Changes struct {
	Email              *string // stays pending until it is confirmed, unless SkipReconfirmation
	SkipReconfirmation bool
	Username           *string `db:"username"`
	Name               *string
	Password           *string // another user's must be changed at the next sign-on, unless KeepPassword
	KeepPassword       bool
	PublicEmail        *string // an address of the user's own that is confirmed, or ""
	CommitEmail        *string // the same, or PrivateCommitEmail

	Admin          *bool  `db:"admin"`
	Auditor        *bool  `db:"auditor"`
	External       *bool  `db:"external"`
	PrivateProfile *bool  `db:"private_profile"`
	CanCreateGroup *bool  `db:"can_create_group"`
	FileByFile     *bool  `db:"view_diffs_file_by_file"`
	ProjectsLimit  *int64 `db:"projects_limit"`
	ThemeID        *int64 `db:"theme_id"`
	ColorSchemeID  *int64 `db:"color_scheme_id"`
	RunnerMinutes  Limit
	ExtraMinutes   Limit

	Bio          *string `db:"bio"`
	Location     *string `db:"location"`
	Skype        *string `db:"skype"`
	LinkedIn     *string `db:"linkedin"`
	Twitter      *string `db:"twitter"`
	Discord      *string `db:"discord"`
	WebsiteURL   *string `db:"website_url"`
	Organization *string `db:"organization"`
	JobTitle     *string `db:"job_title"`
	Pronouns     *string `db:"pronouns"`
	Note         *string `db:"note"`

	Provider  string // with ExternUID: the account elsewhere, instead of the one there
	ExternUID string
}

// Limit is a change of a limit that may be taken away.
type Limit struct {
	Set   bool
	Value *int64 // nil inherits the instance's
}

// Update changes an account. Only administrators may. An address or username that
// another user has is NotFound with the reason, as the contract wants it; whatever else
// is wrong is Invalid with a map.
func (s *Service) Update(ctx context.Context, as authz.Actor, id authz.UserID, c Changes) (*User, error) {
	u, err := s.moderated(ctx, as, id)
	if err != nil {
		return nil, err
	}
	return s.update(ctx, as, u, c)
}

// update is Update for callers in core, which have asked.
func (s *Service) update(ctx context.Context, as authz.Actor, u *User, c Changes) (*User, error) {
	id := u.ID
	addresses, err := s.addresses(ctx, id)
	if err != nil {
		return nil, err
	}
	email := c.address(u)
	if err := s.taken(ctx, &c, email, u); err != nil {
		return nil, err
	}
	if err := s.checkChanges(&c, u, email, addresses); err != nil {
		return nil, err
	}
	hash := ""
	if c.Password != nil {
		if hash, err = s.Hasher.Hash(ctx, *c.Password); err != nil {
			return nil, fmt.Errorf("hash password: %w", err)
		}
	}
	err = s.unique(ctx, func(ctx context.Context) error { return s.taken(ctx, &c, email, u) }, func() error {
		return s.DB.InTx(ctx, func(ctx context.Context) error {
			out, err := s.change(ctx, s.userAt(id).Provided(as.UnmodifiedAt), func(ctx context.Context, row *userRow) error {
				// As they are now: one may have been deleted since the first look.
				var err error
				if addresses, err = s.addresses(ctx, id); err != nil {
					return err
				}
				if err := s.checkChanges(&c, u, email, addresses); err != nil {
					return err
				}
				c.apply(&row.User)
				if c.Password != nil {
					row.choose(hash, !as.Is(id) && !c.KeepPassword)
				}
				if email != "" || c.Provider != "" {
					row.UpdatedAt = db.At(s.Now())
				}
				return nil
			})
			if err != nil || !out.Any() && email == "" && c.Provider == "" {
				return err
			}
			s.forget(ctx, id)
			was, row := &out.Before, &out.After
			if row.Email, err = s.changeBeside(ctx, id, &c, email, addresses); err != nil {
				return err
			}
			for _, a := range addresses {
				if a.Primary {
					was.Email = a.Email
				}
			}
			row.Email = cmp.Or(row.Email, was.Email)
			return s.Bus.Publish(ctx, UserUpdated{
				Of: change.Between(as, s.Now(), authz.Place{}, &was.User, &row.User), Promoted: row.Admin && !was.Admin,
				Demoted: was.Admin && !row.Admin, NewPassword: c.Password != nil,
			})
		})
	})
	if err != nil {
		return nil, errs.Wrap(err, "update user")
	}
	return s.load(ctx, "u.id = ?", id)
}

// choose sets another password.
func (r *userRow) choose(hash string, expired bool) {
	r.PasswordHash, r.PasswordExpired = hash, expired
	r.FailedAttempts, r.LockedAt = 0, nil // they were made at another password
}

// changeBeside writes what an update changes in other rows than the user's. It returns the primary address where that is another one.
func (s *Service) changeBeside(ctx context.Context, id authz.UserID, c *Changes, email string, addresses []emailRow) (primary string, err error) {
	if email != "" {
		if primary, err = s.readdress(ctx, id, email, addresses, c.SkipReconfirmation); err != nil {
			return "", err
		}
	}
	if c.Provider != "" {
		if err := s.identify(ctx, id, c.Provider, c.ExternUID); err != nil {
			return "", err
		}
	}
	if c.Password != nil {
		return primary, s.dropLink(ctx, id)
	}
	return primary, nil
}

// userAt names the row of a user for db.Update.
func (s *Service) userAt(id authz.UserID) db.Row {
	return db.Row{Table: "users", ID: id, Now: s.Now, Missing: errs.Missing("User")}
}

// lock locks the row of a user until the transaction of ctx ends. It comes before the locks of
// the last administrator, of addresses and of groups: one order keeps transactions from
// deadlocks. A user who is gone is not found.
func (s *Service) lock(ctx context.Context, id authz.UserID) error {
	_, err := db.ForUpdate[userRow](ctx, s.DB, s.userAt(id))
	return errs.Wrap(err, "lock user")
}

// change is db.Update for a user, which keeps the namespace and the cache in step, and an
// administrator in office. A user who is gone is not found.
func (s *Service) change(ctx context.Context, at db.Row, change func(ctx context.Context, row *userRow) error) (db.Change[userRow], error) {
	out, err := db.Update(ctx, s.DB, at, func(ctx context.Context, row *userRow) error {
		was := row.User
		if err := change(ctx, row); err != nil {
			return err
		}
		if was.Admin && (!row.Admin || was.State != row.State && row.State != Active) {
			if err := s.notTheLast(ctx, row.ID); err != nil {
				return err
			}
		}
		if row.NamespaceID != nil && (row.Username != was.Username || row.Name != was.Name) {
			return s.Places.Rename(ctx, *row.NamespaceID, row.Username, row.Name)
		}
		return nil
	})
	if err == nil && out.Any() {
		s.forget(ctx, out.After.ID)
	}
	return out, err
}

func (s *Service) addresses(ctx context.Context, id authz.UserID) ([]emailRow, error) {
	list, err := db.Select[emailRow](ctx, s.DB, "SELECT "+db.Columns[emailRow]("e")+" FROM emails e WHERE e.user_id = ? ORDER BY e.id", id)
	if err != nil {
		return nil, fmt.Errorf("read addresses: %w", err)
	}
	return list, nil
}

// address returns the new primary address that the changes ask for, "" for none.
func (c *Changes) address(u *User) string {
	if c.Email == nil {
		return ""
	}
	email := strings.ToLower(strings.TrimSpace(*c.Email))
	if email == u.Email {
		return ""
	}
	return email
}

// CodeTaken is a change of a user to an address or username of another one.
const CodeTaken errs.Code = "user_change_taken"

// taken refuses an address or username that another user has.
func (s *Service) taken(ctx context.Context, c *Changes, email string, u *User) error {
	username := ""
	if c.Username != nil && !strings.EqualFold(*c.Username, u.Username) {
		username = *c.Username
	}
	if email == "" && username == "" {
		return nil
	}
	err := s.conflicts(ctx, email, username, u.ID)
	var conflict *errs.Error
	if errors.As(err, &conflict) && conflict.Kind == errs.Conflict {
		return errs.Coded(errs.Conflict, CodeTaken, conflict.Message)
	}
	return err
}

// checkChanges collects everything that is wrong with the form of the changes.
func (s *Service) checkChanges(c *Changes, u *User, email string, own []emailRow) error {
	var f errs.Fields
	if c.Email != nil && (email != "" || strings.TrimSpace(*c.Email) == "") {
		checkEmail(&f, "email", email)
	}
	name := u.Name
	if c.Name != nil {
		name = strings.TrimSpace(*c.Name)
		checkName(&f, name)
	}
	if c.Username != nil && *c.Username != u.Username {
		for _, problem := range usernameProblems(*c.Username) {
			f.Add("username", problem)
		}
	}
	if c.Password != nil {
		checkPassword(&f, s.Settings.Current(), *c.Password, or(c.Username, u.Username), name, u.Email)
	}
	verified := func(address string) bool {
		return slices.ContainsFunc(own, func(e emailRow) bool { return e.ConfirmedAt != nil && e.EmailFold == db.Fold(address) })
	}
	const unverified = "must be an email you have verified"
	f.Check(c.PublicEmail == nil || *c.PublicEmail == "" || verified(*c.PublicEmail), "public_email", unverified)
	f.Check(c.CommitEmail == nil || *c.CommitEmail == "" || *c.CommitEmail == PrivateCommitEmail || verified(*c.CommitEmail),
		"commit_email", unverified)
	details := Details{
		Bio: or(c.Bio, ""), Location: c.Location, Skype: or(c.Skype, ""), LinkedIn: or(c.LinkedIn, ""), Twitter: or(c.Twitter, ""),
		Discord: or(c.Discord, ""), WebsiteURL: or(c.WebsiteURL, ""), Organization: or(c.Organization, ""),
		JobTitle: or(c.JobTitle, ""), Pronouns: c.Pronouns, Note: c.Note,
	}
	details.check(&f)
	checkNumbers(&f, c.ProjectsLimit, c.ThemeID, c.ColorSchemeID)
	checkMinutes(&f, c.RunnerMinutes.Value, c.ExtraMinutes.Value)
	return f.Err()
}

// apply sets what the changes hold, but for the address and the password.
func (c *Changes) apply(u *User) {
	db.Assign(u, c)
	if c.Name != nil {
		u.Name = strings.TrimSpace(*c.Name)
	}
	if c.PublicEmail != nil {
		u.PublicEmail = strings.ToLower(*c.PublicEmail)
	}
	if c.CommitEmail != nil {
		u.CommitEmail = strings.ToLower(*c.CommitEmail)
	}
	if c.RunnerMinutes.Set {
		u.RunnerMinutes = c.RunnerMinutes.Value
	}
	if c.ExtraMinutes.Set {
		u.ExtraMinutes = c.ExtraMinutes.Value
	}
}

// readdress makes an address the primary one: at once where it is confirmed already or
// need not be, else it waits as pending and the result is "". The address before stays with the user.
func (s *Service) readdress(ctx context.Context, id authz.UserID, email string, own []emailRow, atOnce bool) (primary string, err error) {
	now := db.At(s.Now())
	row := emailRow{UserID: id, Email: email, EmailFold: db.Fold(email), CreatedAt: now, UpdatedAt: now}
	for _, e := range own {
		if e.EmailFold == row.EmailFold {
			row.ID, row.ConfirmedAt = e.ID, e.ConfirmedAt
		}
	}
	if _, err := s.DB.Exec(ctx, "DELETE FROM emails WHERE user_id = ? AND pending AND id <> ?", id, row.ID); err != nil {
		return "", err
	}
	if atOnce && row.ConfirmedAt == nil {
		row.ConfirmedAt = &now
	}
	row.Primary = row.ConfirmedAt != nil
	row.Pending = !row.Primary
	if row.Primary {
		primary = row.Email
		if _, err := s.DB.Exec(ctx, "UPDATE emails SET is_primary = ?, updated_at = ? WHERE user_id = ? AND is_primary", false, now, id); err != nil {
			return "", err
		}
	}
	if row.ID != 0 {
		_, err := s.DB.Exec(ctx, "UPDATE emails SET is_primary = ?, pending = ?, confirmed_at = ?, updated_at = ? WHERE id = ?",
			row.Primary, row.Pending, row.ConfirmedAt, now, row.ID)
		return primary, err
	}
	return primary, db.Create(ctx, s.DB, "emails", &row)
}

// stateChanged is what the event of a change of state says.
func stateChanged(as authz.Actor, c *db.Change[userRow], at time.Time) UserStateChanged {
	return UserStateChanged{change.Between(as, at, authz.Place{}, &c.Before.User, &c.After.User)}
}
