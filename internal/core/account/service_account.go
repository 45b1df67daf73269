package account

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
)

// How many service accounts there may be.
const (
	maxServiceAccounts      = 10_000 // of the instance
	maxGroupServiceAccounts = 1_000  // of a group
)

// ServiceUser is a service account as its list has it.
type ServiceUser struct {
	ID          authz.UserID `db:"id"`
	Username    string       `db:"username"`
	Name        string       `db:"name"`
	Email       string       `db:"email"`
	Unconfirmed *string      `db:"unconfirmed_email"` // the address that waits for its confirmation, nil for none
	Powerful    bool         `db:"powerful"`          // an administrator or auditor
}

// ServiceInput is a new service account; what is empty is made up.
type ServiceInput struct {
	Name     string
	Username string
	Email    string
}

// ServiceChanges to a service account; nil leaves alone.
type ServiceChanges struct {
	Name     *string
	Username *string
	Email    *string
}

// ServiceFilter orders a list of service accounts, newest first unless it says otherwise.
type ServiceFilter struct {
	OrderBy string // id or username; "" is id
	Asc     bool
	page.Range
}

const (
	serviceColumns = `u.id, u.username, u.name, COALESCE(e.email, '') AS email, w.email AS unconfirmed_email, (u.admin OR u.auditor) AS powerful`
	serviceTables  = usersTables + " LEFT JOIN emails w ON w.user_id = u.id AND w.pending"
)

var serviceOrders = page.Orders{
	"":         {page.ID("u.id")},
	"username": {page.Text("username", "u.username_fold"), page.ID("u.id")},
}

// ofGroup selects the service accounts u of a group, or with 0 those of the instance.
func ofGroup(alias string, group authz.NamespaceID) db.Where {
	var w db.Where
	w.And(alias+"user_type = ?", ServiceAccount)
	if group == 0 {
		w.Raw(alias + "provisioned_by_group_id IS NULL")
	} else {
		w.And(alias+"provisioned_by_group_id = ?", group)
	}
	return w
}

// ServiceAccounts lists the service accounts of a group, or with 0 those of the instance. It asks for no permission.
func (s *Service) ServiceAccounts(ctx context.Context, group authz.NamespaceID, f ServiceFilter) (page.Page[ServiceUser], error) {
	order := serviceOrders.By(strings.TrimPrefix(f.OrderBy, "id"))
	if !f.Asc {
		order = order.Desc()
	}
	list, err := page.Select[ServiceUser](ctx, s.DB, page.Query{
		Columns: serviceColumns, From: serviceTables, Where: ofGroup("u.", group), Order: order,
	}, f.Range)
	return list, errs.Wrap(err, "list service accounts")
}

// ServiceAccount finds one of ServiceAccounts; all other users are missing. It asks for no permission.
func (s *Service) ServiceAccount(ctx context.Context, group authz.NamespaceID, id authz.UserID) (*ServiceUser, error) {
	w := ofGroup("u.", group)
	w.And("u.id = ?", id)
	u, err := db.Get[ServiceUser](ctx, s.DB, "SELECT "+serviceColumns+" FROM "+serviceTables+w.SQL(), w.Args()...)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.Missing("User")
	}
	if err != nil {
		return nil, fmt.Errorf("read service account: %w", err)
	}
	return &u, nil
}

// CreateServiceAccount makes a service account of a group, or with 0 one of the instance. It is an external user without a password. An
// address that is sent waits to be confirmed, so that the creator of the account does not receive what others send to that address;
// where the instance confirms none, an administrator's is taken at once. It asks for no permission. A value that is taken, or is no value, is a BadRequest.
func (s *Service) CreateServiceAccount(ctx context.Context, as authz.Actor, group authz.NamespaceID, in ServiceInput) (*ServiceUser, error) {
	prefix, most := "service_account_", maxServiceAccounts
	if group != 0 {
		prefix, most = fmt.Sprintf("service_account_group_%d_", group), maxGroupServiceAccounts
	}
	random := make([]byte, 16)
	if _, err := rand.Read(random); err != nil {
		return nil, fmt.Errorf("name of service account: %w", err)
	}
	name := prefix + hex.EncodeToString(random)
	none, no, yes := int64(0), false, true
	user := Input{
		Username: in.Username, Name: in.Name, Email: name + "@noreply." + s.URLs.Host(), ForceRandomPassword: true,
		ProjectsLimit: &none, CanCreateGroup: &no, External: &yes, PrivateProfile: &no,
	}
	user.normalize()
	if user.Username == "" {
		user.Username = name
	}
	if user.Name == "" {
		user.Name = "Service account user"
	}
	email := strings.ToLower(strings.TrimSpace(in.Email))
	var f errs.Fields
	if email != "" {
		checkEmail(&f, "email", email)
	}
	if err := errors.Join(f.Err(), user.validate(s.Settings.Current())); err != nil {
		return nil, badRequest(err)
	}
	look := func(ctx context.Context) error { return badRequest(s.conflicts(ctx, email, user.Username, 0)) }
	if err := look(ctx); err != nil {
		return nil, err
	}
	full := errs.New(errs.Unprocessable, fmt.Sprintf("Maximum number of service accounts (%d) exceeded", most))
	bound := db.Bound{Table: "users", Of: ofGroup("", group), Most: most, Full: full}
	row := s.row(as, &user)
	row.Type = ServiceAccount
	if group != 0 {
		row.ProvisionedBy = &group
	}
	var id authz.UserID
	err := s.unique(ctx, look, func() error {
		return s.DB.InTx(ctx, func(ctx context.Context) error {
			var err error
			if id, err = s.insert(ctx, as, row, &user, true, bound); err != nil || email == "" {
				return err
			}
			own, err := s.addresses(ctx, id)
			if err != nil {
				return err
			}
			_, err = s.readdress(ctx, id, email, own, s.trusts(as))
			return err
		})
	})
	if err != nil {
		return nil, errs.Wrap(err, "create service account")
	}
	return s.ServiceAccount(ctx, group, id)
}

// trusts reports whether an address that the actor sets for another account needs no confirmation.
func (s *Service) trusts(as authz.Actor) bool {
	return as.Admin && s.Settings.Current().EmailConfirmationSetting == "off"
}

// UpdateServiceAccount changes a service account of a group, or with 0 one of the instance. It asks for no permission.
func (s *Service) UpdateServiceAccount(ctx context.Context, as authz.Actor, group authz.NamespaceID, id authz.UserID, c ServiceChanges) (*ServiceUser, error) {
	if _, err := s.ServiceAccount(ctx, group, id); err != nil {
		return nil, err
	}
	u, err := s.load(ctx, "u.id = ?", id)
	if err != nil {
		return nil, err
	}
	if _, err := s.update(ctx, as, u, Changes{Name: c.Name, Username: c.Username, Email: c.Email, SkipReconfirmation: s.trusts(as)}); err != nil {
		return nil, badRequest(err)
	}
	return s.ServiceAccount(ctx, group, id)
}

// RemoveServiceAccount is Delete for a service account of a group, or with 0 for one of the instance. It asks for no permission.
func (s *Service) RemoveServiceAccount(ctx context.Context, as authz.Actor, group authz.NamespaceID, id authz.UserID, how Removal) error {
	if _, err := s.ServiceAccount(ctx, group, id); err != nil {
		return err
	}
	u, err := s.load(ctx, "u.id = ?", id)
	if err != nil {
		return err
	}
	return s.dismiss(ctx, as, u, how.Hard)
}

// BarServiceAccounts blocks all service accounts of a group, in the caller's transaction and in one statement. It reports whether there is any.
func (s *Service) BarServiceAccounts(ctx context.Context, group authz.NamespaceID) (bool, error) {
	ids, err := db.Select[authz.UserID](ctx, s.DB, "UPDATE users SET state = ?, updated_at = ? WHERE user_type = ? AND provisioned_by_group_id = ? RETURNING id",
		Blocked, db.At(s.Now()), ServiceAccount, group)
	if err != nil {
		return false, fmt.Errorf("block service accounts: %w", err)
	}
	for _, id := range ids {
		s.forget(ctx, id)
	}
	return len(ids) > 0, nil
}

// badRequest makes what is wrong with a service account a BadRequest in one sentence, as the contract has it.
func badRequest(err error) error {
	var e *errs.Error
	switch {
	case !errors.As(err, &e):
		return err
	case e.Kind == errs.Conflict:
		return errs.Bad(e.Message)
	case e.Kind != errs.Invalid:
		return err
	}
	var list []string
	for _, f := range e.Fields {
		for _, message := range f.Messages {
			if f.Name == "base" {
				list = append(list, message)
				continue
			}
			list = append(list, strings.ToUpper(f.Name[:1])+f.Name[1:]+" "+message)
		}
	}
	return errs.Bad(strings.Join(list, ", "))
}
