package setting

// accounts holds the settings of users and what new ones get.
type accounts struct {
	CanCreateGroup                     bool    `setting:"can_create_group" default:"true" effect:"the right of new users to create top-level groups" doc:"New users can create top-level groups"`
	CommitEmailHostname                *string `setting:"commit_email_hostname" default:"null" effect:"private commit emails of users" doc:"Hostname of private commit emails; null is users.noreply.HOST"`
	DefaultPreferredLanguage           string  `setting:"default_preferred_language" default:"en" options:"en" effect:"pages; there is one language" doc:"Language of new users"`
	DefaultProjectsLimit               int     `setting:"default_projects_limit" default:"100000" min:"0" effect:"the projects limit of new users" doc:"Default limit of personal projects per user"`
	DefaultSyntaxHighlightingTheme     int     `setting:"default_syntax_highlighting_theme" default:"1" min:"1" max:"6" wrong:"must be a valid syntax highlighting theme ID" effect:"new users" doc:"Syntax highlighting theme of new users, 1 to 6"`
	DefaultDarkSyntaxHighlightingTheme int     `setting:"default_dark_syntax_highlighting_theme" default:"2" min:"1" max:"6" wrong:"must be a valid syntax highlighting theme ID" effect:"code on pages in dark mode; no user has chosen another one" doc:"Syntax highlighting theme of new users in dark mode, 1 to 6"`
	FirstDayOfWeek                     int     `setting:"first_day_of_week" default:"0" options:"0,1,6" effect:"calendars of contributions on pages; no user has chosen another one" doc:"First day of the week of new users: 0 Sunday, 1 Monday, 6 Saturday"`
	GravatarEnabled                    bool    `setting:"gravatar_enabled" default:"true" effect:"avatars of users without one of their own" doc:"Enable Gravatar"`
	UserDefaultExternal                bool    `setting:"user_default_external" default:"false" effect:"new users" doc:"Set new users to external by default"`
	UserDefaultInternalRegex           *string `setting:"user_default_internal_regex" default:"null" format:"regexp" effect:"new users whom user_default_external does not make external" doc:"Regular expression of email addresses of new users who are not external by default"`
	UserDefaultsToPrivateProfile       bool    `setting:"user_defaults_to_private_profile" default:"false" effect:"the profile of new users" doc:"New users have a private profile by default"`
	MakeProfilePrivate                 bool    `setting:"make_profile_private" default:"true" effect:"private profiles: they are open to all while it is off" doc:"Users may make their profile private"`
	UpdatingNameDisabledForUsers       bool    `setting:"updating_name_disabled_for_users" default:"false" effect:"the own name on pages" doc:"Only administrators change the names of users"`
	UserShowAddSSHKeyMessage           bool    `setting:"user_show_add_ssh_key_message" default:"true" effect:"pages of projects" doc:"Remind users without an SSH key on pages of projects"`
	AllowAccountDeletion               bool    `setting:"allow_account_deletion" default:"true" effect:"the deletion of the own account on pages" doc:"Users may delete their own account"`
	DelayUserAccountSelfDeletion       bool    `setting:"delay_user_account_self_deletion" default:"false" effect:"the deletion of the own account on pages, which comes after seven days then" doc:"Delay the deletion that a user asks for"`
	CanCreateOrganization              bool    `setting:"can_create_organization" default:"true" area:"plans of namespaces" doc:"Users may create organizations"`
	CreateOrganizationAPILimit         int     `setting:"create_organization_api_limit" default:"10" min:"0" area:"plans of namespaces" doc:"Maximum organizations that a user creates per minute; 0 is unlimited"`
	DeactivateDormantUsers             bool    `setting:"deactivate_dormant_users" default:"false" effect:"users, once a day" doc:"Deactivate users without activity"`
	DeactivateDormantUsersPeriod       int     `setting:"deactivate_dormant_users_period" default:"90" min:"0" effect:"users, once a day" doc:"Days without activity after which a user is deactivated, at least 90"`
	UserDeactivationEmailsEnabled      bool    `setting:"user_deactivation_emails_enabled" default:"true" later:"sign-on" doc:"Notify users who are deactivated"`
	DeactivationEmailAdditionalText    *string `setting:"deactivation_email_additional_text" default:"null" chars:"1000" later:"sign-on" doc:"Additional text in mail to deactivated users"`
	DeleteUnconfirmedUsers             bool    `setting:"delete_unconfirmed_users" default:"false" later:"sign-on" doc:"Delete users who do not confirm their email"`
	UnconfirmedUsersDeleteAfterDays    int     `setting:"unconfirmed_users_delete_after_days" default:"7" min:"1" later:"sign-on" doc:"Days after which users without a confirmed email are deleted"`
	TopLevelGroupCreationEnabled       bool    `setting:"top_level_group_creation_enabled" default:"true" effect:"new top-level groups of users who are no administrators" doc:"Users may create top-level groups"`
	DisableInviteMembers               bool    `setting:"disable_invite_members" default:"false" effect:"new members, invitations and imports of members" doc:"Only administrators invite members"`
	InvitationFlowEnforcement          bool    `setting:"invitation_flow_enforcement" default:"false" later:"sign-on" doc:"Members join by accepting an invitation, which is sent by mail"`
	UserOAuthApplications              bool    `setting:"user_oauth_applications" default:"true" later:"OAuth" doc:"Users may register OAuth applications"`
}
