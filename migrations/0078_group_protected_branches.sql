-- Rules for the branches of all projects below a group.
CREATE TABLE group_protected_branches (
    id               {{id}},
    group_id         BIGINT NOT NULL REFERENCES namespaces (id) ON DELETE CASCADE,
    name             {{text}} NOT NULL, -- a branch name or a pattern with *
    allow_force_push BOOLEAN NOT NULL,
    code_owner_approval_required BOOLEAN NOT NULL,
    created_at       {{time}} NOT NULL,
    updated_at       {{time}} NOT NULL
);
CREATE UNIQUE INDEX group_protected_branches_name ON group_protected_branches (group_id, name);

CREATE TABLE group_protected_branch_levels (
    id           {{id}},
    rule_id      BIGINT NOT NULL REFERENCES group_protected_branches (id) ON DELETE CASCADE,
    action       {{text}} NOT NULL, -- push, merge, unprotect
    access_level BIGINT NOT NULL
);
CREATE INDEX group_protected_branch_levels_rule ON group_protected_branch_levels (rule_id);
