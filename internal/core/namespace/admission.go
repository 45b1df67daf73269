package namespace

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
)

// The settings that say who may become a member.
const (
	settingMembershipLock = "membership_lock"
	settingEmailDomains   = "allowed_email_domains_list"
)

// admission is what the groups that a place is in ask of new members.
type admission struct {
	locked  bool
	domains [][]string // of each group that has a list
}

// admission reads what the groups above a place, and the place itself, ask of new members.
func (s *Service) admission(ctx context.Context, p authz.Place) (admission, error) {
	var out admission
	above, err := s.SettingsAbove(ctx, p.Namespace, settingMembershipLock, settingEmailDomains)
	for _, set := range above {
		out.locked = out.locked || set.MembershipLock && !p.Group
		if list := set.AllowedEmailDomainsList; list != nil && strings.TrimSpace(*list) != "" {
			domains, _ := parseDomains(*list)
			out.domains = append(out.domains, domains)
		}
	}
	return out, err
}

// open refuses new members where a group keeps its projects closed.
func (a *admission) open() error {
	if a.locked {
		return errs.Denied("A group that the project stands in takes no new members into its projects (" + settingMembershipLock + ")")
	}
	return nil
}

// takes reports whether each list has the domain of one of the addresses.
func (a *admission) takes(addresses []string) bool {
	return !slices.ContainsFunc(a.domains, func(domains []string) bool {
		return !slices.ContainsFunc(addresses, func(address string) bool {
			at := strings.LastIndexByte(address, '@')
			return slices.Contains(domains, strings.ToLower(address[at+1:]))
		})
	})
}

// admits refuses a new member that the groups above a place do not allow.
func (s *Service) admits(ctx context.Context, p authz.Place, u person) error {
	a, err := s.admission(ctx, p)
	if err != nil {
		return err
	}
	if err := a.open(); err != nil {
		return err
	}
	takes, err := s.takes(ctx, &a, u.ID)
	if err != nil || takes {
		return err
	}
	return errs.New(errs.Unprocessable, u.Username+" has no confirmed email address of a domain that the group allows ("+settingEmailDomains+")")
}

// admitsAddress is admits for an address that is invited.
func (s *Service) admitsAddress(ctx context.Context, p authz.Place, address string) error {
	a, err := s.admission(ctx, p)
	if err != nil {
		return err
	}
	if err := a.open(); err != nil {
		return err
	}
	if !a.takes([]string{address}) {
		return errs.New(errs.Unprocessable, address+" is not of a domain that the group allows ("+settingEmailDomains+")")
	}
	return nil
}

// takes reports whether a has the domain of one of the user's confirmed addresses.
func (s *Service) takes(ctx context.Context, a *admission, user authz.UserID) (bool, error) {
	if len(a.domains) == 0 {
		return true, nil
	}
	addresses, err := db.Select[string](ctx, s.DB, "SELECT email FROM emails WHERE user_id = ? AND confirmed_at IS NOT NULL ORDER BY email", user)
	if err != nil {
		return false, fmt.Errorf("addresses of new member: %w", err)
	}
	return a.takes(addresses), nil
}

// outsiders reports whether an invited group has members that the groups above the place do not allow.
func (s *Service) outsiders(ctx context.Context, p authz.Place, group ID) (bool, error) {
	a, err := s.admission(ctx, p)
	if err != nil || len(a.domains) == 0 {
		return false, err
	}
	for _, domains := range a.domains {
		mine, args := []string{"1 = 0"}, []any{group, s.today()}
		for _, domain := range domains {
			mine = append(mine, `e.email_fold LIKE ? ESCAPE '\'`)
			args = append(args, "%@"+db.LikePattern(db.Fold(domain)))
		}
		found, err := db.Get[bool](ctx, s.DB, `SELECT EXISTS (SELECT 1 FROM namespace_ancestors x JOIN members m ON m.namespace_id = x.ancestor_id
			JOIN users h ON h.id = m.user_id AND h.user_type = 'human' WHERE x.namespace_id = ? AND (m.expires_on IS NULL OR m.expires_on > ?)
			AND NOT EXISTS (SELECT 1 FROM emails e WHERE e.user_id = m.user_id AND e.confirmed_at IS NOT NULL AND (`+strings.Join(mine, " OR ")+")))", args...)
		if err != nil {
			return false, fmt.Errorf("members of invited group: %w", err)
		}
		if found {
			return true, nil
		}
	}
	return false, nil
}

var domainForm = regexp.MustCompile(`\A[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+\z`)

// parseDomains reads a list of domains with commas between them; ok is false where one is none.
func parseDomains(list string) (domains []string, ok bool) {
	ok = true
	for part := range strings.SplitSeq(list, ",") {
		domain := strings.TrimPrefix(strings.ToLower(strings.TrimSpace(part)), "@")
		switch {
		case domain == "":
		case domainForm.MatchString(domain):
			domains = append(domains, domain)
		default:
			ok = false
		}
	}
	return domains, ok
}

// SettingsAbove reads the settings of the groups that contain a namespace, the nearest first and itself included, that have one of
// the names. It asks for no permission.
func (s *Service) SettingsAbove(ctx context.Context, id ID, names ...string) ([]GroupSettings, error) {
	args := []any{id}
	likes := make([]string, len(names))
	for i, name := range names {
		likes[i] = "g.settings LIKE ?"
		args = append(args, `%"`+name+`":%`)
	}
	rows, err := db.Select[string](ctx, s.DB, `SELECT g.settings FROM namespace_ancestors a JOIN groups g ON g.namespace_id = a.ancestor_id
		WHERE a.namespace_id = ? AND (`+strings.Join(likes, " OR ")+") ORDER BY a.depth", args...)
	if err != nil {
		return nil, fmt.Errorf("settings of groups above: %w", err)
	}
	out := make([]GroupSettings, len(rows))
	for i, text := range rows {
		out[i] = (&Group{SettingsJSON: text}).Settings()
	}
	return out, nil
}
