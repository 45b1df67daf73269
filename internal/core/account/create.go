package account

import (
	"context"
	"errors"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
)

// userRow is a user as the table has it, with what no read hands out.
type userRow struct {
	User
	PasswordHash  string   `db:"password_hash"`    // "" allows no password
	OwnDeletionAt *db.Time `db:"self_deletion_at"` // when the user asked for it, while that is still to come
}

// emailRow is one address of a user.
type emailRow struct {
	ID          int64        `db:"id"`
	UserID      authz.UserID `db:"user_id"`
	Email       string       `db:"email"`
	EmailFold   string       `db:"email_fold"`
	Primary     bool         `db:"is_primary"`
	Pending     bool         `db:"pending"`
	ConfirmedAt *db.Time     `db:"confirmed_at"`
	CreatedAt   db.Time      `db:"created_at"`
	UpdatedAt   db.Time      `db:"updated_at"`
}

// Create makes a person with a namespace of the same name. Only administrators may. An
// address or username that is taken is a Conflict, all else that is wrong with the input
// Invalid with a map.
func (s *Service) Create(ctx context.Context, as authz.Actor, in Input) (*User, error) {
	if err := s.Policy.Require(ctx, as, authz.AdminUsers, authz.Subject{}); err != nil {
		return nil, err
	}
	set := s.Settings.Current()
	in.normalize()
	invalid := in.validate(set)
	if err := s.conflicts(ctx, in.Email, in.Username, 0); err != nil {
		return nil, err
	}
	if invalid != nil {
		return nil, invalid
	}
	row := s.row(as, &in)
	if !in.ForceRandomPassword && !in.ResetPassword {
		hash, err := s.Hasher.Hash(ctx, in.Password)
		if err != nil {
			return nil, fmt.Errorf("hash password: %w", err)
		}
		row.PasswordHash = hash
	}
	confirmed := in.SkipConfirmation || set.EmailConfirmationSetting == "off"
	var id authz.UserID
	err := s.unique(ctx, func(ctx context.Context) error {
		return s.conflicts(ctx, in.Email, in.Username, 0)
	}, func() error {
		var err error
		id, err = s.insert(ctx, as, row, &in, confirmed)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("create user: %w", err)
	}
	if row.PasswordHash == "" {
		s.Log.WarnContext(ctx, "user has no password and no mail is sent: hand over a one-time link",
			"user", in.Username, "command", "tenon admin user link "+in.Username)
	}
	return s.load(ctx, "u.id = ?", id)
}

// unique runs a write whose unique values were looked for before. Where a user was
// quicker it looks again, in a transaction, because the quicker write may not be seen
// outside of one yet, and answers with what look says; where that write was undone it
// tries once more.
func (s *Service) unique(ctx context.Context, look func(ctx context.Context) error, write func() error) error {
	var err error
	for range 3 {
		if err = write(); !errors.Is(err, db.ErrDuplicate) {
			return err
		}
		if err := s.DB.InTx(ctx, look); err != nil {
			return err
		}
	}
	return err
}

// row makes the user of a valid input.
func (s *Service) row(as authz.Actor, in *Input) *userRow {
	set, now := s.Settings.Current(), db.At(s.Now())
	row := &userRow{}
	row.User = User{
		Username: in.Username, Name: in.Name, State: Active, Type: Human, Admin: in.Admin, CreatedAt: now,
		Profile: Profile{
			Auditor:        in.Auditor,
			External:       in.external(set),
			PrivateProfile: or(in.PrivateProfile, set.UserDefaultsToPrivateProfile && set.MakeProfilePrivate),
			Bio:            in.Bio, Location: in.Location, Skype: in.Skype, LinkedIn: in.LinkedIn, Twitter: in.Twitter,
			Discord: in.Discord, WebsiteURL: in.WebsiteURL, Organization: in.Organization, JobTitle: in.JobTitle,
			Pronouns: in.Pronouns, Note: in.Note,
			ThemeID:        or(in.ThemeID, 1),
			ColorSchemeID:  or(in.ColorSchemeID, int64(set.DefaultSyntaxHighlightingTheme)),
			ProjectsLimit:  or(in.ProjectsLimit, int64(set.DefaultProjectsLimit)),
			CanCreateGroup: or(in.CanCreateGroup, set.CanCreateGroup),
			FileByFile:     or(in.FileByFile, false),
			ShowWhitespace: true,
			RunnerMinutes:  in.RunnerMinutes, ExtraMinutes: in.ExtraMinutes,
			UpdatedAt: now,
		},
	}
	if as.SignedIn() {
		row.CreatedByID = &as.UserID
	}
	return row
}

func or[T any](given *T, otherwise T) T {
	if given == nil {
		return otherwise
	}
	return *given
}

// insert writes the user with address, namespace and identity in one transaction.
func (s *Service) insert(ctx context.Context, as authz.Actor, row *userRow, in *Input, confirmed bool, bounds ...db.Bound) (authz.UserID, error) {
	var id authz.UserID
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := db.Create(ctx, s.DB, "users", row, bounds...); err != nil {
			return err
		}
		id = row.ID
		mail := emailRow{
			UserID: id, Email: in.Email, EmailFold: db.Fold(in.Email), Primary: true,
			CreatedAt: row.CreatedAt, UpdatedAt: row.CreatedAt,
		}
		if confirmed {
			mail.ConfirmedAt = &row.CreatedAt
		}
		if err := db.Create(ctx, s.DB, "emails", &mail); err != nil {
			return err
		}
		if err := s.settle(ctx, id, in.Username, in.Name); err != nil {
			return err
		}
		if in.Provider != "" {
			if err := s.identify(ctx, id, in.Provider, in.ExternUID); err != nil {
				return err
			}
		}
		u, err := s.load(ctx, "u.id = ?", id)
		if err != nil {
			return err
		}
		return s.Bus.Publish(ctx, UserCreated{Of: change.Created(as, s.Now(), authz.Place{}, u), ResetPassword: in.ResetPassword})
	})
	return id, err
}

// settle gives a user a namespace.
func (s *Service) settle(ctx context.Context, id authz.UserID, path, name string) error {
	ns, err := s.Places.CreatePersonal(ctx, id, path, name)
	if err != nil {
		return err
	}
	_, err = s.DB.Exec(ctx, "UPDATE users SET namespace_id = ? WHERE id = ?", ns, id)
	return err
}

// identify records the user's account with another provider.
func (s *Service) identify(ctx context.Context, id authz.UserID, provider, uid string) error {
	type row struct {
		Identity
		CreatedAt db.Time `db:"created_at"`
	}
	taken, err := db.Get[bool](ctx, s.DB, "SELECT EXISTS (SELECT 1 FROM identities WHERE provider = ? AND extern_uid = ? AND user_id <> ?)",
		provider, uid, id)
	if err != nil {
		return err
	}
	if taken {
		var f errs.Fields
		f.Add("identities.extern_uid", "has already been taken")
		return f.Err()
	}
	_, err = db.InsertRow(ctx, s.DB, "identities", row{Identity{id, provider, uid}, db.At(s.Now())},
		"ON CONFLICT (user_id, provider) DO UPDATE SET extern_uid = excluded.extern_uid")
	return err
}

// conflicts answers with the contract's conflict where another user has the address or
// the username, and with Invalid where a group has the path. Empty values are not looked
// up; except is the user who may have them.
func (s *Service) conflicts(ctx context.Context, email, username string, except authz.UserID) error {
	type found struct {
		Email bool `db:"email"`
		Name  bool `db:"name"`
		Place bool `db:"place"`
	}
	got, err := db.Get[found](ctx, s.DB, `SELECT
		EXISTS (SELECT 1 FROM emails WHERE email_fold = ? AND user_id <> ? AND (is_primary OR confirmed_at IS NOT NULL)) AS email,
		EXISTS (SELECT 1 FROM users WHERE username_fold = ? AND id <> ?) AS name,
		EXISTS (SELECT 1 FROM routes r JOIN namespaces n ON n.id = r.namespace_id WHERE r.path_fold = ? AND n.kind <> 'user') AS place`,
		db.Fold(email), except, db.Fold(username), except, db.Fold(username))
	switch {
	case err != nil:
		return fmt.Errorf("look for conflicts: %w", err)
	case got.Email:
		return errs.New(errs.Conflict, "Email has already been taken")
	case got.Name:
		return errs.New(errs.Conflict, "Username has already been taken")
	case got.Place:
		var f errs.Fields
		f.Add("base", "A user, alias, or group already exists with that username.")
		return f.Err()
	}
	return nil
}
