package setting

// tokens holds the settings of access tokens, keys and transports of git.
type tokens struct {
	DisablePersonalAccessTokens                    bool     `setting:"disable_personal_access_tokens" default:"false" alias:"disable_personal_access_token" effect:"new personal access tokens, and the use of those of users who are no administrators" doc:"Disable personal access tokens"`
	MaxPersonalAccessTokenLifetime                 *int     `setting:"max_personal_access_token_lifetime" default:"null" min:"1" max:"365" effect:"new access tokens" doc:"Maximum lifetime of personal access tokens in days"`
	RequirePersonalAccessTokenExpiry               bool     `setting:"require_personal_access_token_expiry" default:"true" effect:"new access tokens" doc:"Require an expiry date of personal access tokens"`
	ServiceAccessTokensExpirationEnforced          bool     `setting:"service_access_tokens_expiration_enforced" default:"true" effect:"new tokens of service accounts; a group may enforce it for its own" doc:"Tokens of service accounts need an expiry date"`
	PersonalAccessTokenPrefix                      string   `setting:"personal_access_token_prefix" default:"glpat-" chars:"20" effect:"new personal access tokens, and what runners mask" doc:"Prefix of personal access tokens"`
	InstanceTokenPrefix                            string   `setting:"instance_token_prefix" default:"" chars:"20" effect:"new tokens of users, projects, groups, runners, triggers and jobs, and deploy tokens" doc:"Prefix of all tokens of the instance"`
	InactiveResourceAccessTokensDeleteAfterDays    int      `setting:"inactive_resource_access_tokens_delete_after_days" default:"30" min:"1" effect:"bots of project and group access tokens, once a day" doc:"Days after which users of expired project and group tokens are deleted"`
	ResourceAccessTokenNotifyInherited             bool     `setting:"resource_access_token_notify_inherited" default:"false" later:"sign-on" doc:"Notify inherited members of project and group tokens that expire"`
	LockResourceAccessTokenNotifyInherited         bool     `setting:"lock_resource_access_token_notify_inherited" default:"false" later:"sign-on" doc:"Groups cannot override resource_access_token_notify_inherited"`
	MaxSSHKeyLifetime                              *int     `setting:"max_ssh_key_lifetime" default:"null" min:"1" max:"365" effect:"new SSH keys" doc:"Maximum lifetime of SSH keys in days"`
	DSAKeyRestriction                              int      `setting:"dsa_key_restriction" default:"0" values:"-1,0,1024,2048,3072" effect:"SSH keys, when they are added and used" doc:"Minimum bit length of an uploaded DSA key; 0 allows any, -1 forbids them"`
	ECDSAKeyRestriction                            int      `setting:"ecdsa_key_restriction" default:"0" values:"-1,0,256,384,521" effect:"SSH keys, when they are added and used" doc:"Minimum curve size of an uploaded ECDSA key; 0 allows any, -1 forbids them"`
	ECDSASKKeyRestriction                          int      `setting:"ecdsa_sk_key_restriction" default:"0" values:"-1,0,256" effect:"SSH keys, when they are added and used" doc:"Minimum curve size of an uploaded ECDSA_SK key; 0 allows any, -1 forbids them"`
	ED25519KeyRestriction                          int      `setting:"ed25519_key_restriction" default:"0" values:"-1,0,256" effect:"SSH keys, when they are added and used" doc:"Minimum curve size of an uploaded ED25519 key; 0 allows any, -1 forbids them"`
	ED25519SKKeyRestriction                        int      `setting:"ed25519_sk_key_restriction" default:"0" values:"-1,0,256" effect:"SSH keys, when they are added and used" doc:"Minimum curve size of an uploaded ED25519_SK key; 0 allows any, -1 forbids them"`
	RSAKeyRestriction                              int      `setting:"rsa_key_restriction" default:"0" values:"-1,0,1024,2048,3072,4096" effect:"SSH keys, when they are added and used" doc:"Minimum bit length of an uploaded RSA key; 0 allows any, -1 forbids them"`
	EnabledGitAccessProtocol                       string   `setting:"enabled_git_access_protocol" default:"" values:"ssh,http,all" effect:"git over HTTP and SSH" doc:"Enabled Git access protocol, or all"`
	AuthorizedKeysEnabled                          bool     `setting:"authorized_keys_enabled" default:"true" area:"storage nodes of the reference" doc:"Write the file authorized_keys; keys are looked up in the database here"`
	CustomHTTPCloneURLRoot                         *string  `setting:"custom_http_clone_url_root" default:"null" format:"url" effect:"URLs of repositories over HTTP" doc:"URL root for cloning over HTTP"`
	DisableFeedToken                               bool     `setting:"disable_feed_token" default:"false" area:"feeds" doc:"Disable feed tokens"`
	GitlabShellOperationLimit                      int      `setting:"gitlab_shell_operation_limit" default:"600" min:"0" effect:"git over SSH" doc:"Maximum git operations of a user on a project over SSH per minute; 0 is unlimited"`
	GitRateLimitUsersAlertlist                     []int64  `setting:"git_rate_limit_users_alertlist" default:"[]" entries:"100" later:"sign-on" doc:"Users who are notified of excessive repository downloads"`
	GitRateLimitUsersAllowlist                     []string `setting:"git_rate_limit_users_allowlist" default:"[]" entries:"100" effect:"fetches and archives" doc:"Usernames excluded from the limit of repository downloads"`
	MaxNumberOfRepositoryDownloads                 int      `setting:"max_number_of_repository_downloads" default:"0" min:"0" max:"10000" effect:"fetches and archives, where auto_ban_user_on_excessive_projects_download is on" doc:"Repositories that a user may download in the period; 0 is unlimited"`
	MaxNumberOfRepositoryDownloadsWithinTimePeriod int      `setting:"max_number_of_repository_downloads_within_time_period" default:"0" min:"0" max:"864000" effect:"fetches and archives" doc:"Seconds in which repository downloads are counted"`
	AutoBanUserOnExcessiveProjectsDownload         bool     `setting:"auto_ban_user_on_excessive_projects_download" default:"false" effect:"fetches and archives" doc:"Ban users who download too many repositories"`
}
