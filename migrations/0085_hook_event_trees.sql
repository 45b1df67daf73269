-- Events are handed over by turns of the top-level groups and personal namespaces that they were in.
ALTER TABLE hook_events ADD COLUMN tree_id BIGINT NOT NULL DEFAULT 0; -- namespace, which may be gone; 0 for the instance
CREATE INDEX hook_events_tree ON hook_events (tree_id, id);
