package app

import (
	"net/netip"
	"slices"

	"tenon/internal/base/config"
	"tenon/internal/core/setting"
)

// Conflict is a setting that contradicts another one or the configuration, and what to do.
type Conflict struct {
	Text   string `json:"text"`
	Advice string `json:"advice"`
}

// conflicts lists the settings that contradict each other or the configuration.
func conflicts(set *setting.Settings, c *config.Config) []Conflict {
	out := []Conflict{}
	check := func(wrong bool, text, advice string) {
		if wrong {
			out = append(out, Conflict{text, advice})
		}
	}
	const setMail = "set mail.host and the others of [mail], then tenon admin mail test ADDRESS"
	check(set.EmailConfirmationSetting != "off" && !c.Mail.On(), "email_confirmation_setting has users confirm their addresses, and no mail server is configured", setMail)
	check(set.EmailConfirmationSetting != "off" && set.SilentModeEnabled, "email_confirmation_setting has users confirm their addresses, and silent mode lets no mail out",
		"turn silent_mode_enabled off, or confirm users as an administrator")
	check(set.AllowLocalRequestsFromWebHooksAndServices, "allow_local_requests_from_web_hooks_and_services opens the whole local network to everyone who may name a URL",
		"turn it off and name the hosts in outbound_local_requests_whitelist")
	check(slices.ContainsFunc(set.OutboundLocalRequestsWhitelist, everywhere), "outbound_local_requests_whitelist allows all addresses", "name the hosts that are meant")
	check(set.DenyAllRequestsExceptAllowed && len(set.OutboundLocalRequestsWhitelist) == 0,
		"deny_all_requests_except_allowed is on and outbound_local_requests_whitelist is empty: no import, hook or check leaves the server", "name what may be reached")
	check(!set.DNSRebindingProtectionEnabled && !set.AllowLocalRequestsFromWebHooksAndServices,
		"dns_rebinding_protection_enabled is off: a host may change its address after the check, to one of the local network", "turn it on")
	check(set.UniqueIPsLimitEnabled && proxied(c) && len(c.TrustedProxies) == 0,
		"unique_ips_limit_enabled counts addresses, and the server sees only that of its proxy", "set trusted_proxies to the address of the proxy")
	check(set.GloballyAllowedIPs != "" && proxied(c) && len(c.TrustedProxies) == 0,
		"globally_allowed_ips names addresses, and the server sees only that of its proxy", "set trusted_proxies to the address of the proxy")
	check(set.EnabledGitAccessProtocol == "ssh" && c.SSH == "", "enabled_git_access_protocol is ssh, and the server does not listen for SSH: nobody fetches or pushes", "set ssh to an address, or the setting to all")
	check(!set.PasswordAuthenticationEnabledForWeb, "password_authentication_enabled_for_web is off, and this server has no other sign-in: nobody gets to the pages", "turn it on")
	check(set.ExternalAuthorizationServiceEnabled && blankText(set.ExternalAuthorizationServiceURL),
		"external_authorization_service_enabled is on without a URL: nobody is asked about", "set external_authorization_service_url, or turn it off")
	check(set.MaintenanceMode, "maintenance_mode is on: nothing is changed and no job runs", "turn it off when the work is done")
	check(set.SilentModeEnabled && c.Mail.On(), "silent_mode_enabled is on: no mail leaves the server, though it is configured", "turn it off when the server is in use")
	return out
}

// proxied reports whether the server listens on this machine alone and users have another address for it.
func proxied(c *config.Config) bool {
	at, err := netip.ParseAddrPort(c.HTTP)
	return err == nil && at.Addr().IsLoopback() && c.ExternalURL != nil && c.ExternalURL.Host != c.HTTP
}

// everywhere reports whether an entry of a list of addresses has all of them.
func everywhere(entry string) bool {
	p, err := netip.ParsePrefix(entry)
	return err == nil && p.Bits() == 0
}

func blankText(text *string) bool { return text == nil || *text == "" }
