-- Discussions are the notes of a thing with one discussion_id; a thread that can be resolved is one of a merge request whose notes have a type.
CREATE INDEX notes_discussion ON notes (noteable_type, noteable_id, discussion_id, id);
CREATE INDEX notes_thread ON notes (noteable_type, noteable_id, discussion_id, resolved_at) WHERE type IS NOT NULL;

ALTER TABLE merge_requests ADD COLUMN resolvable_discussions_count BIGINT NOT NULL DEFAULT 0; -- threads that can be resolved
ALTER TABLE merge_requests ADD COLUMN unresolved_discussions_count BIGINT NOT NULL DEFAULT 0; -- of these, those that are not
