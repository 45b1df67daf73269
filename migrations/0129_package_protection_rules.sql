-- Protection rules of packages: from which level on packages are published and deleted whose names match a pattern.
CREATE TABLE package_protection_rules (
    id           {{id}},
    project_id   BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    kind         {{text}} NOT NULL,
    pattern      {{text}} NOT NULL, -- * stands for any characters
    push_level   BIGINT,            -- null restricts nothing
    delete_level BIGINT,
    created_at   {{time}} NOT NULL,
    updated_at   {{time}} NOT NULL
);
CREATE UNIQUE INDEX package_protection_rules_pattern ON package_protection_rules (project_id, kind, pattern);

-- The level of who uploaded what a job publishes; null for uploads of before.
ALTER TABLE debian_uploads ADD COLUMN level BIGINT;

CREATE INDEX package_files_made ON package_files (package_id, pipeline_id) WHERE pipeline_id IS NOT NULL;
