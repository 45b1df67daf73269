-- What a thing was mentioned in, for system notes that say so: who may not read that does not see the note.
ALTER TABLE notes ADD COLUMN source_type {{text}};     -- Issue, MergeRequest; null of all other notes
ALTER TABLE notes ADD COLUMN source_id BIGINT;
ALTER TABLE notes ADD COLUMN source_project_id BIGINT; -- that it stands in
CREATE UNIQUE INDEX notes_source ON notes (noteable_type, noteable_id, source_project_id, source_type, source_id) WHERE source_type IS NOT NULL;
CREATE INDEX notes_source_of ON notes (source_type, source_id) WHERE source_type IS NOT NULL;
