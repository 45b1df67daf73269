-- Feature flags of projects, and the lists of users that strategies name.
CREATE TABLE feature_flag_user_lists (
    id         {{id}},
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    iid        BIGINT NOT NULL,
    name       {{text}} NOT NULL,
    name_fold  {{text}} NOT NULL, -- for searches
    user_xids  {{text}} NOT NULL, -- ids of the users of the application, with commas between them
    created_at {{time}} NOT NULL,
    updated_at {{time}} NOT NULL
);
CREATE UNIQUE INDEX feature_flag_user_lists_iid ON feature_flag_user_lists (project_id, iid);
CREATE UNIQUE INDEX feature_flag_user_lists_name ON feature_flag_user_lists (project_id, name);
CREATE TABLE feature_flags (
    id          {{id}},
    project_id  BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    name        {{text}} NOT NULL,
    description {{text}},
    active      BOOLEAN NOT NULL,
    created_at  {{time}} NOT NULL,
    updated_at  {{time}} NOT NULL
);
CREATE UNIQUE INDEX feature_flags_name ON feature_flags (project_id, name);
CREATE TABLE feature_flag_strategies (
    id           {{id}},
    flag_id      BIGINT NOT NULL REFERENCES feature_flags (id) ON DELETE CASCADE,
    name         {{text}} NOT NULL,
    parameters   {{text}} NOT NULL, -- JSON object of texts
    user_list_id BIGINT REFERENCES feature_flag_user_lists (id) ON DELETE CASCADE
);
CREATE INDEX feature_flag_strategies_flag ON feature_flag_strategies (flag_id, id);
CREATE INDEX feature_flag_strategies_list ON feature_flag_strategies (user_list_id);
CREATE TABLE feature_flag_scopes (
    id                {{id}},
    strategy_id       BIGINT NOT NULL REFERENCES feature_flag_strategies (id) ON DELETE CASCADE,
    environment_scope {{text}} NOT NULL -- name of an environment, with wildcards
);
CREATE UNIQUE INDEX feature_flag_scopes_strategy ON feature_flag_scopes (strategy_id, environment_scope);
-- What Unleash clients identify themselves with.
CREATE TABLE feature_flag_clients (
    project_id BIGINT PRIMARY KEY REFERENCES projects (id) ON DELETE CASCADE,
    digest     {{text}} NOT NULL, -- of the instance id
    created_at {{time}} NOT NULL
);
