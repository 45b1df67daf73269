-- Issues are linked with each other, moved, cloned and marked as duplicates.
CREATE TABLE issue_links (
    id         {{id}},
    source_id  BIGINT NOT NULL REFERENCES issues (id) ON DELETE CASCADE,
    target_id  BIGINT NOT NULL REFERENCES issues (id) ON DELETE CASCADE,
    link_type  {{text}} NOT NULL, -- relates_to, blocks
    created_at {{time}} NOT NULL,
    updated_at {{time}} NOT NULL
);
CREATE UNIQUE INDEX issue_links_pair ON issue_links (source_id, target_id);
CREATE INDEX issue_links_target ON issue_links (target_id, source_id);

ALTER TABLE issues ADD COLUMN moved_to_id BIGINT REFERENCES issues (id) ON DELETE SET NULL;
ALTER TABLE issues ADD COLUMN duplicated_to_id BIGINT REFERENCES issues (id) ON DELETE SET NULL;
CREATE INDEX issues_moved_to ON issues (moved_to_id) WHERE moved_to_id IS NOT NULL;
CREATE INDEX issues_duplicated_to ON issues (duplicated_to_id) WHERE duplicated_to_id IS NOT NULL;
