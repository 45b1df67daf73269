-- The schema of Tenon, one text for SQLite and PostgreSQL.
--
-- Words in braces are replaced per engine: id (a key never used again), text
-- (bytewise sorted on both), time (UTC, microseconds), bytes. Columns that end
-- in _fold hold what Go folded, for look-ups without regard to case. Until the
-- first release this file is edited in place; afterwards one file per step.

-- Settings of the instance: one row per value that differs from its default.
CREATE TABLE settings (
    name       {{text}} PRIMARY KEY,
    value      {{text}} NOT NULL, -- JSON
    updated_at {{time}} NOT NULL
);

-- People and bots ---------------------------------------------------------------

CREATE TABLE users (
    id                  {{id}},
    username            {{text}} NOT NULL,
    username_fold       {{text}} NOT NULL,
    name                {{text}} NOT NULL,
    name_fold           {{text}} NOT NULL,
    state               {{text}} NOT NULL, -- active, blocked, deactivated, banned, blocked_pending_approval, ldap_blocked
    user_type           {{text}} NOT NULL, -- human, bot, ghost, internal
    admin               BOOLEAN NOT NULL,
    auditor             BOOLEAN NOT NULL,
    external            BOOLEAN NOT NULL,
    private_profile     BOOLEAN NOT NULL,
    password_hash       {{text}} NOT NULL, -- PHC string; '' allows no password
    password_expired    BOOLEAN NOT NULL,
    namespace_id        BIGINT,            -- the personal namespace; bots have none
    created_by_id       BIGINT REFERENCES users (id) ON DELETE SET NULL,
    avatar              {{text}} NOT NULL, -- stored file name, '' for none
    bio                 {{text}} NOT NULL,
    location            {{text}},
    public_email        {{text}} NOT NULL,
    commit_email        {{text}} NOT NULL, -- '' is the primary address, _private the private one
    skype               {{text}} NOT NULL,
    linkedin            {{text}} NOT NULL,
    twitter             {{text}} NOT NULL,
    discord             {{text}} NOT NULL,
    website_url         {{text}} NOT NULL,
    organization        {{text}} NOT NULL,
    job_title           {{text}} NOT NULL,
    pronouns            {{text}},
    note                {{text}},
    time_zone           {{text}} NOT NULL,
    theme_id            BIGINT NOT NULL,
    color_scheme_id     BIGINT NOT NULL,
    projects_limit      BIGINT NOT NULL,
    can_create_group    BOOLEAN NOT NULL,
    view_diffs_file_by_file             BOOLEAN NOT NULL,
    show_whitespace_in_diffs            BOOLEAN NOT NULL,
    pass_user_identities_to_ci_jwt      BOOLEAN NOT NULL,
    shared_runners_minutes_limit        BIGINT,
    extra_shared_runners_minutes_limit  BIGINT,
    sign_in_count       BIGINT NOT NULL,
    current_sign_in_at  {{time}},
    last_sign_in_at     {{time}},
    current_sign_in_ip  {{text}},
    last_sign_in_ip     {{text}},
    last_activity_on    {{text}}, -- YYYY-MM-DD
    failed_attempts     BIGINT NOT NULL, -- wrong passwords since the last right one
    locked_at           {{time}},        -- there were too many; none is taken for a while
    created_at          {{time}} NOT NULL,
    updated_at          {{time}} NOT NULL
);
CREATE UNIQUE INDEX users_username ON users (username_fold);
CREATE INDEX users_name ON users (name_fold);
CREATE UNIQUE INDEX users_namespace ON users (namespace_id);
CREATE INDEX users_created_by ON users (created_by_id) WHERE created_by_id IS NOT NULL;

-- How often somebody tried to sign on with a name that nobody has. Such an attempt is
-- written down as one at an account is, lest its time tell which names there are.
CREATE TABLE unknown_sign_ons (
    day      {{text}} PRIMARY KEY, -- YYYY-MM-DD
    attempts BIGINT NOT NULL
);

CREATE TABLE emails (
    id           {{id}},
    user_id      BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    email        {{text}} NOT NULL,
    email_fold   {{text}} NOT NULL,
    is_primary   BOOLEAN NOT NULL,
    pending      BOOLEAN NOT NULL, -- becomes the primary address once confirmed
    confirmed_at {{time}},
    created_at   {{time}} NOT NULL,
    updated_at   {{time}} NOT NULL
);
CREATE INDEX emails_user ON emails (user_id);
CREATE UNIQUE INDEX emails_owned ON emails (email_fold) WHERE is_primary OR confirmed_at IS NOT NULL;
CREATE UNIQUE INDEX emails_primary ON emails (user_id) WHERE is_primary;

CREATE TABLE identities (
    id          {{id}},
    user_id     BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    provider    {{text}} NOT NULL,
    extern_uid  {{text}} NOT NULL,
    created_at  {{time}} NOT NULL
);
CREATE UNIQUE INDEX identities_uid ON identities (provider, extern_uid);
CREATE UNIQUE INDEX identities_user ON identities (user_id, provider);

-- What users say of the moment.
CREATE TABLE user_statuses (
    user_id      BIGINT PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    emoji        {{text}} NOT NULL, -- name without colons
    message      {{text}} NOT NULL,
    availability {{text}} NOT NULL, -- not_set, busy
    clear_at     {{time}},
    updated_at   {{time}} NOT NULL
);

-- Who wants to hear what whom does.
CREATE TABLE follows (
    follower_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    followee_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    created_at  {{time}} NOT NULL,
    PRIMARY KEY (follower_id, followee_id)
);
CREATE INDEX follows_followee ON follows (followee_id, follower_id);

-- Public keys for git over SSH.
CREATE TABLE ssh_keys (
    id                  {{id}},
    kind                {{text}} NOT NULL, -- user, deploy
    user_id             BIGINT REFERENCES users (id) ON DELETE CASCADE, -- whose it is; null for a deploy key
    created_by_id       BIGINT REFERENCES users (id) ON DELETE SET NULL, -- who made a deploy key
    public              BOOLEAN NOT NULL, -- a deploy key that every project may enable
    title               {{text}} NOT NULL,
    public_key          {{text}} NOT NULL, -- algorithm and base64
    comment             {{text}} NOT NULL,
    usage_type          {{text}} NOT NULL, -- auth_and_signing, auth, signing
    fingerprint_md5     {{text}} NOT NULL,
    fingerprint_sha256  {{text}} NOT NULL,
    expires_at          {{time}},
    last_used_at        {{time}},
    created_at          {{time}} NOT NULL,
    updated_at          {{time}} NOT NULL
);
CREATE UNIQUE INDEX ssh_keys_sha256 ON ssh_keys (fingerprint_sha256);
CREATE INDEX ssh_keys_md5 ON ssh_keys (fingerprint_md5);
CREATE INDEX ssh_keys_user ON ssh_keys (user_id, id);
CREATE INDEX ssh_keys_maker ON ssh_keys (created_by_id);

-- Public OpenPGP keys, with the ids and fingerprints (upper-case hex) of their primary keys.
CREATE TABLE gpg_keys (
    id          {{id}},
    user_id     BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    public_key  {{text}} NOT NULL, -- armoured
    key_id      {{text}} NOT NULL, -- 16 digits
    fingerprint {{text}} NOT NULL,
    created_at  {{time}} NOT NULL,
    updated_at  {{time}} NOT NULL
);
CREATE UNIQUE INDEX gpg_keys_fingerprint ON gpg_keys (fingerprint);
CREATE UNIQUE INDEX gpg_keys_key_id ON gpg_keys (key_id);
CREATE INDEX gpg_keys_user ON gpg_keys (user_id, id);

CREATE TABLE gpg_subkeys (
    id          {{id}},
    gpg_key_id  BIGINT NOT NULL REFERENCES gpg_keys (id) ON DELETE CASCADE,
    key_id      {{text}} NOT NULL,
    fingerprint {{text}} NOT NULL
);
CREATE INDEX gpg_subkeys_key ON gpg_subkeys (gpg_key_id);
CREATE INDEX gpg_subkeys_key_id ON gpg_subkeys (key_id);

-- Places ------------------------------------------------------------------------

CREATE TABLE namespaces (
    id          {{id}},
    kind        {{text}} NOT NULL, -- user, group, project
    parent_id   BIGINT REFERENCES namespaces (id),
    path        {{text}} NOT NULL,
    name        {{text}} NOT NULL,
    name_fold   {{text}} NOT NULL,
    visibility  BIGINT NOT NULL, -- 0 private, 10 internal, 20 public
    created_at  {{time}} NOT NULL,
    updated_at  {{time}} NOT NULL
);
CREATE INDEX namespaces_parent ON namespaces (parent_id);
-- Siblings of one kind have different names; the top level may repeat them.
CREATE UNIQUE INDEX namespaces_name ON namespaces (parent_id, kind, name) WHERE parent_id IS NOT NULL;

-- Tokens of every kind; only the SHA-256 digest of the secret is kept.
CREATE TABLE access_tokens (
    id            {{id}},
    kind          {{text}} NOT NULL, -- personal, impersonation, project, group, deploy
    user_id       BIGINT REFERENCES users (id) ON DELETE CASCADE, -- whose it is; null for a deploy token
    namespace_id  BIGINT REFERENCES namespaces (id) ON DELETE CASCADE, -- where a deploy token is good, with what is below
    username      {{text}}, -- that a deploy token goes with
    name          {{text}} NOT NULL,
    name_fold     {{text}} NOT NULL,
    description   {{text}},
    digest        {{text}} NOT NULL,
    scopes        {{text}} NOT NULL, -- joined by spaces
    revoked       BOOLEAN NOT NULL,
    expires_on    {{text}}, -- YYYY-MM-DD; unusable from that day on
    family_id     BIGINT,   -- the first token of a chain of rotations
    last_used_at  {{time}},
    created_at    {{time}} NOT NULL,
    updated_at    {{time}} NOT NULL
);
CREATE UNIQUE INDEX access_tokens_digest ON access_tokens (digest);
CREATE INDEX access_tokens_user ON access_tokens (user_id);
CREATE INDEX access_tokens_place ON access_tokens (namespace_id, id) WHERE namespace_id IS NOT NULL;
CREATE INDEX access_tokens_family ON access_tokens (family_id);

-- Closure of the tree: every namespace with itself (depth 0) and each ancestor.
CREATE TABLE namespace_ancestors (
    namespace_id BIGINT NOT NULL REFERENCES namespaces (id) ON DELETE CASCADE,
    ancestor_id  BIGINT NOT NULL REFERENCES namespaces (id) ON DELETE CASCADE,
    depth        BIGINT NOT NULL,
    PRIMARY KEY (namespace_id, ancestor_id)
);
CREATE INDEX namespace_ancestors_down ON namespace_ancestors (ancestor_id, namespace_id);

-- Full paths of users, groups and projects.
CREATE TABLE routes (
    namespace_id BIGINT PRIMARY KEY REFERENCES namespaces (id) ON DELETE CASCADE,
    path         {{text}} NOT NULL,
    path_fold    {{text}} NOT NULL,
    name         {{text}} NOT NULL -- "Group / Subgroup / Project"
);
CREATE UNIQUE INDEX routes_path ON routes (path_fold);

-- Paths that something had before a rename or transfer.
CREATE TABLE redirect_routes (
    path_fold    {{text}} PRIMARY KEY,
    namespace_id BIGINT NOT NULL REFERENCES namespaces (id) ON DELETE CASCADE,
    created_at   {{time}} NOT NULL
);
CREATE INDEX redirect_routes_namespace ON redirect_routes (namespace_id);

-- What a group has beyond its namespace.
CREATE TABLE groups (
    namespace_id             BIGINT PRIMARY KEY REFERENCES namespaces (id) ON DELETE CASCADE,
    creator_id               BIGINT,
    description              {{text}},
    avatar                   {{text}} NOT NULL,
    share_with_group_lock    BOOLEAN NOT NULL,
    require_two_factor_authentication BOOLEAN NOT NULL,
    two_factor_grace_period  BIGINT NOT NULL,
    project_creation_level   {{text}} NOT NULL, -- noone, owner, maintainer, developer, administrator
    subgroup_creation_level  {{text}} NOT NULL, -- owner, maintainer
    auto_devops_enabled      BOOLEAN,
    emails_enabled           BOOLEAN NOT NULL,
    mentions_disabled        BOOLEAN,
    lfs_enabled              BOOLEAN NOT NULL,
    request_access_enabled   BOOLEAN NOT NULL,
    default_branch           {{text}},
    default_branch_protection BIGINT, -- null inherits the instance's
    shared_runners_setting   {{text}} NOT NULL,
    only_allow_merge_if_pipeline_succeeds            BOOLEAN NOT NULL, -- this and the next two for all projects inside
    allow_merge_on_skipped_pipeline                  BOOLEAN NOT NULL,
    only_allow_merge_if_all_discussions_are_resolved BOOLEAN NOT NULL,
    archived                 BOOLEAN NOT NULL,
    settings                 {{text}} NOT NULL, -- JSON object of what only later areas read
    marked_for_deletion_on   {{text}}
);
CREATE INDEX groups_archived ON groups (namespace_id) WHERE archived;
CREATE INDEX groups_pipeline ON groups (namespace_id) WHERE only_allow_merge_if_pipeline_succeeds;
CREATE INDEX groups_marked ON groups (marked_for_deletion_on) WHERE marked_for_deletion_on IS NOT NULL;

CREATE TABLE members (
    id            {{id}},
    namespace_id  BIGINT NOT NULL REFERENCES namespaces (id) ON DELETE CASCADE,
    user_id       BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    access_level  BIGINT NOT NULL,
    expires_on    {{text}}, -- YYYY-MM-DD; counts no more from that day on
    created_by_id BIGINT REFERENCES users (id) ON DELETE SET NULL,
    created_at    {{time}} NOT NULL,
    updated_at    {{time}} NOT NULL
);
CREATE UNIQUE INDEX members_place ON members (namespace_id, user_id);
CREATE INDEX members_user ON members (user_id, namespace_id, access_level);
CREATE INDEX members_created_by ON members (created_by_id) WHERE created_by_id IS NOT NULL;

-- A group invited into a group or project: its members get at most access_level there.
CREATE TABLE shares (
    id            {{id}},
    namespace_id  BIGINT NOT NULL REFERENCES namespaces (id) ON DELETE CASCADE,
    group_id      BIGINT NOT NULL REFERENCES namespaces (id) ON DELETE CASCADE,
    access_level  BIGINT NOT NULL,
    expires_on    {{text}},
    created_at    {{time}} NOT NULL,
    updated_at    {{time}} NOT NULL
);
CREATE UNIQUE INDEX shares_place ON shares (namespace_id, group_id);
CREATE INDEX shares_group ON shares (group_id);

-- Who asks to become a member. The rows count for nothing until they are approved.
CREATE TABLE access_requests (
    id            {{id}},
    namespace_id  BIGINT NOT NULL REFERENCES namespaces (id) ON DELETE CASCADE,
    user_id       BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    created_at    {{time}} NOT NULL
);
CREATE UNIQUE INDEX access_requests_place ON access_requests (namespace_id, user_id);
CREATE INDEX access_requests_user ON access_requests (user_id);

-- Addresses whose owners become members once they have an account with it.
CREATE TABLE invitations (
    id            {{id}},
    namespace_id  BIGINT NOT NULL REFERENCES namespaces (id) ON DELETE CASCADE,
    email         {{text}} NOT NULL,
    email_fold    {{text}} NOT NULL,
    access_level  BIGINT NOT NULL,
    expires_on    {{text}}, -- YYYY-MM-DD, of the membership
    created_by_id BIGINT REFERENCES users (id) ON DELETE SET NULL,
    created_at    {{time}} NOT NULL,
    updated_at    {{time}} NOT NULL
);
CREATE UNIQUE INDEX invitations_place ON invitations (namespace_id, email_fold);
CREATE INDEX invitations_email ON invitations (email_fold);
CREATE INDEX invitations_created_by ON invitations (created_by_id) WHERE created_by_id IS NOT NULL;

CREATE TABLE projects (
    id              {{id}},
    namespace_id    BIGINT NOT NULL REFERENCES namespaces (id), -- its own twin of kind project
    parent_id       BIGINT NOT NULL REFERENCES namespaces (id), -- the group or personal namespace it stands in
    creator_id      BIGINT,
    forked_from_id  BIGINT,            -- null also where that project is gone
    fork_root_id    BIGINT,            -- of a fork: the project in which its network began, which may be gone
    name            {{text}} NOT NULL,
    name_fold       {{text}} NOT NULL,
    path            {{text}} NOT NULL,
    description     {{text}},
    description_fold {{text}} NOT NULL,
    avatar          {{text}} NOT NULL,
    default_branch  {{text}}, -- null until the repository has a branch
    storage         {{text}} NOT NULL,
    archived        BOOLEAN NOT NULL,
    star_count      BIGINT NOT NULL,
    forks_count     BIGINT NOT NULL,
    open_issues_count BIGINT NOT NULL,
    topics          {{text}} NOT NULL, -- JSON array of names, for reading; see project_topics
    issues_access          BIGINT NOT NULL, -- feature access: 0 disabled, 10 members, 20 everyone who sees the project
    merge_requests_access  BIGINT NOT NULL,
    repository_access      BIGINT NOT NULL,
    forking_access         BIGINT NOT NULL,
    wiki_access            BIGINT NOT NULL,
    builds_access          BIGINT NOT NULL,
    snippets_access        BIGINT NOT NULL,
    features               {{text}} NOT NULL, -- JSON object of the other features' levels
    merge_method           {{text}} NOT NULL, -- merge, rebase_merge, ff
    squash_option          {{text}} NOT NULL, -- never, always, default_on, default_off
    only_allow_merge_if_pipeline_succeeds            BOOLEAN NOT NULL,
    allow_merge_on_skipped_pipeline                  BOOLEAN,
    only_allow_merge_if_all_discussions_are_resolved BOOLEAN NOT NULL,
    remove_source_branch_after_merge                 BOOLEAN NOT NULL,
    printing_merge_request_link_enabled              BOOLEAN NOT NULL,
    merge_commit_template     {{text}},
    squash_commit_template    {{text}},
    suggestion_commit_message {{text}},
    issue_branch_template     {{text}},
    request_access_enabled    BOOLEAN NOT NULL,
    lfs_enabled               BOOLEAN NOT NULL,
    autoclose_referenced_issues BOOLEAN NOT NULL,
    emails_enabled            BOOLEAN NOT NULL,
    approvals_before_merge    BIGINT NOT NULL,
    settings                  {{text}} NOT NULL, -- JSON object of what only later areas read
    pending_delete            BOOLEAN NOT NULL,
    marked_for_deletion_on    {{text}},
    import_status             {{text}} NOT NULL, -- none, scheduled, started, finished, failed
    import_error              {{text}},
    last_activity_at          {{time}} NOT NULL,
    created_at                {{time}} NOT NULL,
    updated_at                {{time}} NOT NULL
);
CREATE UNIQUE INDEX projects_namespace ON projects (namespace_id);
CREATE INDEX projects_parent ON projects (parent_id);
CREATE INDEX projects_creator ON projects (creator_id);
CREATE INDEX projects_marked ON projects (marked_for_deletion_on) WHERE marked_for_deletion_on IS NOT NULL;
CREATE INDEX projects_forked_from ON projects (forked_from_id);
CREATE INDEX projects_fork_root ON projects (fork_root_id);

-- The projects that a deploy key is enabled in.
CREATE TABLE deploy_key_projects (
    id            {{id}},
    key_id        BIGINT NOT NULL REFERENCES ssh_keys (id) ON DELETE CASCADE,
    project_id    BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    can_push      BOOLEAN NOT NULL,
    created_at    {{time}} NOT NULL,
    updated_at    {{time}} NOT NULL
);
CREATE UNIQUE INDEX deploy_key_projects_key ON deploy_key_projects (key_id, project_id);
CREATE INDEX deploy_key_projects_project ON deploy_key_projects (project_id, key_id);

CREATE TABLE topics (
    id          {{id}},
    name        {{text}} NOT NULL,
    name_fold   {{text}} NOT NULL,
    title       {{text}} NOT NULL,
    title_fold  {{text}} NOT NULL,
    description {{text}},
    avatar      {{text}} NOT NULL, -- stored file name, '' for none
    projects_count BIGINT NOT NULL, -- rows of project_topics, for the order of lists
    created_at  {{time}} NOT NULL,
    updated_at  {{time}} NOT NULL
);
CREATE UNIQUE INDEX topics_name ON topics (name_fold);
CREATE INDEX topics_projects ON topics (projects_count DESC, id);

CREATE TABLE project_topics (
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    topic_id   BIGINT NOT NULL REFERENCES topics (id) ON DELETE CASCADE,
    PRIMARY KEY (project_id, topic_id)
);
CREATE INDEX project_topics_topic ON project_topics (topic_id);

CREATE TABLE badges (
    id           {{id}},
    namespace_id BIGINT NOT NULL REFERENCES namespaces (id) ON DELETE CASCADE, -- of the project or group
    name         {{text}},
    link_url     {{text}} NOT NULL,
    image_url    {{text}} NOT NULL,
    created_at   {{time}} NOT NULL,
    updated_at   {{time}} NOT NULL
);
CREATE INDEX badges_namespace ON badges (namespace_id);

-- What administrators remark on users, groups and projects.
CREATE TABLE user_attributes (
    owner_id      BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    attribute_key {{text}} NOT NULL,
    value         {{text}} NOT NULL,
    created_at    {{time}} NOT NULL,
    updated_at    {{time}} NOT NULL,
    PRIMARY KEY (owner_id, attribute_key)
);
CREATE INDEX user_attributes_value ON user_attributes (attribute_key, value);

CREATE TABLE group_attributes (
    owner_id      BIGINT NOT NULL REFERENCES namespaces (id) ON DELETE CASCADE,
    attribute_key {{text}} NOT NULL,
    value         {{text}} NOT NULL,
    created_at    {{time}} NOT NULL,
    updated_at    {{time}} NOT NULL,
    PRIMARY KEY (owner_id, attribute_key)
);
CREATE INDEX group_attributes_value ON group_attributes (attribute_key, value);

CREATE TABLE project_attributes (
    owner_id      BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    attribute_key {{text}} NOT NULL,
    value         {{text}} NOT NULL,
    created_at    {{time}} NOT NULL,
    updated_at    {{time}} NOT NULL,
    PRIMARY KEY (owner_id, attribute_key)
);
CREATE INDEX project_attributes_value ON project_attributes (attribute_key, value);

-- What a look at the repository found, at most a moment after the last push.
CREATE TABLE project_measures (
    project_id      BIGINT PRIMARY KEY REFERENCES projects (id) ON DELETE CASCADE,
    commit_id       {{text}} NOT NULL, -- the tip of the default branch then, '' for none
    commit_count    BIGINT NOT NULL,   -- of the default branch
    repository_size BIGINT NOT NULL,   -- bytes
    readme_path     {{text}} NOT NULL, -- '' for none
    license_path    {{text}} NOT NULL, -- '' for none
    license_key     {{text}} NOT NULL  -- small SPDX id, 'other' for one that is not known
);

CREATE TABLE project_languages (
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    name       {{text}} NOT NULL,
    name_fold  {{text}} NOT NULL,
    bytes      BIGINT NOT NULL,
    PRIMARY KEY (project_id, name)
);
CREATE INDEX project_languages_name ON project_languages (name_fold);

CREATE TABLE housekeeping_requests (
    project_id   BIGINT PRIMARY KEY REFERENCES projects (id) ON DELETE CASCADE,
    requested_at {{time}} NOT NULL
);

-- How often the repository was fetched on a day.
CREATE TABLE fetch_counts (
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    day        {{text}} NOT NULL, -- YYYY-MM-DD
    count      BIGINT NOT NULL,
    PRIMARY KEY (project_id, day)
);

CREATE TABLE stars (
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    user_id    BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    created_at {{time}} NOT NULL,
    PRIMARY KEY (project_id, user_id)
);
CREATE INDEX stars_user ON stars (user_id);

-- Numbers that count per project or group: the highest one given out.
CREATE TABLE internal_ids (
    namespace_id BIGINT NOT NULL REFERENCES namespaces (id) ON DELETE CASCADE,
    kind         {{text}} NOT NULL, -- issue, merge_request, milestone, epic, pipeline
    last         BIGINT NOT NULL,
    PRIMARY KEY (namespace_id, kind)
);

-- Repositories --------------------------------------------------------------------

CREATE TABLE protected_branches (
    id               {{id}},
    project_id       BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    name             {{text}} NOT NULL, -- a branch name or a pattern with *
    allow_force_push BOOLEAN NOT NULL,
    code_owner_approval_required BOOLEAN NOT NULL,
    created_at       {{time}} NOT NULL,
    updated_at       {{time}} NOT NULL
);
CREATE UNIQUE INDEX protected_branches_name ON protected_branches (project_id, name);

CREATE TABLE protected_branch_levels (
    id                  {{id}},
    protected_branch_id BIGINT NOT NULL REFERENCES protected_branches (id) ON DELETE CASCADE,
    action              {{text}} NOT NULL, -- push, merge, unprotect
    access_level        BIGINT,
    user_id             BIGINT REFERENCES users (id) ON DELETE CASCADE,
    group_id            BIGINT REFERENCES namespaces (id) ON DELETE CASCADE,
    deploy_key_id       BIGINT REFERENCES ssh_keys (id) ON DELETE CASCADE
);
CREATE INDEX protected_branch_levels_rule ON protected_branch_levels (protected_branch_id);
CREATE INDEX protected_branch_levels_user ON protected_branch_levels (user_id) WHERE user_id IS NOT NULL;
CREATE INDEX protected_branch_levels_group ON protected_branch_levels (group_id) WHERE group_id IS NOT NULL;
CREATE INDEX protected_branch_levels_key ON protected_branch_levels (deploy_key_id) WHERE deploy_key_id IS NOT NULL;

CREATE TABLE protected_tags (
    id         {{id}},
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    name       {{text}} NOT NULL, -- a tag name or a pattern with *
    created_at {{time}} NOT NULL,
    updated_at {{time}} NOT NULL
);
CREATE UNIQUE INDEX protected_tags_name ON protected_tags (project_id, name);

CREATE TABLE protected_tag_levels (
    id               {{id}},
    protected_tag_id BIGINT NOT NULL REFERENCES protected_tags (id) ON DELETE CASCADE,
    action           {{text}} NOT NULL, -- create
    access_level     BIGINT,
    user_id          BIGINT REFERENCES users (id) ON DELETE CASCADE,
    group_id         BIGINT REFERENCES namespaces (id) ON DELETE CASCADE,
    deploy_key_id    BIGINT REFERENCES ssh_keys (id) ON DELETE CASCADE
);
CREATE INDEX protected_tag_levels_rule ON protected_tag_levels (protected_tag_id);
CREATE INDEX protected_tag_levels_user ON protected_tag_levels (user_id) WHERE user_id IS NOT NULL;
CREATE INDEX protected_tag_levels_group ON protected_tag_levels (group_id) WHERE group_id IS NOT NULL;
CREATE INDEX protected_tag_levels_key ON protected_tag_levels (deploy_key_id) WHERE deploy_key_id IS NOT NULL;

-- What runs for a commit. So far those of other systems (source external), which stand
-- for the statuses that they report.
CREATE TABLE pipelines (
    id          {{id}},
    iid         BIGINT NOT NULL,
    project_id  BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    sha         {{text}} NOT NULL,
    ref         {{text}} NOT NULL, -- branch or tag, without refs/heads/
    source      {{text}} NOT NULL, -- external
    status      {{text}} NOT NULL, -- summed up over its statuses
    user_id     BIGINT REFERENCES users (id) ON DELETE SET NULL,
    created_at  {{time}} NOT NULL,
    updated_at  {{time}} NOT NULL
);
CREATE INDEX pipelines_user ON pipelines (user_id);
CREATE UNIQUE INDEX pipelines_iid ON pipelines (project_id, iid);
CREATE INDEX pipelines_sha ON pipelines (project_id, sha, id);

CREATE TABLE commit_statuses (
    id          {{id}},
    pipeline_id BIGINT NOT NULL REFERENCES pipelines (id) ON DELETE CASCADE,
    name        {{text}} NOT NULL,
    stage       {{text}} NOT NULL,
    ref         {{text}} NOT NULL,
    status      {{text}} NOT NULL, -- created, pending, running, success, failed, canceled, skipped
    retried     BOOLEAN NOT NULL,  -- a later one of the same name took its place
    target_url  {{text}},
    description {{text}},
    coverage    DOUBLE PRECISION,
    author_id   BIGINT REFERENCES users (id) ON DELETE SET NULL,
    created_at  {{time}} NOT NULL,
    updated_at  {{time}} NOT NULL,
    started_at  {{time}},
    finished_at {{time}}
);
CREATE INDEX commit_statuses_author ON commit_statuses (author_id);
CREATE INDEX commit_statuses_pipeline ON commit_statuses (pipeline_id, id);

-- What pushed commits must look like. A project gets a copy of its nearest group's when
-- it is made.
CREATE TABLE push_rules (
    id               {{id}},
    project_id       BIGINT REFERENCES projects (id) ON DELETE CASCADE, -- or
    group_id         BIGINT REFERENCES namespaces (id) ON DELETE CASCADE,
    commit_message_regex          {{text}} NOT NULL, -- '' allows every message, and so on
    commit_message_negative_regex {{text}} NOT NULL,
    branch_name_regex             {{text}} NOT NULL,
    author_email_regex            {{text}} NOT NULL,
    file_name_regex               {{text}} NOT NULL, -- of names that are refused
    max_file_size                 BIGINT NOT NULL, -- MB; 0 is any
    deny_delete_tag               BOOLEAN NOT NULL,
    member_check                  BOOLEAN NOT NULL,
    prevent_secrets               BOOLEAN NOT NULL,
    commit_committer_check        BOOLEAN NOT NULL,
    commit_committer_name_check   BOOLEAN NOT NULL,
    reject_unsigned_commits       BOOLEAN NOT NULL,
    reject_non_dco_commits        BOOLEAN NOT NULL,
    created_at       {{time}} NOT NULL,
    updated_at       {{time}} NOT NULL
);
CREATE UNIQUE INDEX push_rules_project ON push_rules (project_id) WHERE project_id IS NOT NULL;
CREATE UNIQUE INDEX push_rules_group ON push_rules (group_id) WHERE group_id IS NOT NULL;

-- Reference changes that are recorded before they are made, so that a crash
-- between git and the database can be settled at start-up.
CREATE TABLE ref_intents (
    id          {{id}},
    project_id  BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    user_id     BIGINT NOT NULL,
    source      {{text}} NOT NULL, -- push, api, merge
    changes     {{text}} NOT NULL, -- JSON array of {ref, old, new}
    created_at  {{time}} NOT NULL
);

-- Repositories that belong to no project, whose objects forks read beside their own. A
-- pool goes when it has no member any more.
CREATE TABLE pools (
    id                {{id}},
    source_project_id BIGINT REFERENCES projects (id) ON DELETE SET NULL, -- whose forks join it; null where nobody does any more
    created_at        {{time}} NOT NULL
);
CREATE UNIQUE INDEX pools_source ON pools (source_project_id);

-- Written before the repository is linked to the pool, deleted after the link has ended.
CREATE TABLE pool_members (
    project_id BIGINT PRIMARY KEY REFERENCES projects (id) ON DELETE CASCADE,
    pool_id    BIGINT NOT NULL REFERENCES pools (id)
);
CREATE INDEX pool_members_pool ON pool_members (pool_id);
-- Large objects of Git LFS: one row for each content, and which project has it.
CREATE TABLE lfs_objects (
    id         {{id}},
    oid        {{text}} NOT NULL, -- SHA-256 of the content
    size       BIGINT NOT NULL,
    created_at {{time}} NOT NULL
);
CREATE UNIQUE INDEX lfs_objects_oid ON lfs_objects (oid);

CREATE TABLE lfs_links (
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    object_id  BIGINT NOT NULL REFERENCES lfs_objects (id),
    created_at {{time}} NOT NULL,
    PRIMARY KEY (project_id, object_id)
);
CREATE INDEX lfs_links_object ON lfs_links (object_id);

CREATE TABLE lfs_locks (
    id         {{id}},
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    user_id    BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    path       {{text}} NOT NULL,
    locked_at  {{time}} NOT NULL
);
CREATE UNIQUE INDEX lfs_locks_path ON lfs_locks (project_id, path);
CREATE INDEX lfs_locks_user ON lfs_locks (user_id);

-- Files that people attach to texts.
CREATE TABLE uploads (
    id           {{id}},
    namespace_id BIGINT NOT NULL REFERENCES namespaces (id) ON DELETE CASCADE, -- of the project or group
    secret       {{text}} NOT NULL, -- 32 hex digits of the address
    name         {{text}} NOT NULL,
    size         BIGINT NOT NULL,
    user_id      BIGINT REFERENCES users (id) ON DELETE SET NULL,
    created_at   {{time}} NOT NULL
);
CREATE UNIQUE INDEX uploads_secret ON uploads (secret);
CREATE INDEX uploads_namespace ON uploads (namespace_id, id);
CREATE INDEX uploads_user ON uploads (user_id);

-- Planning ------------------------------------------------------------------------

CREATE TABLE labels (
    id           {{id}},
    namespace_id BIGINT NOT NULL REFERENCES namespaces (id) ON DELETE CASCADE, -- of the project or group
    title        {{text}} NOT NULL,
    title_fold   {{text}} NOT NULL,
    description  {{text}},
    description_fold {{text}} NOT NULL,
    color        {{text}} NOT NULL, -- #rgb or #rrggbb
    priority     BIGINT,
    created_at   {{time}} NOT NULL,
    updated_at   {{time}} NOT NULL
);
CREATE UNIQUE INDEX labels_title ON labels (namespace_id, title);

CREATE TABLE label_links (
    target_type {{text}} NOT NULL, -- Issue, MergeRequest, Epic
    target_id   BIGINT NOT NULL,
    label_id    BIGINT NOT NULL REFERENCES labels (id) ON DELETE CASCADE,
    PRIMARY KEY (target_type, target_id, label_id)
);
CREATE INDEX label_links_label ON label_links (label_id, target_type, target_id);

CREATE TABLE issues (
    id                {{id}},
    iid               BIGINT NOT NULL,
    project_id        BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    author_id         BIGINT NOT NULL REFERENCES users (id),
    title             {{text}} NOT NULL,
    title_fold        {{text}} NOT NULL,
    description       {{text}},
    description_fold  {{text}} NOT NULL,
    state             {{text}} NOT NULL, -- opened, closed
    issue_type        {{text}} NOT NULL, -- issue, incident, test_case, task
    confidential      BOOLEAN NOT NULL,
    discussion_locked BOOLEAN,
    due_date          {{text}}, -- YYYY-MM-DD
    weight            BIGINT,
    closed_at         {{time}},
    closed_by_id      BIGINT REFERENCES users (id) ON DELETE SET NULL,
    notes_count        BIGINT NOT NULL, -- comments, system notes left out
    public_notes_count BIGINT NOT NULL, -- the same without internal ones
    created_at        {{time}} NOT NULL,
    updated_at        {{time}} NOT NULL
);
CREATE INDEX issues_closed_by ON issues (closed_by_id) WHERE closed_by_id IS NOT NULL;
CREATE UNIQUE INDEX issues_iid ON issues (project_id, iid);
CREATE INDEX issues_project ON issues (project_id, id);
CREATE INDEX issues_created ON issues (project_id, created_at, id);
CREATE INDEX issues_state ON issues (project_id, state, created_at, id);
CREATE INDEX issues_updated ON issues (project_id, updated_at, id);
CREATE INDEX issues_author ON issues (author_id, id);

CREATE TABLE issue_assignees (
    issue_id BIGINT NOT NULL REFERENCES issues (id) ON DELETE CASCADE,
    user_id  BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    PRIMARY KEY (issue_id, user_id)
);
CREATE INDEX issue_assignees_user ON issue_assignees (user_id, issue_id);

CREATE TABLE notes (
    id             {{id}},
    discussion_id  {{text}} NOT NULL, -- 40 hex digits
    noteable_type  {{text}} NOT NULL, -- Issue, MergeRequest, Snippet, Commit, Epic
    noteable_id    BIGINT NOT NULL,   -- 0 for commits, which project_id and commit_id name
    commit_id      {{text}},
    project_id     BIGINT REFERENCES projects (id) ON DELETE CASCADE,
    group_id       BIGINT REFERENCES namespaces (id) ON DELETE CASCADE,
    author_id      BIGINT NOT NULL REFERENCES users (id),
    type           {{text}}, -- null, DiscussionNote, DiffNote
    position       {{text}}, -- JSON: the line of a diff that a DiffNote is about
    line_code      {{text}}, -- the same line in short
    body           {{text}} NOT NULL,
    system         BOOLEAN NOT NULL,
    internal       BOOLEAN NOT NULL,
    resolved_at    {{time}},
    resolved_by_id BIGINT REFERENCES users (id) ON DELETE SET NULL,
    created_at     {{time}} NOT NULL,
    updated_at     {{time}} NOT NULL
);
CREATE INDEX notes_resolved_by ON notes (resolved_by_id) WHERE resolved_by_id IS NOT NULL;
CREATE INDEX notes_group ON notes (group_id) WHERE group_id IS NOT NULL;
CREATE INDEX notes_noteable ON notes (noteable_type, noteable_id, id, internal, system);
CREATE INDEX notes_project ON notes (project_id, id);
CREATE INDEX notes_commit ON notes (project_id, commit_id, id) WHERE commit_id IS NOT NULL;
CREATE INDEX notes_author ON notes (author_id);

-- Reactions.
CREATE TABLE award_emoji (
    id             {{id}},
    name           {{text}} NOT NULL, -- canonical, without colons
    user_id        BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    awardable_type {{text}} NOT NULL, -- Issue, MergeRequest, Snippet, Note, Epic
    awardable_id   BIGINT NOT NULL,
    created_at     {{time}} NOT NULL,
    updated_at     {{time}} NOT NULL
);
CREATE UNIQUE INDEX award_emoji_once ON award_emoji (awardable_type, awardable_id, name, user_id);
CREATE INDEX award_emoji_user ON award_emoji (user_id);

-- Merge requests --------------------------------------------------------------------

CREATE TABLE merge_requests (
    id                 {{id}},
    iid                BIGINT NOT NULL,
    target_project_id  BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    source_project_id  BIGINT REFERENCES projects (id) ON DELETE SET NULL,
    target_branch      {{text}} NOT NULL,
    source_branch      {{text}} NOT NULL,
    author_id          BIGINT NOT NULL REFERENCES users (id),
    title              {{text}} NOT NULL,
    title_fold         {{text}} NOT NULL,
    description        {{text}},
    description_fold   {{text}} NOT NULL,
    state              {{text}} NOT NULL, -- opened, closed, locked, merged
    draft              BOOLEAN NOT NULL,
    merge_user_id      BIGINT REFERENCES users (id) ON DELETE SET NULL,
    merged_at          {{time}},
    closed_by_id       BIGINT REFERENCES users (id) ON DELETE SET NULL,
    closed_at          {{time}},
    version_id         BIGINT,            -- newest row of merge_request_versions
    base_sha           {{text}} NOT NULL, -- of the newest version, '' while there is none
    start_sha          {{text}} NOT NULL,
    head_sha           {{text}} NOT NULL,
    commits_count      BIGINT NOT NULL,
    changes_count      BIGINT,
    -- Result of the last trial merge and the two commits it was made for; where they
    -- are not the present ones the request reads as unchecked.
    trial_result       {{text}} NOT NULL, -- '', can_be_merged, cannot_be_merged
    trial_source_sha   {{text}} NOT NULL,
    trial_target_sha   {{text}} NOT NULL,
    merge_commit_sha   {{text}},
    squash_commit_sha  {{text}},
    merge_error        {{text}},
    squash             BOOLEAN NOT NULL,
    discussion_locked  BOOLEAN,
    should_remove_source_branch BOOLEAN, -- what the merge call asked for
    force_remove_source_branch  BOOLEAN, -- what the request itself says
    allow_collaboration         BOOLEAN NOT NULL,
    merge_when_pipeline_succeeds BOOLEAN NOT NULL,
    -- What a request that is set to merge by itself is merged with; merge_user_id says who
    -- set it. NULL where it is not.
    auto_merge_sha            {{text}}, -- the head that it was set for
    auto_merge_admin          BOOLEAN,  -- whether it was set with an administrator's rights
    auto_merge_message        {{text}},
    auto_merge_squash_message {{text}},
    approvals_before_merge      BIGINT,
    notes_count        BIGINT NOT NULL,
    public_notes_count BIGINT NOT NULL,
    created_at         {{time}} NOT NULL,
    updated_at         {{time}} NOT NULL
);
CREATE INDEX merge_requests_merge_user ON merge_requests (merge_user_id) WHERE merge_user_id IS NOT NULL;
CREATE INDEX merge_requests_closed_by ON merge_requests (closed_by_id) WHERE closed_by_id IS NOT NULL;
CREATE UNIQUE INDEX merge_requests_iid ON merge_requests (target_project_id, iid);
CREATE INDEX merge_requests_target ON merge_requests (target_project_id, id);
CREATE INDEX merge_requests_state ON merge_requests (target_project_id, state, id);
CREATE INDEX merge_requests_updated ON merge_requests (target_project_id, updated_at, id);
CREATE INDEX merge_requests_target_branch ON merge_requests (target_project_id, target_branch, state);
CREATE INDEX merge_requests_source_branch ON merge_requests (source_project_id, source_branch, state);
CREATE INDEX merge_requests_author ON merge_requests (author_id, id);
-- One open request per pair of branches.
CREATE UNIQUE INDEX merge_requests_open ON merge_requests (source_project_id, source_branch, target_project_id, target_branch)
    WHERE state = 'opened' OR state = 'locked';

CREATE TABLE merge_request_assignees (
    merge_request_id BIGINT NOT NULL REFERENCES merge_requests (id) ON DELETE CASCADE,
    user_id          BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    PRIMARY KEY (merge_request_id, user_id)
);
CREATE INDEX merge_request_assignees_user ON merge_request_assignees (user_id, merge_request_id);

CREATE TABLE merge_request_reviewers (
    merge_request_id BIGINT NOT NULL REFERENCES merge_requests (id) ON DELETE CASCADE,
    user_id          BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    state            {{text}} NOT NULL, -- unreviewed, reviewed, approved, ...
    created_at       {{time}} NOT NULL,
    PRIMARY KEY (merge_request_id, user_id)
);
CREATE INDEX merge_request_reviewers_user ON merge_request_reviewers (user_id, merge_request_id);

-- The states a request's source branch had: what is compared with what.
CREATE TABLE merge_request_versions (
    id               {{id}},
    merge_request_id BIGINT NOT NULL REFERENCES merge_requests (id) ON DELETE CASCADE,
    base_sha         {{text}} NOT NULL,
    start_sha        {{text}} NOT NULL,
    head_sha         {{text}} NOT NULL,
    commits_count    BIGINT NOT NULL,
    changes_count    BIGINT NOT NULL,
    created_at       {{time}} NOT NULL
);
CREATE INDEX merge_request_versions_request ON merge_request_versions (merge_request_id, id);

-- A merge in flight: written before the target branch moves, gone when the
-- request's row says merged. Settled at start-up after a crash.
CREATE TABLE merge_leases (
    merge_request_id BIGINT PRIMARY KEY REFERENCES merge_requests (id) ON DELETE CASCADE,
    user_id          BIGINT NOT NULL,
    target_old_sha   {{text}} NOT NULL,
    target_new_sha   {{text}} NOT NULL,
    merge_commit_sha  {{text}},
    squash_commit_sha {{text}},
    remove_source    BOOLEAN NOT NULL,
    created_at       {{time}} NOT NULL
);

-- A rebase that waits or runs: gone when it has ended, however it did.
CREATE TABLE merge_request_rebases (
    merge_request_id BIGINT PRIMARY KEY REFERENCES merge_requests (id) ON DELETE CASCADE,
    user_id          BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    created_at       {{time}} NOT NULL
);
CREATE INDEX merge_request_rebases_user ON merge_request_rebases (user_id);

-- Records -----------------------------------------------------------------------------

-- What people did, as /events shows it.
CREATE TABLE events (
    id           {{id}},
    project_id   BIGINT REFERENCES projects (id) ON DELETE CASCADE,
    group_id     BIGINT REFERENCES namespaces (id) ON DELETE CASCADE,
    author_id    BIGINT NOT NULL,
    action       {{text}} NOT NULL, -- created, closed, reopened, pushed, commented, merged, joined, left, destroyed, updated
    target_type  {{text}},
    target_id    BIGINT,
    target_iid   BIGINT,
    target_title {{text}},
    payload      {{text}}, -- JSON, for pushes
    created_at   {{time}} NOT NULL
);
CREATE INDEX events_group ON events (group_id) WHERE group_id IS NOT NULL;
CREATE INDEX events_project ON events (project_id, id);
CREATE INDEX events_author ON events (author_id, id);

-- Who changed what, for the audit endpoints.
CREATE TABLE audit_events (
    id           {{id}},
    author_id    BIGINT NOT NULL, -- 0 is nobody signed in
    author_name  {{text}} NOT NULL,
    entity_type  {{text}} NOT NULL, -- User, Project, Group, Instance
    entity_id    BIGINT NOT NULL,
    entity_path  {{text}} NOT NULL,
    event_name   {{text}} NOT NULL,
    target_type  {{text}} NOT NULL,
    target_id    BIGINT NOT NULL,
    target_details {{text}} NOT NULL,
    details      {{text}} NOT NULL, -- JSON object
    ip_address   {{text}} NOT NULL,
    created_at   {{time}} NOT NULL
);
CREATE INDEX audit_events_entity ON audit_events (entity_type, entity_id, id);
