-- Runners, which run the jobs of pipelines. A runner serves the whole instance, the projects
-- below a group, or the projects that it is assigned to.
CREATE TABLE runners (
    id               {{id}},
    runner_type      {{text}} NOT NULL, -- instance_type, group_type, project_type
    namespace_id     BIGINT REFERENCES namespaces (id) ON DELETE CASCADE, -- of a group runner
    creator_id       BIGINT REFERENCES users (id) ON DELETE SET NULL, -- null where it was registered
    registered       BOOLEAN NOT NULL,  -- with a registration token
    digest           {{text}} NOT NULL, -- of the authentication token
    token_expires_at {{time}},
    description      {{text}},
    maintenance_note {{text}},
    paused           BOOLEAN NOT NULL,
    locked           BOOLEAN NOT NULL,
    run_untagged     BOOLEAN NOT NULL,
    ref_protected    BOOLEAN NOT NULL,
    maximum_timeout  BIGINT,            -- seconds
    tags             {{text}} NOT NULL, -- JSON array of names, for reading; see runner_tags
    name             {{text}},          -- of the program that contacted last, and what it said of itself
    version          {{text}},
    revision         {{text}},
    platform         {{text}},
    architecture     {{text}},
    ip_address       {{text}},
    contacted_at     {{time}},
    created_at       {{time}} NOT NULL,
    updated_at       {{time}} NOT NULL
);
CREATE UNIQUE INDEX runners_digest ON runners (digest);
CREATE INDEX runners_namespace ON runners (namespace_id) WHERE namespace_id IS NOT NULL;
CREATE INDEX runners_creator ON runners (creator_id) WHERE creator_id IS NOT NULL;
CREATE INDEX runners_type ON runners (runner_type, id);

CREATE TABLE runner_tags (
    runner_id BIGINT NOT NULL REFERENCES runners (id) ON DELETE CASCADE,
    name      {{text}} NOT NULL,
    PRIMARY KEY (runner_id, name)
);
CREATE INDEX runner_tags_name ON runner_tags (name, runner_id);

-- The projects that a project runner is assigned to; the first of them owns it.
CREATE TABLE runner_projects (
    id         {{id}},
    runner_id  BIGINT NOT NULL REFERENCES runners (id) ON DELETE CASCADE,
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    created_at {{time}} NOT NULL
);
CREATE UNIQUE INDEX runner_projects_runner ON runner_projects (runner_id, project_id);
CREATE INDEX runner_projects_project ON runner_projects (project_id, runner_id);

-- The machines that use the token of a runner.
CREATE TABLE runner_managers (
    id           {{id}},
    runner_id    BIGINT NOT NULL REFERENCES runners (id) ON DELETE CASCADE,
    system_id    {{text}} NOT NULL,
    name         {{text}},
    version      {{text}},
    revision     {{text}},
    platform     {{text}},
    architecture {{text}},
    ip_address   {{text}},
    created_at   {{time}} NOT NULL,
    contacted_at {{time}} NOT NULL
);
CREATE UNIQUE INDEX runner_managers_system ON runner_managers (runner_id, system_id);

-- Tokens with which runners are registered, made when they are first asked for.
CREATE TABLE registration_tokens (
    id           {{id}},
    runner_type  {{text}} NOT NULL, -- of the runners that it registers
    namespace_id BIGINT REFERENCES namespaces (id) ON DELETE CASCADE, -- of the group or project; null for the instance
    digest       {{text}} NOT NULL,
    sealed       {{text}} NOT NULL,
    created_at   {{time}} NOT NULL,
    updated_at   {{time}} NOT NULL
);
CREATE UNIQUE INDEX registration_tokens_digest ON registration_tokens (digest);
CREATE UNIQUE INDEX registration_tokens_place ON registration_tokens (namespace_id) WHERE namespace_id IS NOT NULL;
CREATE UNIQUE INDEX registration_tokens_instance ON registration_tokens (runner_type) WHERE namespace_id IS NULL;

-- The runners that projects take stood in the object of their settings, which holds what
-- differs from the defaults, without spaces.
ALTER TABLE projects ADD COLUMN shared_runners_enabled BOOLEAN NOT NULL DEFAULT true;
ALTER TABLE projects ADD COLUMN group_runners_enabled BOOLEAN NOT NULL DEFAULT true;
UPDATE projects SET shared_runners_enabled = false WHERE settings LIKE '%"shared_runners_enabled":false%';
UPDATE projects SET group_runners_enabled = false WHERE settings LIKE '%"group_runners_enabled":false%';
