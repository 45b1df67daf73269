-- Direct transfers from other servers into this one.
CREATE TABLE bulk_imports (
    id         {{id}},
    user_id    BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    url        {{text}} NOT NULL, -- of the source, without a slash at its end
    version    {{text}} NOT NULL, -- of the source
    token      {{text}} NOT NULL, -- for the source, sealed; "" once it is forgotten
    status     {{text}} NOT NULL, -- created, started, finished, failed, canceled
    created_at {{time}} NOT NULL,
    updated_at {{time}} NOT NULL
);
CREATE INDEX bulk_imports_user ON bulk_imports (user_id, created_at, id);
CREATE INDEX bulk_imports_open ON bulk_imports (updated_at) WHERE token <> '';

-- Groups and projects of a transfer.
CREATE TABLE bulk_import_entities (
    id             {{id}},
    bulk_import_id BIGINT NOT NULL REFERENCES bulk_imports (id) ON DELETE CASCADE,
    parent_id      BIGINT REFERENCES bulk_import_entities (id) ON DELETE CASCADE,
    kind           {{text}} NOT NULL, -- group, project
    source_path    {{text}} NOT NULL, -- full path
    source_id      BIGINT,            -- its number at the source, once that is known
    slug           {{text}} NOT NULL, -- path here
    destination    {{text}} NOT NULL, -- full path of the group that it is made in, "" for the top level
    status         {{text}} NOT NULL, -- as in bulk_imports
    namespace_id   BIGINT REFERENCES namespaces (id) ON DELETE SET NULL, -- of a group, once it is there
    project_id     BIGINT REFERENCES projects (id) ON DELETE SET NULL,   -- of a project, once it is there
    visibility     BIGINT NOT NULL,   -- at the source
    no_projects    BOOLEAN NOT NULL,  -- projects stay
    no_members     BOOLEAN NOT NULL,  -- memberships stay
    requested_at   {{time}},          -- when the source was asked to export its relations
    attempts       BIGINT NOT NULL,   -- that failed one after the other
    created_at     {{time}} NOT NULL,
    updated_at     {{time}} NOT NULL
);
CREATE INDEX bulk_import_entities_import ON bulk_import_entities (bulk_import_id, created_at, id);
CREATE UNIQUE INDEX bulk_import_entities_path ON bulk_import_entities (bulk_import_id, kind, source_path, destination, slug);
CREATE INDEX bulk_import_entities_parent ON bulk_import_entities (parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX bulk_import_entities_namespace ON bulk_import_entities (namespace_id) WHERE namespace_id IS NOT NULL;
CREATE INDEX bulk_import_entities_project ON bulk_import_entities (project_id) WHERE project_id IS NOT NULL;

-- Relations of an entity that the source has exported.
CREATE TABLE bulk_import_files (
    id         {{id}},
    entity_id  BIGINT NOT NULL REFERENCES bulk_import_entities (id) ON DELETE CASCADE,
    relation   {{text}} NOT NULL,
    object     {{text}} NOT NULL, -- key of the file, "" for one that there is not
    created_at {{time}} NOT NULL
);
CREATE UNIQUE INDEX bulk_import_files_relation ON bulk_import_files (entity_id, relation);
CREATE INDEX bulk_import_files_object ON bulk_import_files (object);

CREATE TABLE bulk_import_failures (
    id             {{id}},
    entity_id      BIGINT NOT NULL REFERENCES bulk_import_entities (id) ON DELETE CASCADE,
    relation       {{text}} NOT NULL,
    step           {{text}} NOT NULL, -- extractor, loader
    message        {{text}} NOT NULL,
    class          {{text}} NOT NULL,
    correlation_id {{text}} NOT NULL,
    created_at     {{time}} NOT NULL
);
CREATE INDEX bulk_import_failures_entity ON bulk_import_failures (entity_id, id);
