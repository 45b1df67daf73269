-- Archives of groups as well: what an archive is of, a project or a group, is named by its namespace.
ALTER TABLE project_exports RENAME TO exports;
ALTER TABLE exports ADD COLUMN namespace_id BIGINT REFERENCES namespaces (id) ON DELETE CASCADE;
UPDATE exports SET namespace_id = (SELECT p.namespace_id FROM projects p WHERE p.id = exports.project_id);
DROP INDEX project_exports_project;
DROP INDEX project_exports_user;
DROP INDEX project_exports_updated;
ALTER TABLE exports DROP COLUMN project_id;
CREATE INDEX exports_namespace ON exports (namespace_id, user_id);
CREATE INDEX exports_user ON exports (user_id);
CREATE INDEX exports_updated ON exports (updated_at);
