-- The key that signs the ID tokens of jobs.
CREATE TABLE id_token_keys (
    id         {{id}},
    sealed     {{text}} NOT NULL,  -- the private key
    current    BOOLEAN NOT NULL,   -- signs; there is one
    created_at {{time}} NOT NULL
);
CREATE UNIQUE INDEX id_token_keys_current ON id_token_keys (current);

-- Projects that let the jobs of all projects in, by the namespace of the project.
CREATE TABLE job_token_open (
    namespace_id BIGINT PRIMARY KEY REFERENCES namespaces (id) ON DELETE CASCADE
);

-- Whose jobs a project lets in otherwise.
CREATE TABLE job_token_allowlist (
    namespace_id BIGINT NOT NULL REFERENCES namespaces (id) ON DELETE CASCADE, -- of the project
    allowed_id   BIGINT NOT NULL REFERENCES namespaces (id) ON DELETE CASCADE, -- of another project, or a group
    added_by     BIGINT REFERENCES users (id) ON DELETE SET NULL,
    created_at   {{time}} NOT NULL,
    PRIMARY KEY (namespace_id, allowed_id)
);
CREATE INDEX job_token_allowlist_allowed ON job_token_allowlist (allowed_id);
CREATE INDEX job_token_allowlist_added_by ON job_token_allowlist (added_by) WHERE added_by IS NOT NULL;
