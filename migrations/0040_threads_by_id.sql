-- GraphQL names a thread by its discussion id alone.
CREATE INDEX notes_thread_id ON notes (discussion_id) WHERE type IS NOT NULL AND noteable_type = 'MergeRequest';
