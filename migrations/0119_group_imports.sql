-- Imports of groups from archives. There is one for each group that was imported with those below it.
CREATE TABLE group_imports (
    id           {{id}},
    namespace_id BIGINT NOT NULL REFERENCES namespaces (id) ON DELETE CASCADE, -- of the first group
    user_id      BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    object       {{text}} NOT NULL, -- key of the archive, "" once the import has ended
    status       {{text}} NOT NULL, -- scheduled, started, finished, failed
    error        {{text}},          -- of one that failed
    attempts     BIGINT NOT NULL,
    created_at   {{time}} NOT NULL,
    updated_at   {{time}} NOT NULL
);
CREATE UNIQUE INDEX group_imports_namespace ON group_imports (namespace_id);
CREATE INDEX group_imports_user ON group_imports (user_id);
CREATE INDEX group_imports_object ON group_imports (object);

-- Groups that an import made, each with its progress.
CREATE TABLE imported_groups (
    id           {{id}},
    namespace_id BIGINT NOT NULL REFERENCES namespaces (id) ON DELETE CASCADE,
    import_id    BIGINT REFERENCES group_imports (id) ON DELETE CASCADE, -- NULL where it came by a direct transfer
    source_id    BIGINT NOT NULL,   -- its number at the source
    done         {{text}} NOT NULL, -- JSON array of the parts that are done with
    relation     {{text}} NOT NULL, -- that is being written, "" before the first
    line         BIGINT NOT NULL,   -- of it, the last that is done with
    counts       {{text}} NOT NULL, -- JSON of what became of the rows of each relation
    items        BIGINT NOT NULL,   -- rows of imported_group_items that were kept
    created_at   {{time}} NOT NULL,
    updated_at   {{time}} NOT NULL
);
CREATE UNIQUE INDEX imported_groups_namespace ON imported_groups (namespace_id);
CREATE UNIQUE INDEX imported_groups_source ON imported_groups (import_id, source_id) WHERE import_id IS NOT NULL;

-- Rows of groups that were not written as they are.
CREATE TABLE imported_group_items (
    id           {{id}},
    namespace_id BIGINT NOT NULL REFERENCES namespaces (id) ON DELETE CASCADE,
    relation     {{text}} NOT NULL,
    line         BIGINT NOT NULL,   -- from 1
    action       {{text}} NOT NULL, -- changed or lost
    failed       BOOLEAN NOT NULL,  -- the row is broken
    reason       {{text}} NOT NULL,
    title        {{text}} NOT NULL,
    created_at   {{time}} NOT NULL
);
CREATE INDEX imported_group_items_namespace ON imported_group_items (namespace_id, failed, id);
CREATE INDEX imported_group_items_created ON imported_group_items (created_at);
CREATE INDEX file_import_items_created ON file_import_items (created_at);
