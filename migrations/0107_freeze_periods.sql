-- When projects are not to be deployed: from a tick of one line of cron to the next tick of another.
CREATE TABLE freeze_periods (
    id            {{id}},
    project_id    BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    freeze_start  {{text}} NOT NULL,
    freeze_end    {{text}} NOT NULL,
    cron_timezone {{text}} NOT NULL,
    created_at    {{time}} NOT NULL,
    updated_at    {{time}} NOT NULL
);
CREATE INDEX freeze_periods_project ON freeze_periods (project_id, created_at, id);
