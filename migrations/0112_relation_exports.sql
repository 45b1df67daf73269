-- Files of single relations of projects and groups, which destinations of direct transfers download.
CREATE TABLE relation_exports (
    id           {{id}},
    namespace_id BIGINT NOT NULL REFERENCES namespaces (id) ON DELETE CASCADE, -- of the project or group
    user_id      BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    run          {{text}} NOT NULL, -- names the request that the relation was asked for with
    relation     {{text}} NOT NULL,
    status       BIGINT NOT NULL,   -- 0 started, 1 finished, -1 failed
    error        {{text}},
    batched      BOOLEAN NOT NULL,
    objects      BIGINT NOT NULL,   -- lines
    created_at   {{time}} NOT NULL,
    updated_at   {{time}} NOT NULL
);
CREATE UNIQUE INDEX relation_exports_relation ON relation_exports (namespace_id, user_id, relation);
CREATE INDEX relation_exports_user ON relation_exports (user_id);
CREATE INDEX relation_exports_updated ON relation_exports (updated_at);

CREATE TABLE relation_export_files (
    id         {{id}},
    export_id  BIGINT NOT NULL REFERENCES relation_exports (id) ON DELETE CASCADE,
    number     BIGINT NOT NULL,   -- of the batch, from 1; 0 for the only file
    object     {{text}} NOT NULL, -- key of the file
    name       {{text}} NOT NULL, -- for those who download it
    objects    BIGINT NOT NULL,   -- lines
    created_at {{time}} NOT NULL
);
CREATE UNIQUE INDEX relation_export_files_number ON relation_export_files (export_id, number);
CREATE INDEX relation_export_files_object ON relation_export_files (object);
