-- Pipelines that are made at set times. The values of their variables are sealed.
CREATE TABLE pipeline_schedules (
    id            {{id}},
    project_id    BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    owner_id      BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE, -- as whom it runs; a departing user's go to the ghost
    description   {{text}} NOT NULL,
    ref           {{text}} NOT NULL, -- full name of a branch or tag
    cron          {{text}} NOT NULL,
    cron_timezone {{text}} NOT NULL,
    active        BOOLEAN NOT NULL,
    next_run_at   {{time}},          -- also of one that is not active; NULL is never
    created_at    {{time}} NOT NULL,
    updated_at    {{time}} NOT NULL
);
CREATE INDEX pipeline_schedules_project ON pipeline_schedules (project_id, id);
CREATE INDEX pipeline_schedules_owner ON pipeline_schedules (owner_id);
CREATE INDEX pipeline_schedules_due ON pipeline_schedules (next_run_at) WHERE active;

CREATE TABLE pipeline_schedule_variables (
    schedule_id BIGINT NOT NULL REFERENCES pipeline_schedules (id) ON DELETE CASCADE,
    key         {{text}} NOT NULL,
    sealed      {{text}} NOT NULL,
    file        BOOLEAN NOT NULL,
    raw         BOOLEAN NOT NULL,
    PRIMARY KEY (schedule_id, key)
);

ALTER TABLE pipelines ADD COLUMN schedule_id BIGINT REFERENCES pipeline_schedules (id) ON DELETE SET NULL;
CREATE INDEX pipelines_schedule ON pipelines (schedule_id, id) WHERE schedule_id IS NOT NULL;
