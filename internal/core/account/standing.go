package account

import (
	"tenon/internal/base/errs"
)

// Standing is the part of a user that every request needs.
type Standing struct {
	Username        string  `db:"username"`
	State           State   `db:"state"`
	Type            Type    `db:"user_type"`
	Admin           bool    `db:"admin"`
	Auditor         bool    `db:"auditor"`
	External        bool    `db:"external"`
	PasswordExpired bool    `db:"password_expired"`
	Confirmed       bool    `db:"confirmed"`
	LastActivityOn  *string `db:"last_activity_on"`
}

// StandingColumns reads a Standing of users u with their primary emails e.
const StandingColumns = `u.username, u.state, u.user_type, u.admin, u.auditor, u.external, u.password_expired,
	u.last_activity_on, (e.confirmed_at IS NOT NULL OR e.id IS NULL) AS confirmed`

// Barred says why an account may not act at all, nil where it may.
func (s *Service) Barred(a *Standing) error {
	switch {
	case a.Type == Internal || a.Type == Ghost:
		return errs.Denied("This action cannot be performed by internal users")
	case a.State == PendingApproval:
		return errs.Denied("Your account is pending approval from your administrator and hence blocked.")
	case a.State == Deactivated:
		return errs.Denied("Your account has been deactivated by your administrator. " +
			"Please log back in from a web browser to reactivate your account at " + s.URLs.Root())
	case a.State != Active:
		return errs.Denied("Your account has been blocked.")
	case !a.Confirmed && a.Type == Human && s.Settings.Current().EmailConfirmationSetting == "hard":
		return errs.Denied("Your primary email address is not confirmed. " +
			"Follow the link in the message sent to it, or ask for another one at " + s.URLs.Confirmation())
	case a.PasswordExpired && a.Type == Human:
		return errs.Denied("Your password expired. Please access GitLab from a web browser to update your password.")
	}
	return nil
}
