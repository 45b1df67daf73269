-- CI/CD variables of projects, groups and the instance.
CREATE TABLE ci_variables (
    id                {{id}},
    namespace_id      BIGINT REFERENCES namespaces (id) ON DELETE CASCADE, -- of the project or group; null for the instance
    variable_type     {{text}} NOT NULL, -- env_var, file
    name              {{text}} NOT NULL, -- the key
    sealed            {{text}} NOT NULL, -- the value
    description       {{text}},
    environment_scope {{text}} NOT NULL, -- with * for anything; of the instance always *
    protected         BOOLEAN NOT NULL,
    masked            BOOLEAN NOT NULL,
    hidden            BOOLEAN NOT NULL, -- no endpoint shows the value
    raw               BOOLEAN NOT NULL, -- the value names no other variables
    created_at        {{time}} NOT NULL,
    updated_at        {{time}} NOT NULL
);
CREATE UNIQUE INDEX ci_variables_place ON ci_variables (namespace_id, name, environment_scope) WHERE namespace_id IS NOT NULL;
CREATE UNIQUE INDEX ci_variables_instance ON ci_variables (name) WHERE namespace_id IS NULL;

-- Tokens with which other systems start pipelines of a project, each as its owner.
CREATE TABLE pipeline_triggers (
    id           {{id}},
    project_id   BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    owner_id     BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    digest       {{text}} NOT NULL, -- of the token
    sealed       {{text}} NOT NULL, -- the token, which is shown to its owner
    description  {{text}} NOT NULL,
    expires_at   {{time}},
    last_used_at {{time}},
    created_at   {{time}} NOT NULL,
    updated_at   {{time}} NOT NULL
);
CREATE UNIQUE INDEX pipeline_triggers_digest ON pipeline_triggers (digest);
CREATE INDEX pipeline_triggers_project ON pipeline_triggers (project_id, id);
CREATE INDEX pipeline_triggers_owner ON pipeline_triggers (owner_id);

-- Files that jobs of a project need and that stand in no repository. Their content is sealed
-- in the object store.
CREATE TABLE secure_files (
    id         {{id}},
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    user_id    BIGINT REFERENCES users (id) ON DELETE SET NULL, -- who uploaded it
    name       {{text}} NOT NULL,
    object     {{text}} NOT NULL, -- key in the object store
    size       BIGINT NOT NULL,   -- bytes of the content
    checksum   {{text}} NOT NULL, -- SHA-256 of the content, in hex
    metadata   {{text}},          -- JSON object of what a certificate says; null for other files
    expires_at {{time}},          -- of a certificate
    created_at {{time}} NOT NULL,
    updated_at {{time}} NOT NULL
);
CREATE UNIQUE INDEX secure_files_name ON secure_files (project_id, name);
CREATE INDEX secure_files_user ON secure_files (user_id) WHERE user_id IS NOT NULL;
