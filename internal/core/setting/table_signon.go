package setting

// signOn holds the settings of sign-up, sign-in, passwords and sessions.
type signOn struct {
	SignupEnabled                                          bool           `setting:"signup_enabled" default:"true" later:"sign-on" doc:"Enable sign-up"`
	EmailConfirmationSetting                               string         `setting:"email_confirmation_setting" default:"off" values:"off,soft,hard" effect:"new users and the addresses that users add" doc:"Email confirmation setting of new users"`
	AfterSignUpText                                        *string        `setting:"after_sign_up_text" default:"null" chars:"10000" later:"sign-on" doc:"Text that users see after sign-up"`
	RequireAdminApprovalAfterUserSignup                    bool           `setting:"require_admin_approval_after_user_signup" default:"true" later:"sign-on" doc:"New users wait for the approval of an administrator"`
	DomainAllowlist                                        []string       `setting:"domain_allowlist" default:"null" raw:"true" null:"true" split:"true" later:"sign-on" doc:"Domains of email addresses that may sign up; null allows any"`
	DomainDenylist                                         []string       `setting:"domain_denylist" default:"[]" raw:"true" split:"true" later:"sign-on" doc:"Domains of email addresses that may not sign up; * matches any text"`
	DomainDenylistEnabled                                  bool           `setting:"domain_denylist_enabled" default:"false" later:"sign-on" doc:"Forbid sign-up with email addresses of the domains in domain_denylist"`
	EmailRestrictionsEnabled                               bool           `setting:"email_restrictions_enabled" default:"false" later:"sign-on" doc:"Forbid sign-up with email addresses that match email_restrictions"`
	EmailRestrictions                                      *string        `setting:"email_restrictions" default:"null" format:"regexp" later:"sign-on" doc:"Regular expression of email addresses that may not sign up"`
	EnforceEmailSubaddressRestrictions                     bool           `setting:"enforce_email_subaddress_restrictions" default:"false" later:"sign-on" doc:"Forbid sign-up with a subaddress of an email address in use"`
	EnforceTerms                                           bool           `setting:"enforce_terms" default:"false" later:"sign-on" doc:"Users accept the terms before they go on"`
	Terms                                                  *string        `setting:"terms" default:"null" chars:"100000" later:"sign-on" doc:"Terms of service, in Markdown"`
	SignInRestrictions                                     map[string]any `setting:"sign_in_restrictions" default:"{}" later:"sign-on" doc:"Restrictions of sign-in"`
	SignInText                                             *string        `setting:"sign_in_text" default:"null" chars:"10000" effect:"the sign-in page" doc:"Text on the sign-in page, in Markdown"`
	PasswordAuthenticationEnabledForWeb                    bool           `setting:"password_authentication_enabled_for_web" default:"true" alias:"signin_enabled,password_authentication_enabled" effect:"the sign-in page" doc:"Sign in with a password on pages"`
	PasswordAuthenticationEnabledForGit                    bool           `setting:"password_authentication_enabled_for_git" default:"true" effect:"git over HTTP with the password of a user" doc:"Allow password authentication for Git over HTTP"`
	MinimumPasswordLength                                  int            `setting:"minimum_password_length" default:"8" min:"8" max:"128" effect:"new passwords" doc:"Minimum password length"`
	PasswordLowercaseRequired                              bool           `setting:"password_lowercase_required" default:"false" effect:"new passwords" doc:"Require a lowercase letter in passwords"`
	PasswordUppercaseRequired                              bool           `setting:"password_uppercase_required" default:"false" effect:"new passwords" doc:"Require an uppercase letter in passwords"`
	PasswordNumberRequired                                 bool           `setting:"password_number_required" default:"false" effect:"new passwords" doc:"Require a number in passwords"`
	PasswordSymbolRequired                                 bool           `setting:"password_symbol_required" default:"false" effect:"new passwords" doc:"Require a symbol in passwords"`
	MaxLoginAttempts                                       *int           `setting:"max_login_attempts" default:"null" min:"1" effect:"sign-in and git over HTTP with a password" doc:"Failed sign-in attempts after which a user is locked; null is 10"`
	FailedLoginAttemptsUnlockPeriodInMinutes               *int           `setting:"failed_login_attempts_unlock_period_in_minutes" default:"null" min:"1" effect:"users whom failed sign-ins locked" doc:"Minutes after which a locked user is unlocked; null is 10"`
	SessionExpireDelay                                     int            `setting:"session_expire_delay" default:"10080" min:"1" max:"525600" effect:"sessions of pages" doc:"Minutes without a request after which a session expires"`
	SessionExpireFromInit                                  bool           `setting:"session_expire_from_init" default:"false" effect:"sessions of pages" doc:"Sessions expire session_expire_delay after sign-in instead of after the last request"`
	RememberMeEnabled                                      bool           `setting:"remember_me_enabled" default:"true" later:"sign-on" doc:"Sessions may outlive the browser"`
	NotifyOnUnknownSignIn                                  bool           `setting:"notify_on_unknown_sign_in" default:"true" later:"sign-on" doc:"Notify users of sign-ins from unknown addresses"`
	RequireTwoFactorAuthentication                         bool           `setting:"require_two_factor_authentication" default:"false" with:"two_factor_grace_period" later:"sign-on" doc:"All users need two-factor authentication"`
	RequireAdminTwoFactorAuthentication                    bool           `setting:"require_admin_two_factor_authentication" default:"false" later:"sign-on" doc:"Administrators need two-factor authentication"`
	TwoFactorGracePeriod                                   int            `setting:"two_factor_grace_period" default:"48" min:"0" later:"sign-on" doc:"Hours in which a user sets up two-factor authentication"`
	GitTwoFactorSessionExpiry                              int            `setting:"git_two_factor_session_expiry" default:"15" min:"1" max:"10080" later:"sign-on" doc:"Minutes for which git over SSH is open after a second factor"`
	RequireEmailVerificationOnAccountLocked                bool           `setting:"require_email_verification_on_account_locked" default:"false" later:"sign-on" doc:"Users who were locked verify their email address"`
	DisablePasswordAuthenticationForUsersWithSSOIdentities bool           `setting:"disable_password_authentication_for_users_with_sso_identities" default:"false" later:"sign-on" doc:"Users with an external identity have no password"`
	AdminMode                                              bool           `setting:"admin_mode" default:"false" later:"sign-on" doc:"Administrators sign in again for what only they may do"`
	AuthnDataRetentionCleanupEnabled                       bool           `setting:"authn_data_retention_cleanup_enabled" default:"false" later:"OAuth" doc:"Delete data of sign-ins and revoked OAuth tokens after a time"`
	DisabledOAuthSignInSources                             []string       `setting:"disabled_oauth_sign_in_sources" default:"[]" later:"OAuth" doc:"OAuth providers that sign in no user"`
	DisableAdminOAuthScopes                                bool           `setting:"disable_admin_oauth_scopes" default:"false" later:"OAuth" doc:"OAuth applications get no scopes of administrators"`
	ROPCWithoutClientCredentials                           bool           `setting:"ropc_without_client_credentials" default:"true" later:"OAuth" doc:"Grant tokens for passwords without credentials of the client"`
	AllowGroupOwnersToManageLDAP                           bool           `setting:"allow_group_owners_to_manage_ldap" default:"true" area:"LDAP" doc:"Group Owners manage LDAP synchronization"`
	ExternalAuthorizationServiceEnabled                    bool           `setting:"external_authorization_service_enabled" default:"false" needs:"external_authorization_service_url,external_authorization_service_default_label" pending:"true" doc:"Ask an external service whether a user may use a project"`
	ExternalAuthorizationServiceURL                        *string        `setting:"external_authorization_service_url" default:"null" format:"url" pending:"true" doc:"URL of the external authorization service"`
	ExternalAuthorizationServiceDefaultLabel               *string        `setting:"external_authorization_service_default_label" default:"null" pending:"true" doc:"Classification label of projects without one"`
	ExternalAuthorizationServiceTimeout                    float64        `setting:"external_authorization_service_timeout" default:"0.5" pending:"true" doc:"Seconds to wait for the external authorization service, at most 10"`
	ExternalAuthClientCert                                 *string        `setting:"external_auth_client_cert" default:"null" format:"certificate" chars:"65536" pending:"true" doc:"Client certificate for the external authorization service, PEM"`
	ExternalAuthClientKey                                  *string        `setting:"external_auth_client_key" default:"null" chars:"65536" secret:"true" pending:"true" doc:"Private key of the client certificate, PEM"`
	ExternalAuthClientKeyPass                              *string        `setting:"external_auth_client_key_pass" default:"null" secret:"true" hidden:"true" pending:"true" doc:"Passphrase of the private key; never returned"`
	AllowDeployTokensAndKeysWithExternalAuthn              bool           `setting:"allow_deploy_tokens_and_keys_with_external_authn" default:"false" pending:"true" doc:"Deploy tokens and keys are not asked about"`
	UniqueIPsLimitEnabled                                  bool           `setting:"unique_ips_limit_enabled" default:"false" effect:"every request of a user" doc:"Limit the IP addresses that a user has at a time"`
	UniqueIPsLimitPerUser                                  int            `setting:"unique_ips_limit_per_user" default:"10" min:"0" effect:"every request of a user" doc:"IP addresses that a user may have in the time window"`
	UniqueIPsLimitTimeWindow                               int            `setting:"unique_ips_limit_time_window" default:"3600" min:"0" effect:"every request of a user" doc:"Seconds for which an IP address is counted"`
}
