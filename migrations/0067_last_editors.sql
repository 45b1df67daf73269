-- Who changed an issue last.
ALTER TABLE issues ADD COLUMN updated_by_id BIGINT REFERENCES users (id) ON DELETE SET NULL;
CREATE INDEX issues_updated_by ON issues (updated_by_id) WHERE updated_by_id IS NOT NULL;

-- Who changed the text of a comment last, and when.
ALTER TABLE notes ADD COLUMN last_edited_at {{time}};
ALTER TABLE notes ADD COLUMN last_edited_by_id BIGINT REFERENCES users (id) ON DELETE SET NULL;
CREATE INDEX notes_last_edited_by ON notes (last_edited_by_id) WHERE last_edited_by_id IS NOT NULL;
