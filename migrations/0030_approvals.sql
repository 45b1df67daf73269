-- Approvals of merge requests. One counts while the request is at the head it was given for.
CREATE TABLE approvals (
    id               {{id}},
    merge_request_id BIGINT NOT NULL REFERENCES merge_requests (id) ON DELETE CASCADE,
    user_id          BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    head_sha         {{text}} NOT NULL,
    created_at       {{time}} NOT NULL
);
CREATE UNIQUE INDEX approvals_user ON approvals (merge_request_id, user_id);
CREATE INDEX approvals_by ON approvals (user_id, merge_request_id);

-- Users whose addresses are those of authors and committers of a merge request, as the
-- addresses were when the commits were pushed.
CREATE TABLE merge_request_contributors (
    merge_request_id BIGINT NOT NULL REFERENCES merge_requests (id) ON DELETE CASCADE,
    email_fold       {{text}} NOT NULL,
    user_id          BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    PRIMARY KEY (merge_request_id, email_fold, user_id)
);
CREATE INDEX merge_request_contributors_user ON merge_request_contributors (user_id);

-- How projects, and those of a group, want merge requests to be approved.
CREATE TABLE approval_settings (
    id                 {{id}},
    namespace_id       BIGINT NOT NULL REFERENCES namespaces (id) ON DELETE CASCADE,
    author_approval    BOOLEAN NOT NULL, -- authors may approve
    committer_approval BOOLEAN NOT NULL, -- authors and committers of commits may approve
    overrides          BOOLEAN NOT NULL, -- merge requests may have rules of their own
    retain_on_push     BOOLEAN NOT NULL, -- a push leaves approvals
    selective_removals BOOLEAN NOT NULL, -- a push that leaves approvals removes those of owners of changed files
    require_password   BOOLEAN NOT NULL,
    created_at         {{time}} NOT NULL,
    updated_at         {{time}} NOT NULL
);
CREATE UNIQUE INDEX approval_settings_place ON approval_settings (namespace_id);

-- Rules of projects, and of single merge requests.
CREATE TABLE approval_rules (
    id                 {{id}},
    project_id         BIGINT REFERENCES projects (id) ON DELETE CASCADE,
    merge_request_id   BIGINT REFERENCES merge_requests (id) ON DELETE CASCADE,
    source_rule_id     BIGINT REFERENCES approval_rules (id) ON DELETE SET NULL, -- of the project
    name               {{text}} NOT NULL,
    rule_type          {{text}} NOT NULL, -- any_approver, regular, code_owner, report_approver
    report_type        {{text}},          -- of a report_approver
    section            {{text}} NOT NULL, -- of a code_owner
    approvals_required BIGINT NOT NULL,
    applies_to_all_protected_branches BOOLEAN NOT NULL,
    created_at         {{time}} NOT NULL,
    updated_at         {{time}} NOT NULL
);
CREATE UNIQUE INDEX approval_rules_project ON approval_rules (project_id, rule_type, name, section) WHERE project_id IS NOT NULL;
CREATE UNIQUE INDEX approval_rules_request ON approval_rules (merge_request_id, rule_type, name, section) WHERE merge_request_id IS NOT NULL;
CREATE INDEX approval_rules_source ON approval_rules (source_rule_id) WHERE source_rule_id IS NOT NULL;

CREATE TABLE approval_rule_users (
    rule_id BIGINT NOT NULL REFERENCES approval_rules (id) ON DELETE CASCADE,
    user_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    PRIMARY KEY (rule_id, user_id)
);
CREATE INDEX approval_rule_users_user ON approval_rule_users (user_id);

CREATE TABLE approval_rule_groups (
    rule_id  BIGINT NOT NULL REFERENCES approval_rules (id) ON DELETE CASCADE,
    group_id BIGINT NOT NULL REFERENCES groups (namespace_id) ON DELETE CASCADE,
    PRIMARY KEY (rule_id, group_id)
);
CREATE INDEX approval_rule_groups_group ON approval_rule_groups (group_id);

CREATE TABLE approval_rule_branches (
    rule_id             BIGINT NOT NULL REFERENCES approval_rules (id) ON DELETE CASCADE,
    protected_branch_id BIGINT NOT NULL REFERENCES protected_branches (id) ON DELETE CASCADE,
    PRIMARY KEY (rule_id, protected_branch_id)
);
CREATE INDEX approval_rule_branches_branch ON approval_rule_branches (protected_branch_id);
