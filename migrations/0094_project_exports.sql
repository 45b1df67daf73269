-- Archives of projects that users asked for.
CREATE TABLE project_exports (
    id            {{id}},
    project_id    BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    user_id       BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    status        {{text}} NOT NULL, -- queued, started, finished or failed
    description   {{text}},          -- in place of that of the project
    sealed_upload {{text}},          -- URL that the archive is sent to
    upload_method {{text}} NOT NULL,
    object        {{text}} NOT NULL, -- key of the archive, "" before it is begun
    name          {{text}} NOT NULL, -- of the file
    size          BIGINT NOT NULL,
    attempts      BIGINT NOT NULL,
    error         {{text}},
    created_at    {{time}} NOT NULL,
    updated_at    {{time}} NOT NULL
);
CREATE INDEX project_exports_project ON project_exports (project_id, user_id);
CREATE INDEX project_exports_user ON project_exports (user_id);
CREATE INDEX project_exports_updated ON project_exports (updated_at);
