-- Who changed the title or description of an issue last, and when.
ALTER TABLE issues ADD COLUMN last_edited_at {{time}};
ALTER TABLE issues ADD COLUMN last_edited_by_id BIGINT REFERENCES users (id) ON DELETE SET NULL;
CREATE INDEX issues_last_edited_by ON issues (last_edited_by_id) WHERE last_edited_by_id IS NOT NULL;

-- The same of a merge request, and who changed it last.
ALTER TABLE merge_requests ADD COLUMN last_edited_at {{time}};
ALTER TABLE merge_requests ADD COLUMN last_edited_by_id BIGINT REFERENCES users (id) ON DELETE SET NULL;
ALTER TABLE merge_requests ADD COLUMN updated_by_id BIGINT REFERENCES users (id) ON DELETE SET NULL;
CREATE INDEX merge_requests_last_edited_by ON merge_requests (last_edited_by_id) WHERE last_edited_by_id IS NOT NULL;
CREATE INDEX merge_requests_updated_by ON merge_requests (updated_by_id) WHERE updated_by_id IS NOT NULL;
