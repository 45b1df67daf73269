-- Who may deploy to environments: of a project by their names, of all projects below a group by their tiers.
CREATE TABLE protected_environments (
    id                      {{id}},
    project_id              BIGINT REFERENCES projects (id) ON DELETE CASCADE,
    group_id                BIGINT REFERENCES namespaces (id) ON DELETE CASCADE,
    name                    {{text}} NOT NULL, -- of an environment, or a tier
    required_approval_count BIGINT NOT NULL,   -- where there is no approval rule
    created_at              {{time}} NOT NULL,
    updated_at              {{time}} NOT NULL
);
CREATE UNIQUE INDEX protected_environments_project ON protected_environments (project_id, name);
CREATE UNIQUE INDEX protected_environments_group ON protected_environments (group_id, name);
CREATE TABLE protected_environment_levels (
    id                       {{id}},
    protected_environment_id BIGINT NOT NULL REFERENCES protected_environments (id) ON DELETE CASCADE,
    required_approvals       BIGINT, -- of an approval rule; NULL says who may deploy
    access_level             BIGINT,
    user_id                  BIGINT REFERENCES users (id) ON DELETE CASCADE,
    group_id                 BIGINT REFERENCES namespaces (id) ON DELETE CASCADE,
    group_inheritance_type   BIGINT NOT NULL -- 0 for direct members of the group, 1 for inherited ones as well
);
CREATE INDEX protected_environment_levels_rule ON protected_environment_levels (protected_environment_id, id);
CREATE INDEX protected_environment_levels_user ON protected_environment_levels (user_id) WHERE user_id IS NOT NULL;
CREATE INDEX protected_environment_levels_group ON protected_environment_levels (group_id) WHERE group_id IS NOT NULL;
-- Who approved or rejected a deployment that waits.
CREATE TABLE deployment_approvals (
    id            {{id}},
    deployment_id BIGINT NOT NULL REFERENCES deployments (id) ON DELETE CASCADE,
    user_id       BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    rule_id       BIGINT REFERENCES protected_environment_levels (id) ON DELETE SET NULL, -- that the user has chosen
    status        {{text}} NOT NULL, -- approved, rejected
    comment       {{text}},
    created_at    {{time}} NOT NULL,
    updated_at    {{time}} NOT NULL
);
CREATE UNIQUE INDEX deployment_approvals_user ON deployment_approvals (deployment_id, user_id);
CREATE INDEX deployment_approvals_of_user ON deployment_approvals (user_id);
CREATE INDEX deployment_approvals_rule ON deployment_approvals (rule_id) WHERE rule_id IS NOT NULL;
ALTER TABLE deployments ADD COLUMN approved BOOLEAN NOT NULL DEFAULT false; -- by all that its environment asks for
