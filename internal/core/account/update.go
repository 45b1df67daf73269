package account

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
)

// Changes to an account; nil leaves alone.
type Changes struct {
	Email              *string // stays pending until it is confirmed, unless SkipReconfirmation
	SkipReconfirmation bool
	Username           *string
	Name               *string
	Password           *string // somebody else's must be changed at the next sign-on, unless KeepPassword
	KeepPassword       bool
	PublicEmail        *string // an address of the user's own that is confirmed, or ""
	CommitEmail        *string // the same, or PrivateCommitEmail

	Admin          *bool
	Auditor        *bool
	External       *bool
	PrivateProfile *bool
	CanCreateGroup *bool
	FileByFile     *bool
	ProjectsLimit  *int64
	ThemeID        *int64
	ColorSchemeID  *int64
	RunnerMinutes  Limit
	ExtraMinutes   Limit

	Bio, Location, Skype, LinkedIn, Twitter, Discord   *string
	WebsiteURL, Organization, JobTitle, Pronouns, Note *string

	Provider  string // with ExternUID: the account elsewhere, instead of the one there
	ExternUID string
}

// Limit is a change of a limit that may be taken away.
type Limit struct {
	Set   bool
	Value *int64 // nil inherits the instance's
}

// Update changes an account. Only administrators may. An address or username that
// somebody else has is NotFound with the reason, as the contract wants it; whatever else
// is wrong is Invalid with a map.
func (s *Service) Update(ctx context.Context, as authz.Actor, id authz.UserID, c Changes) (*User, error) {
	u, err := s.moderated(ctx, as, id)
	if err != nil {
		return nil, err
	}
	was := *u
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
	row := c.apply(u)
	set := c.set(row)
	if c.Password != nil {
		hash, err := s.Hasher.Hash(ctx, *c.Password)
		if err != nil {
			return nil, fmt.Errorf("hash password: %w", err)
		}
		set.Put("password_hash", hash)
		set.Put("password_expired", as.UserID != id && !c.KeepPassword)
		set.Put("failed_attempts", 0) // they were made at another password
		set.Put("locked_at", nil)
	}
	if set.Empty() && email == "" && c.Provider == "" {
		return u, as.Unmodified(ctx, s.DB, "SELECT updated_at FROM users WHERE id = ?", id)
	}
	set.Put("updated_at", s.Now())
	write := func(ctx context.Context) error {
		if err := as.Unmodified(ctx, s.DB, "SELECT updated_at FROM users WHERE id = ?", id); err != nil {
			return err
		}
		if was.Admin && !row.Admin {
			if err := s.notTheLast(ctx, id); err != nil {
				return err
			}
		}
		if _, err := s.DB.Exec(ctx, "UPDATE users"+set.SQL()+" WHERE id = ?", append(set.Args(), id)...); err != nil {
			return err
		}
		if row.NamespaceID != nil && (row.Username != was.Username || row.Name != was.Name) {
			if err := s.Places.Rename(ctx, *row.NamespaceID, row.Username, row.Name); err != nil {
				return err
			}
		}
		if email != "" {
			if err := s.readdress(ctx, id, email, addresses, c.SkipReconfirmation); err != nil {
				return err
			}
		}
		if c.Provider != "" {
			if err := s.identify(ctx, id, c.Provider, c.ExternUID); err != nil {
				return err
			}
		}
		s.forget(ctx, id)
		return s.Bus.Publish(ctx, UserUpdated{
			UserID: id, Username: row.Username, Was: was.Username, Promoted: row.Admin && !was.Admin,
			Demoted: was.Admin && !row.Admin, NewPassword: c.Password != nil, By: as,
		})
	}
	err = s.unique(ctx, func(ctx context.Context) error { return s.taken(ctx, &c, email, &was) },
		func() error { return s.DB.InTx(ctx, write) })
	if err != nil {
		return nil, fmt.Errorf("update user: %w", err)
	}
	return s.load(ctx, "u.id = ?", id)
}

func (s *Service) addresses(ctx context.Context, id authz.UserID) ([]emailRow, error) {
	list, err := db.Select[emailRow](ctx, s.DB, "SELECT "+db.Columns[emailRow]("e")+" FROM emails e WHERE e.user_id = ? ORDER BY e.id", id)
	if err != nil {
		return nil, fmt.Errorf("read addresses: %w", err)
	}
	return list, nil
}

// address gives the new primary address that the changes ask for, "" for none.
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

// taken refuses an address or username that somebody else has.
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
		return &errs.Error{Kind: errs.NotFound, Message: conflict.Message, Bare: true}
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

// apply gives the user as it will be, as far as others need to know it.
func (c *Changes) apply(u *User) *User {
	next := *u
	if c.Name != nil {
		next.Name = strings.TrimSpace(*c.Name)
	}
	next.Username = or(c.Username, u.Username)
	next.Admin = or(c.Admin, u.Admin)
	return &next
}

// set gives the columns that change.
func (c *Changes) set(next *User) *db.Set {
	set := &db.Set{}
	if c.Username != nil {
		set.Put("username", next.Username)
		set.Put("username_fold", db.Fold(next.Username))
	}
	if c.Name != nil {
		set.Put("name", next.Name)
		set.Put("name_fold", db.Fold(next.Name))
	}
	put(set, "public_email", lowered(c.PublicEmail))
	put(set, "commit_email", lowered(c.CommitEmail))
	put(set, "admin", c.Admin)
	put(set, "auditor", c.Auditor)
	put(set, "external", c.External)
	put(set, "private_profile", c.PrivateProfile)
	put(set, "can_create_group", c.CanCreateGroup)
	put(set, "view_diffs_file_by_file", c.FileByFile)
	put(set, "projects_limit", c.ProjectsLimit)
	put(set, "theme_id", c.ThemeID)
	put(set, "color_scheme_id", c.ColorSchemeID)
	if c.RunnerMinutes.Set {
		set.Put("shared_runners_minutes_limit", c.RunnerMinutes.Value)
	}
	if c.ExtraMinutes.Set {
		set.Put("extra_shared_runners_minutes_limit", c.ExtraMinutes.Value)
	}
	for _, text := range []struct {
		column string
		value  *string
	}{
		{"bio", c.Bio},
		{"location", c.Location},
		{"skype", c.Skype},
		{"linkedin", c.LinkedIn},
		{"twitter", c.Twitter},
		{"discord", c.Discord},
		{"website_url", c.WebsiteURL},
		{"organization", c.Organization},
		{"job_title", c.JobTitle},
		{"pronouns", c.Pronouns},
		{"note", c.Note},
	} {
		put(set, text.column, text.value)
	}
	return set
}

func put[T any](set *db.Set, column string, value *T) {
	if value != nil {
		set.Put(column, *value)
	}
}

func lowered(s *string) *string {
	if s == nil {
		return nil
	}
	low := strings.ToLower(*s)
	return &low
}

// readdress makes an address the primary one: at once where it is confirmed already or
// need not be, else it waits as pending. The address before stays with the user.
func (s *Service) readdress(ctx context.Context, id authz.UserID, email string, own []emailRow, atOnce bool) error {
	now := db.At(s.Now())
	row := emailRow{UserID: id, Email: email, EmailFold: db.Fold(email), CreatedAt: now, UpdatedAt: now}
	for _, e := range own {
		if e.EmailFold == row.EmailFold {
			row.ID, row.ConfirmedAt = e.ID, e.ConfirmedAt
		}
	}
	if _, err := s.DB.Exec(ctx, "DELETE FROM emails WHERE user_id = ? AND pending AND id <> ?", id, row.ID); err != nil {
		return err
	}
	if atOnce && row.ConfirmedAt == nil {
		row.ConfirmedAt = &now
	}
	row.Primary = row.ConfirmedAt != nil
	row.Pending = !row.Primary
	if row.Primary {
		if _, err := s.DB.Exec(ctx, "UPDATE emails SET is_primary = ?, updated_at = ? WHERE user_id = ? AND is_primary", false, now, id); err != nil {
			return err
		}
	}
	if row.ID != 0 {
		_, err := s.DB.Exec(ctx, "UPDATE emails SET is_primary = ?, pending = ?, confirmed_at = ?, updated_at = ? WHERE id = ?",
			row.Primary, row.Pending, row.ConfirmedAt, now, row.ID)
		return err
	}
	_, err := db.Insert(ctx, s.DB, "emails", row)
	return err
}
