-- Projects that are, or were, imported from an archive. There is one for each project.
CREATE TABLE file_imports (
    id          {{id}},
    project_id  BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    user_id     BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    replaces_id BIGINT,            -- project whose place it takes once it is whole
    object      {{text}} NOT NULL, -- key of the archive, "" once the import has ended
    overrides   {{text}} NOT NULL, -- JSON of what the user asked for in place of what the archive says
    done        {{text}} NOT NULL, -- JSON array of the parts that are done with
    relation    {{text}} NOT NULL, -- that is being written, "" before the first
    line        BIGINT NOT NULL,   -- of it, the last that is done with
    counts      {{text}} NOT NULL, -- JSON of what became of the rows of each relation
    items       BIGINT NOT NULL,   -- rows of file_import_items that were kept
    attempts    BIGINT NOT NULL,
    created_at  {{time}} NOT NULL,
    updated_at  {{time}} NOT NULL
);
CREATE UNIQUE INDEX file_imports_project ON file_imports (project_id);
CREATE INDEX file_imports_user ON file_imports (user_id);
CREATE INDEX file_imports_object ON file_imports (object);

-- Rows of archives that were not written as they are: failed relations, and what was lost or changed.
CREATE TABLE file_import_items (
    id         {{id}},
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    relation   {{text}} NOT NULL,
    line       BIGINT NOT NULL,   -- from 1
    action     {{text}} NOT NULL, -- changed or lost
    failed     BOOLEAN NOT NULL,  -- the row is broken
    reason     {{text}} NOT NULL,
    title      {{text}} NOT NULL,
    created_at {{time}} NOT NULL
);
CREATE INDEX file_import_items_project ON file_import_items (project_id, failed, id);
