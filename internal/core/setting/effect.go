package setting

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	"tenon/internal/base/errs"
	"tenon/internal/base/secret"
	"tenon/internal/core/ciconfig"
)

// AllowsIntegration reports whether integrations of a kind act, by its slug, such as emails-on-push. The settings name it emails_on_push.
func (s *Settings) AllowsIntegration(slug string) bool {
	return s.AllowAllIntegrations || slices.Contains(s.AllowedIntegrations, integrationName(slug))
}

// knowsIntegrations reports whether the allowed integrations are all among those with some slugs.
func (s *Settings) knowsIntegrations(slugs []string) bool {
	for _, name := range s.AllowedIntegrations {
		if !slices.ContainsFunc(slugs, func(slug string) bool { return integrationName(slug) == name }) {
			return false
		}
	}
	return true
}

// integrationName is how the settings name a kind of integrations.
func integrationName(slug string) string { return strings.ReplaceAll(slug, "-", "_") }

// Branch returns the name a new repository's first branch gets.
func (s *Settings) Branch() string {
	if s.DefaultBranchName == nil || *s.DefaultBranchName == "" {
		return "main"
	}
	return *s.DefaultBranchName
}

// ArchiveAge is how old jobs are that are not run again; ok is false where none is too old.
func (s *Settings) ArchiveAge() (age time.Duration, ok bool) {
	if s.ArchiveBuilds == nil || len(*s.ArchiveBuilds) > 255 {
		return 0, false
	}
	age, ok = ciconfig.ParseDuration(*s.ArchiveBuilds)
	return age, ok && age >= 24*time.Hour
}

// PipelineAge is the longest age after which a project may have its pipelines deleted.
func (s *Settings) PipelineAge() time.Duration {
	age, ok := ciconfig.ParseDuration(s.CIDeletePipelinesInSecondsLimitHumanReadable)
	if !ok {
		age, _ = ciconfig.ParseDuration("1 year")
	}
	return age
}

// Writable is nil unless maintenance mode is on: then nothing is changed, and the error has its message.
func (s *Store) Writable() error {
	set := s.Current()
	if !set.MaintenanceMode {
		return nil
	}
	message := "This instance is in maintenance mode"
	if own := set.MaintenanceModeMessage; own != nil && *own != "" {
		message = *own
	}
	return &errs.Error{Kind: errs.Unavailable, Code: CodeMaintenance, Message: message}
}

// Searchable is nil unless the settings keep users who are not signed in from searching the instance.
func (s *Store) Searchable(signedIn bool) error {
	if signedIn || s.Current().AnonymousSearchesAllowed {
		return nil
	}
	return errs.New(errs.Unauthorized, "")
}

// CodeMaintenance is the code of what is refused in maintenance mode.
const CodeMaintenance errs.Code = "maintenance"

// TokenPrefix returns what a token begins with whose type has a prefix of its own.
func (s *Settings) TokenPrefix(of string) string {
	if s.InstanceTokenPrefix == "" {
		return of
	}
	return s.InstanceTokenPrefix + "-" + of
}

// AccessTokenPrefix returns what access tokens of users, projects and groups begin with. The prefix of the instance
// replaces the one that is set for them.
func (s *Settings) AccessTokenPrefix() string {
	if s.InstanceTokenPrefix == "" {
		return s.PersonalAccessTokenPrefix
	}
	return s.TokenPrefix(secret.AccessTokenPrefix)
}

// CloneRoot is where repositories are cloned from over HTTP, without a trailing slash; "" is the URL of the instance.
func (s *Settings) CloneRoot() string {
	if s.CustomHTTPCloneURLRoot == nil {
		return ""
	}
	return strings.TrimRight(*s.CustomHTTPCloneURLRoot, "/")
}

// parse reads what is compared with every request.
func (s *Settings) parse() { s.everywhere, _ = prefixes(s.GloballyAllowedIPs) }

// AllowsEverywhere reports whether an address is one of those that no group shuts out.
func (s *Settings) AllowsEverywhere(address string) bool {
	if len(s.everywhere) == 0 {
		return false
	}
	from, err := netip.ParseAddr(address)
	return err == nil && slices.ContainsFunc(s.everywhere, func(p netip.Prefix) bool { return p.Contains(from.Unmap().WithZone("")) })
}

// prefixes reads addresses and networks with commas between them; ok is false where one is neither.
func prefixes(list string) (out []netip.Prefix, ok bool) {
	ok = true
	for part := range strings.SplitSeq(list, ",") {
		text := strings.TrimSpace(part)
		if text == "" {
			continue
		}
		prefix, err := netip.ParsePrefix(text)
		if addr, single := netip.ParseAddr(text); single == nil {
			addr = addr.Unmap().WithZone("")
			prefix, err = addr.Prefix(addr.BitLen())
		}
		if err != nil {
			ok = false
			continue
		}
		out = append(out, prefix.Masked())
	}
	return out, ok
}

// mostLevels is how many access levels DefaultBranchProtectionDefaults names for an action.
const mostLevels = 10

// validProtection reports whether a value has the form of DefaultBranchProtectionDefaults.
func validProtection(value map[string]any) bool {
	for name, part := range value {
		switch name {
		case "allow_force_push", "developer_can_initial_push":
			if _, ok := part.(bool); !ok {
				return false
			}
		case "allowed_to_push", "allowed_to_merge":
			list, ok := part.([]any)
			if !ok || len(list) > mostLevels || slices.ContainsFunc(list, func(one any) bool { return !validLevel(one) }) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// validLevel reports whether a value is an object with an access level alone.
func validLevel(value any) bool {
	object, ok := value.(map[string]any)
	level, number := object["access_level"].(float64)
	return ok && number && len(object) == 1 && slices.Contains([]float64{0, 30, 40, 60}, level)
}

// protectionDefaults returns what a number of default_branch_protection stands for in detail.
func protectionDefaults(number int) map[string]any {
	levels := func(level int) []any { return []any{map[string]any{"access_level": float64(level)}} }
	const developer, maintainer = 30, 40
	push, merge := maintainer, maintainer
	switch number {
	case 0:
		push, merge = developer, developer
	case 1:
		push = developer
	case 3:
		merge = developer
	}
	out := map[string]any{"allowed_to_push": levels(push), "allowed_to_merge": levels(merge), "allow_force_push": number == 0}
	if number == 4 {
		out["developer_can_initial_push"] = true
	}
	return out
}
