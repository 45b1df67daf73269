package authz

// Ability names one thing an actor may do, spelled as in docs/permissions.md.
type Ability string

// Abilities of the instance.
const (
	ReadVersion      Ability = "read_version"
	ReadUser         Ability = "read_user"
	ReadOwnUser      Ability = "read_own_user"
	ListUsers        Ability = "list_users"
	AdminUsers       Ability = "admin_users"
	CreateTopGroup   Ability = "create_top_level_group"
	ListProjects     Ability = "list_projects"
	ListGroups       Ability = "list_groups"
	ReadNamespace    Ability = "read_namespace"
	ManageOwnToken   Ability = "manage_own_token"
	ManageOwnSession Ability = "manage_own_session"
	ManageOwnKey     Ability = "manage_own_key"
	AddOwnKey        Ability = "add_own_key"
	UpdateOwnUser    Ability = "update_own_user"
	DeleteOwnUser    Ability = "delete_own_user"
	ReadUserStatus   Ability = "read_user_status"
	ReadUserKeys     Ability = "read_user_keys"
	LookUpKey        Ability = "look_up_key"

	FollowUser      Ability = "follow_user"
	ReadMemberships Ability = "read_memberships_of_user"
	ReadActivities  Ability = "read_activities_of_users"
	CountOfUser     Ability = "count_associations_of_user"
	RenderMarkdown  Ability = "render_markdown"
	Search          Ability = "search"

	ReadRunner            Ability = "read_runner"
	ListAllRunners        Ability = "list_all_runners"
	CreateRunner          Ability = "create_runner"
	UpdateRunner          Ability = "update_runner"
	AdminInstanceRunners  Ability = "admin_instance_runners"
	ReadGroupRunners      Ability = "read_group_runners"
	AdminGroupRunners     Ability = "admin_group_runners"
	RegisterGroupRunner   Ability = "register_group_runner"
	ReadProjectRunners    Ability = "read_project_runners"
	AdminProjectRunners   Ability = "admin_project_runners"
	RegisterProjectRunner Ability = "register_project_runner"

	ReadInstanceVariables  Ability = "read_instance_variables"
	AdminInstanceVariables Ability = "admin_instance_variables"
	ReadGroupVariables     Ability = "read_group_variables"
	AdminGroupVariables    Ability = "admin_group_variables"
	ReadProjectVariables   Ability = "read_project_variables"
	AdminProjectVariables  Ability = "admin_project_variables"
	ReadSecureFiles        Ability = "read_secure_files"
	AdminSecureFiles       Ability = "admin_secure_files"
	ReadTriggers           Ability = "read_pipeline_triggers"
	AdminTriggers          Ability = "admin_pipeline_triggers"
	ReadJobTokenScope      Ability = "read_job_token_scope"
	AdminJobTokenScope     Ability = "admin_job_token_scope"

	ReadEvents             Ability = "read_events"
	ReadOwnTodos           Ability = "read_own_todos"
	UpdateOwnTodos         Ability = "update_own_todos"
	ReadOwnNotifications   Ability = "read_own_notification_settings"
	UpdateOwnNotifications Ability = "update_own_notification_settings"
)

// Abilities in a group.
const (
	ReadGroup         Ability = "read_group"
	ReadGroupMembers  Ability = "read_group_members"
	CreateProject     Ability = "create_project"
	CreateSubgroup    Ability = "create_subgroup"
	AdminGroup        Ability = "admin_group"
	AdminGroupMembers Ability = "admin_group_members"
	ReadBillable      Ability = "read_billable_members"
	DeleteGroup       Ability = "delete_group"
	ArchiveGroup      Ability = "archive_group"
	ShareGroup        Ability = "share_group"

	RequestGroupAccess        Ability = "request_group_access"
	TransferGroup             Ability = "transfer_group"
	TransferInto              Ability = "transfer_into_group"
	ReadGroupTokens           Ability = "read_group_access_tokens"
	AdminGroupTokens          Ability = "admin_group_access_tokens"
	ReadGroupServiceAccounts  Ability = "read_group_service_accounts"
	AdminGroupServiceAccounts Ability = "admin_group_service_accounts"
	ReadGroupProtectedBranch  Ability = "read_group_protected_branch"
	AdminGroupProtectedBranch Ability = "admin_group_protected_branch"
)

// Abilities in a project.
const (
	ReadProject      Ability = "read_project"
	AdminProject     Ability = "admin_project"
	EditProject      Ability = "edit_project"
	ChangeVisibility Ability = "change_visibility"
	ArchiveProject   Ability = "archive_project"
	DeleteProject    Ability = "delete_project"
	ReadMembers      Ability = "read_members"
	AdminMembers     Ability = "admin_members"
	ShareProject     Ability = "share_project"
	RequestAccess    Ability = "request_access"
	StarProject      Ability = "star_project"
	TransferProject  Ability = "transfer_project"
	ForkProject      Ability = "fork_project"
	RemoveForkLink   Ability = "remove_fork_link"

	ListDeployKeys           Ability = "list_deploy_keys"
	CreateDeployKey          Ability = "create_public_deploy_key"
	ListDeployTokens         Ability = "list_deploy_tokens"
	ReadProjectDeployTokens  Ability = "read_project_deploy_tokens"
	AdminProjectDeployTokens Ability = "admin_project_deploy_tokens"
	ReadGroupDeployTokens    Ability = "read_group_deploy_tokens"
	AdminGroupDeployTokens   Ability = "admin_group_deploy_tokens"

	ReadDeployKeys  Ability = "read_deploy_keys"
	AdminDeployKeys Ability = "admin_deploy_keys"
	ReadStatistics  Ability = "read_statistics"
	ReadStorage     Ability = "read_storage"
	ReadImport      Ability = "read_import"

	UploadFile      Ability = "upload_file"
	UploadGroupFile Ability = "upload_group_file"
	ReadUploads     Ability = "read_uploads"
	DeleteUpload    Ability = "delete_upload"

	ReadProjectTokens  Ability = "read_project_access_tokens"
	AdminProjectTokens Ability = "admin_project_access_tokens"

	ReadCode              Ability = "read_code"
	PushCode              Ability = "push_code"
	DeleteTag             Ability = "delete_tag"
	ForceUnlock           Ability = "force_unlock_path"
	ReadProtectedBranch   Ability = "read_protected_branch"
	AdminProtectedBranch  Ability = "admin_protected_branch"
	DeleteProtectedBranch Ability = "delete_protected_branch"
	ReadProtectedTag      Ability = "read_protected_tag"
	AdminProtectedTag     Ability = "admin_protected_tag"

	ReadPipeline        Ability = "read_pipeline"
	ReadPrivatePipeline Ability = "read_pipeline_of_private_jobs"
	SetCommitStatus     Ability = "set_commit_status"

	ReadSchedules           Ability = "read_pipeline_schedules"
	ReadPrivateSchedules    Ability = "read_pipeline_schedules_of_private_jobs"
	UpdateSchedule          Ability = "update_pipeline_schedule"
	DeleteSchedule          Ability = "delete_pipeline_schedule"
	AdminSchedules          Ability = "admin_pipeline_schedules"
	CreatePipeline          Ability = "create_pipeline"
	UpdatePipeline          Ability = "update_pipeline"
	DeletePipeline          Ability = "delete_pipeline"
	ErasePipeline           Ability = "erase_job"
	ReadPipelineDetails     Ability = "read_pipeline_variables"
	ReadPrivateArtifacts    Ability = "read_private_job_artifacts"
	ReadMaintainerArtifacts Ability = "read_job_artifacts_of_maintainers"
	ReadResourceGroups      Ability = "read_resource_groups"
	UpdateResourceGroup     Ability = "update_resource_group"

	ReadPushRule       Ability = "read_push_rule"
	AdminPushRule      Ability = "admin_push_rule"
	ReadGroupPushRule  Ability = "read_group_push_rule"
	AdminGroupPushRule Ability = "admin_group_push_rule"

	ReadLabel  Ability = "read_label"
	AdminLabel Ability = "admin_label"

	ReadMilestone  Ability = "read_milestone"
	AdminMilestone Ability = "admin_milestone"
	ReadIteration  Ability = "read_iteration"
	AdminIteration Ability = "admin_iteration"
	ReadBoard      Ability = "read_issue_board"
	AdminBoard     Ability = "admin_issue_board"

	ReadEpic     Ability = "read_epic"
	CreateEpic   Ability = "create_epic"
	UpdateEpic   Ability = "update_epic"
	SetEpicTimes Ability = "set_epic_times"
	DeleteEpic   Ability = "delete_epic"
	LinkEpic     Ability = "link_epic"

	ListOwnIssues    Ability = "list_own_issues"
	ReadAnyIssue     Ability = "read_any_issue"
	ReadIssue        Ability = "read_issue"
	ReadConfidential Ability = "read_confidential_issue"
	ReadUserAgent    Ability = "read_user_agent_detail"
	LinkIssue        Ability = "link_issue"
	ImportIssues     Ability = "import_issues"
	CreateIssue      Ability = "create_issue"
	UpdateIssue      Ability = "update_issue"
	SetIssueMetadata Ability = "set_issue_metadata"
	SetIssueNumber   Ability = "set_issue_number"
	DeleteIssue      Ability = "delete_issue"
	ListTimelogs     Ability = "list_timelogs"
	AdminTimelog     Ability = "admin_timelog"
	ReadNote         Ability = "read_note"
	CreateNote       Ability = "create_note"
	CreateNoteLocked Ability = "create_note_when_locked"
	AdminNote        Ability = "admin_note"
	InternalNote     Ability = "read_internal_note"
	SetNoteCreatedAt Ability = "set_note_created_at"
	ResolveNote      Ability = "resolve_note"
	AwardEmoji       Ability = "award_emoji"
	DeleteAwardEmoji Ability = "delete_award_emoji"

	UpdateSubscription Ability = "update_subscription"
	CreateTodo         Ability = "create_todo"

	ListSnippets          Ability = "list_snippets"
	ReadSnippet           Ability = "read_snippet"
	CreateSnippet         Ability = "create_snippet"
	CreatePersonalSnippet Ability = "create_personal_snippet"
	UpdateSnippet         Ability = "update_snippet"
	ReadWiki              Ability = "read_wiki"
	WriteWiki             Ability = "write_wiki"
	DeleteWikiPage        Ability = "delete_wiki_page"
	ReadGroupWiki         Ability = "read_group_wiki"
	WriteGroupWiki        Ability = "write_group_wiki"
	DeleteGroupWikiPage   Ability = "delete_group_wiki_page"

	ListOwnMergeRequests    Ability = "list_own_merge_requests"
	ReadMergeRequest        Ability = "read_merge_request"
	CreateMergeRequestIn    Ability = "create_merge_request_in"
	CreateMergeRequestFrom  Ability = "create_merge_request_from"
	UpdateMergeRequest      Ability = "update_merge_request"
	SetMergeRequestMetadata Ability = "set_merge_request_metadata"
	AcceptMergeRequest      Ability = "accept_merge_request"
	DeleteMergeRequest      Ability = "delete_merge_request"
	ReadMergeTrain          Ability = "read_merge_train"

	ApproveMergeRequest        Ability = "approve_merge_request"
	ReadApprovalRules          Ability = "read_approval_rules"
	ReadApprovalSettings       Ability = "read_approval_settings"
	AdminApprovalSettings      Ability = "admin_approval_settings"
	ReadGroupApprovalSettings  Ability = "read_group_approval_settings"
	AdminGroupApprovalSettings Ability = "admin_group_approval_settings"

	ReadExternalStatusChecks  Ability = "read_external_status_checks"
	AdminExternalStatusChecks Ability = "admin_external_status_checks"
	ReadStatusChecks          Ability = "read_status_checks" // of a merge request
	AnswerStatusChecks        Ability = "answer_status_checks"
)

// Rule is one row of the permission table: who may do a thing with a subject
// they can see.
type Rule struct {
	Min      Level   // least level of membership; above Owner means administrators only
	Also     Level   // one level below Min that may too, zero for none
	Anyone   bool    // every caller who sees the subject, signed in or not
	SignedIn bool    // every caller who sees the subject and is signed in
	Visitors bool    // and those who look at its page without being signed in
	Own      bool    // the author or an assignee of the item
	Person   bool    // refused to bots
	Feature  Feature // refused to those who may not use the feature
	Code     bool    // guests of a private project do not see code
	Write    bool    // refused in what is archived or marked for deletion, and to auditors for being auditors
	Deploy   bool    // deploy keys and tokens may too, in the projects that they reach
	Token    Scope   // and deploy tokens with this scope, whatever Min is
	Job      bool    // tokens of jobs may too, in the projects that they reach
	JobPush  bool    // tokens of jobs that push may too, in the project of the job
	Change   bool    // refused to auditors like Write, but not in what is archived or marked for deletion
}

var adminsOnly = AdminLevel

// Rules is the permission table; docs/permissions.md is generated from it.
var Rules = union(instanceRules, integrationRules, deployRules, featureFlagRules, importRules, packageRules, releaseRules, statsRules, map[Ability]Rule{
	ReadVersion:      {SignedIn: true},
	ReadUser:         {SignedIn: true},
	ReadOwnUser:      {SignedIn: true},
	ListUsers:        {Anyone: true},
	AdminUsers:       {Min: adminsOnly, Write: true},
	CreateTopGroup:   {SignedIn: true, Write: true},
	ListProjects:     {Anyone: true},
	ListGroups:       {Anyone: true},
	ReadNamespace:    {SignedIn: true},
	ManageOwnToken:   {SignedIn: true},
	ManageOwnSession: {SignedIn: true, Person: true},
	ManageOwnKey:     {SignedIn: true},
	AddOwnKey:        {SignedIn: true, Person: true}, // a bot is worth as long as its token
	UpdateOwnUser:    {SignedIn: true},
	DeleteOwnUser:    {SignedIn: true, Person: true},
	ReadUserStatus:   {Anyone: true},
	ReadUserKeys:     {Anyone: true},
	LookUpKey:        {Min: adminsOnly},

	RenderMarkdown:  {SignedIn: true},
	Search:          {SignedIn: true},
	ReadAuditEvents: {Min: adminsOnly},

	FollowUser:      {SignedIn: true},
	ReadMemberships: {Min: adminsOnly},
	ReadActivities:  {Min: adminsOnly},
	CountOfUser:     {Min: adminsOnly, Own: true},

	ReadRunner:            {SignedIn: true}, // the groups and projects of a runner decide further
	ListAllRunners:        {Min: adminsOnly},
	CreateRunner:          {SignedIn: true, Change: true}, // where is decided by the place
	UpdateRunner:          {SignedIn: true, Change: true}, // which one is decided by its group and projects
	AdminInstanceRunners:  {Min: adminsOnly, Write: true},
	ReadGroupRunners:      {Min: Maintainer},
	AdminGroupRunners:     {Min: Owner, Write: true},
	RegisterGroupRunner:   {Min: Owner, Write: true},
	ReadProjectRunners:    {Min: Maintainer},
	AdminProjectRunners:   {Min: Maintainer, Write: true},
	RegisterProjectRunner: {Min: Maintainer, Write: true},

	// Auditors read no secrets.
	ReadInstanceVariables:  {Min: adminsOnly, Change: true},
	AdminInstanceVariables: {Min: adminsOnly, Write: true},
	ReadGroupVariables:     {Min: Owner, Change: true},
	AdminGroupVariables:    {Min: Owner, Write: true},
	ReadProjectVariables:   {Min: Maintainer, Change: true},
	AdminProjectVariables:  {Min: Maintainer, Write: true},
	ReadSecureFiles:        {Min: Developer, Change: true},
	AdminSecureFiles:       {Min: Maintainer, Write: true},
	ReadTriggers:           {Min: Maintainer, Change: true},
	AdminTriggers:          {Min: Maintainer, Write: true},
	ReadJobTokenScope:      {Min: Maintainer, Change: true},
	AdminJobTokenScope:     {Min: Maintainer, Write: true},

	ReadEvents:             {Anyone: true},
	ReadOwnTodos:           {SignedIn: true},
	UpdateOwnTodos:         {SignedIn: true},
	ReadOwnNotifications:   {SignedIn: true},
	UpdateOwnNotifications: {SignedIn: true, Change: true},

	ReadGroup:         {Anyone: true, Deploy: true, Job: true},
	ReadGroupMembers:  {Anyone: true},
	CreateProject:     {Min: Developer, Write: true},
	CreateSubgroup:    {Min: Maintainer, Write: true},
	AdminGroup:        {Min: Owner, Write: true},
	AdminGroupMembers: {Min: Owner, Write: true},
	ReadBillable:      {Min: Owner},
	DeleteGroup:       {Min: Owner, Change: true},
	ArchiveGroup:      {Min: Owner, Change: true},
	ShareGroup:        {Min: Owner, Write: true},

	RequestGroupAccess:        {SignedIn: true, Write: true},
	TransferGroup:             {Min: Owner, Write: true},
	TransferInto:              {Min: Maintainer, Write: true},
	ReadGroupTokens:           {Min: Owner},
	AdminGroupTokens:          {Min: Owner, Write: true},
	ReadGroupServiceAccounts:  {Min: Owner},
	AdminGroupServiceAccounts: {Min: Owner, Write: true},
	ReadGroupProtectedBranch:  {Min: Owner},
	AdminGroupProtectedBranch: {Min: Owner, Write: true},
	ListGroupAuditEvents:      {Min: Developer}, // below Owner their own actions
	ReadGroupAuditEvents:      {Min: Owner},

	ReadProject:      {Anyone: true, Deploy: true, Job: true},
	AdminProject:     {Min: Maintainer, Write: true},
	EditProject:      {Min: Maintainer, Change: true}, // clients edit a project before they take it out of the archive
	ChangeVisibility: {Min: Owner, Write: true},
	ArchiveProject:   {Min: Owner, Change: true},
	DeleteProject:    {Min: Owner, Change: true},
	ReadMembers:      {Anyone: true},
	AdminMembers:     {Min: Maintainer, Write: true},
	ShareProject:     {Min: Owner, Write: true},
	RequestAccess:    {SignedIn: true, Write: true},
	StarProject:      {SignedIn: true, Change: true},
	TransferProject:  {Min: Owner, Write: true},
	ForkProject:      {SignedIn: true, Feature: Forking, Code: true, Change: true},
	RemoveForkLink:   {Min: Owner, Write: true},

	ListDeployKeys:           {Min: adminsOnly},
	CreateDeployKey:          {Min: adminsOnly, Write: true},
	ListDeployTokens:         {Min: adminsOnly},
	ReadProjectDeployTokens:  {Min: Maintainer},
	AdminProjectDeployTokens: {Min: Maintainer, Write: true},
	ReadGroupDeployTokens:    {Min: Maintainer},
	AdminGroupDeployTokens:   {Min: Owner, Write: true},

	ReadDeployKeys:  {Min: Maintainer},
	AdminDeployKeys: {Min: Maintainer, Write: true},
	ReadStatistics:  {Min: Developer, Feature: Repository},
	ReadStorage:     {Min: adminsOnly},
	ReadImport:      {Min: Guest},

	UploadFile:      {SignedIn: true, Write: true},
	UploadGroupFile: {Min: Guest, Write: true},
	ReadUploads:     {Min: Maintainer},
	DeleteUpload:    {Min: Maintainer, Write: true},

	ReadProjectTokens:      {Min: Maintainer},
	AdminProjectTokens:     {Min: Maintainer, Write: true},
	ListProjectAuditEvents: {Min: Developer}, // below Maintainer their own actions
	ReadProjectAuditEvents: {Min: Maintainer},

	ReadCode:              {Anyone: true, Feature: Repository, Code: true, Deploy: true, Job: true},
	PushCode:              {Min: Developer, Feature: Repository, Write: true, Deploy: true, JobPush: true},
	DeleteTag:             {Min: Developer, Feature: Repository, Write: true},
	ForceUnlock:           {Min: Maintainer, Feature: Repository, Write: true},
	ReadProtectedBranch:   {Min: Developer, Feature: Repository},
	AdminProtectedBranch:  {Min: Maintainer, Feature: Repository, Write: true},
	DeleteProtectedBranch: {Min: Maintainer, Feature: Repository, Write: true},
	ReadProtectedTag:      {Min: Maintainer, Feature: Repository},
	AdminProtectedTag:     {Min: Maintainer, Feature: Repository, Write: true},

	ReadPipeline:        {Anyone: true, Feature: Builds, Job: true},
	ReadPrivatePipeline: {Min: Reporter, Feature: Builds, Job: true},
	SetCommitStatus:     {Min: Developer, Feature: Builds, Write: true},

	ReadSchedules:           {SignedIn: true, Feature: Builds},
	ReadPrivateSchedules:    {Min: Reporter, Feature: Builds},
	UpdateSchedule:          {Min: adminsOnly, Own: true, Feature: Builds, Write: true},
	DeleteSchedule:          {Min: Maintainer, Own: true, Feature: Builds, Write: true},
	AdminSchedules:          {Min: Maintainer, Feature: Builds, Write: true},
	CreatePipeline:          {Min: Developer, Feature: Builds, Write: true},
	UpdatePipeline:          {Min: Developer, Feature: Builds, Write: true},
	DeletePipeline:          {Min: Owner, Feature: Builds, Write: true},
	ErasePipeline:           {Min: Maintainer, Own: true, Feature: Builds, Write: true},
	ReadPipelineDetails:     {Min: Developer, Own: true, Feature: Builds},
	ReadPrivateArtifacts:    {Min: Developer, Feature: Builds, Job: true},
	ReadMaintainerArtifacts: {Min: Maintainer, Feature: Builds, Job: true},
	ReadResourceGroups:      {Min: Developer, Feature: Builds},
	UpdateResourceGroup:     {Min: Developer, Feature: Builds, Write: true},

	ReadPushRule:       {Min: Maintainer},
	AdminPushRule:      {Min: Maintainer, Write: true},
	ReadGroupPushRule:  {Min: Owner},
	AdminGroupPushRule: {Min: Owner, Write: true},

	ReadLabel:  {Anyone: true},
	AdminLabel: {Min: Planner, Write: true},

	ReadMilestone:  {Anyone: true},
	AdminMilestone: {Min: Planner, Write: true},
	ReadIteration:  {Anyone: true},
	AdminIteration: {Min: Planner, Write: true},
	ReadBoard:      {Anyone: true, Feature: Issues},
	AdminBoard:     {Min: Planner, Feature: Issues, Write: true},

	ReadEpic:     {Anyone: true},
	CreateEpic:   {Min: Planner, Write: true},
	UpdateEpic:   {Min: Planner, Write: true},
	SetEpicTimes: {Min: Owner, Write: true},
	DeleteEpic:   {Min: Owner, Also: Planner, Write: true},
	LinkEpic:     {Min: Guest, Write: true}, // with issues, and with epics as parent, child or related one

	ListOwnIssues:    {SignedIn: true},
	ReadAnyIssue:     {Min: adminsOnly},
	ReadIssue:        {Anyone: true, Feature: Issues},
	ReadConfidential: {Min: Planner, Own: true, Feature: Issues},
	ReadUserAgent:    {Min: adminsOnly},
	LinkIssue:        {Min: Guest, Feature: Issues, Write: true},
	ImportIssues:     {Min: Planner, Feature: Issues, Write: true},
	CreateIssue:      {SignedIn: true, Feature: Issues, Write: true},
	UpdateIssue:      {Min: Planner, Own: true, Feature: Issues, Write: true},
	SetIssueMetadata: {Min: Planner, Feature: Issues, Write: true},
	SetIssueNumber:   {Min: Owner, Feature: Issues, Write: true},
	DeleteIssue:      {Min: Owner, Also: Planner, Feature: Issues, Write: true},
	ListTimelogs:     {Anyone: true},
	AdminTimelog:     {Min: Maintainer, Own: true, Write: true},
	ReadNote:         {SignedIn: true},
	CreateNote:       {SignedIn: true, Write: true},
	CreateNoteLocked: {Min: Guest, Write: true},
	AdminNote:        {Min: Maintainer, Own: true, Write: true},
	InternalNote:     {Min: Planner},
	SetNoteCreatedAt: {Min: Owner, Write: true},
	ResolveNote:      {Min: Developer, Own: true, Write: true},
	AwardEmoji:       {SignedIn: true, Write: true},
	DeleteAwardEmoji: {Min: adminsOnly, Own: true, Write: true},

	UpdateSubscription: {SignedIn: true, Change: true},
	CreateTodo:         {SignedIn: true, Change: true},

	ListSnippets:          {SignedIn: true},
	ReadSnippet:           {Anyone: true, Feature: Snippets},
	CreateSnippet:         {Min: Reporter, Feature: Snippets, Write: true},
	CreatePersonalSnippet: {SignedIn: true, Write: true},
	UpdateSnippet:         {Min: Maintainer, Own: true, Feature: Snippets, Write: true},
	ReadWiki:              {Anyone: true, Feature: Wiki},
	WriteWiki:             {Min: Developer, Also: Planner, Feature: Wiki, Write: true},
	DeleteWikiPage:        {Min: Maintainer, Also: Planner, Feature: Wiki, Write: true},
	ReadGroupWiki:         {Anyone: true},
	WriteGroupWiki:        {Min: Developer, Also: Planner, Write: true},
	DeleteGroupWikiPage:   {Min: Maintainer, Also: Planner, Write: true},

	ListOwnMergeRequests:    {SignedIn: true},
	ReadMergeRequest:        {SignedIn: true, Visitors: true, Feature: MergeRequests, Code: true},
	CreateMergeRequestIn:    {SignedIn: true, Feature: MergeRequests, Code: true, Write: true},
	CreateMergeRequestFrom:  {Min: Developer, Feature: Repository, Write: true},
	UpdateMergeRequest:      {Min: Developer, Own: true, Feature: MergeRequests, Write: true},
	SetMergeRequestMetadata: {Min: Developer, Feature: MergeRequests, Write: true},
	AcceptMergeRequest:      {Min: Developer, Feature: MergeRequests, Write: true},
	DeleteMergeRequest:      {Min: Owner, Feature: MergeRequests, Write: true},
	ReadMergeTrain:          {Min: Developer, Feature: MergeRequests},

	ApproveMergeRequest:        {Min: Reporter, Feature: MergeRequests, Write: true}, // below Developer if a rule names the user
	ReadApprovalRules:          {SignedIn: true, Feature: MergeRequests, Code: true},
	ReadApprovalSettings:       {Min: Maintainer},
	AdminApprovalSettings:      {Min: Maintainer, Write: true},
	ReadGroupApprovalSettings:  {Min: Owner},
	AdminGroupApprovalSettings: {Min: Owner, Write: true},

	ReadExternalStatusChecks:  {Min: Maintainer},
	AdminExternalStatusChecks: {Min: Maintainer, Write: true},
	ReadStatusChecks:          {Min: Reporter, Feature: MergeRequests},
	AnswerStatusChecks:        {Min: Developer, Feature: MergeRequests, Write: true},
})
