-- Lines of imported files that were lost, as they came. They are kept for 30 days.
CREATE TABLE import_lines (
    id           {{id}},
    project_id   BIGINT REFERENCES projects (id) ON DELETE CASCADE,   -- whose import had them; else
    namespace_id BIGINT REFERENCES namespaces (id) ON DELETE CASCADE, -- of the group
    object       {{text}} NOT NULL, -- key of the file
    size         BIGINT NOT NULL,
    files        {{text}} NOT NULL, -- JSON array of the files of the archive that it has whole
    created_at   {{time}} NOT NULL
);
CREATE INDEX import_lines_project ON import_lines (project_id, id) WHERE project_id IS NOT NULL;
CREATE INDEX import_lines_namespace ON import_lines (namespace_id, id) WHERE namespace_id IS NOT NULL;
CREATE INDEX import_lines_object ON import_lines (object);
CREATE INDEX import_lines_created ON import_lines (created_at);

-- Where rows that were lost are in the archive: the file, and the place in its line; NULL for those that are not kept.
ALTER TABLE file_import_items ADD COLUMN file {{text}} NOT NULL DEFAULT '';
ALTER TABLE file_import_items ADD COLUMN place {{text}};
ALTER TABLE file_import_items ADD COLUMN kept_in BIGINT REFERENCES import_lines (id) ON DELETE SET NULL;
CREATE INDEX file_import_items_kept ON file_import_items (kept_in) WHERE kept_in IS NOT NULL;
ALTER TABLE imported_group_items ADD COLUMN file {{text}} NOT NULL DEFAULT '';
ALTER TABLE imported_group_items ADD COLUMN place {{text}};
ALTER TABLE imported_group_items ADD COLUMN kept_in BIGINT REFERENCES import_lines (id) ON DELETE SET NULL;
CREATE INDEX imported_group_items_kept ON imported_group_items (kept_in) WHERE kept_in IS NOT NULL;
