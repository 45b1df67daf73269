-- Jobs of a project that share a key run one at a time: those of a group that are pending or
-- running hold it.
CREATE TABLE resource_groups (
    id           {{id}},
    project_id   BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    key          {{text}} NOT NULL,
    process_mode {{text}} NOT NULL, -- unordered, oldest_first, newest_first, newest_ready_first
    created_at   {{time}} NOT NULL,
    updated_at   {{time}} NOT NULL
);
CREATE UNIQUE INDEX resource_groups_key ON resource_groups (project_id, key);

ALTER TABLE commit_statuses ADD COLUMN resource_group_id BIGINT REFERENCES resource_groups (id) ON DELETE SET NULL;
CREATE INDEX commit_statuses_resource ON commit_statuses (resource_group_id, status) WHERE resource_group_id IS NOT NULL;
CREATE INDEX commit_statuses_waiting ON commit_statuses (resource_group_id) WHERE status = 'waiting_for_resource';
