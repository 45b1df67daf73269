-- Pipelines that this server runs. A job of a pipeline and a status that another system reported are
-- rows of one table; what only jobs have stands in tables of their own, by the same id.
ALTER TABLE pipelines ADD COLUMN tag BOOLEAN NOT NULL DEFAULT false;
ALTER TABLE pipelines ADD COLUMN before_sha {{text}}; -- where the reference stood before a push
ALTER TABLE pipelines ADD COLUMN name {{text}};
ALTER TABLE pipelines ADD COLUMN yaml_errors {{text}};
ALTER TABLE pipelines ADD COLUMN failure_reason {{text}};
ALTER TABLE pipelines ADD COLUMN protected BOOLEAN NOT NULL DEFAULT false; -- the reference was, when it began
ALTER TABLE pipelines ADD COLUMN started_at {{time}};
ALTER TABLE pipelines ADD COLUMN finished_at {{time}};
ALTER TABLE pipelines ADD COLUMN auto_cancel {{text}} NOT NULL DEFAULT 'conservative'; -- what a newer pipeline of the reference does: conservative, interruptible, none
ALTER TABLE pipelines ADD COLUMN upstream_job_id BIGINT; -- bridge that started it, which may be gone; a reference would lead in a circle
CREATE INDEX pipelines_ref ON pipelines (project_id, ref, id);
CREATE INDEX pipelines_project ON pipelines (project_id, id);
CREATE INDEX pipelines_upstream ON pipelines (upstream_job_id);

ALTER TABLE commit_statuses ADD COLUMN project_id BIGINT REFERENCES projects (id) ON DELETE CASCADE; -- of its pipeline, never NULL
ALTER TABLE commit_statuses ADD COLUMN kind {{text}} NOT NULL DEFAULT 'external'; -- external, job, bridge
ALTER TABLE commit_statuses ADD COLUMN stage_idx BIGINT NOT NULL DEFAULT 1000000; -- place of the stage; external statuses come last
ALTER TABLE commit_statuses ADD COLUMN allow_failure BOOLEAN NOT NULL DEFAULT false;
ALTER TABLE commit_statuses ADD COLUMN failure_reason {{text}};
ALTER TABLE commit_statuses ADD COLUMN queued_at {{time}}; -- when it became pending
UPDATE commit_statuses SET project_id = (SELECT p.project_id FROM pipelines p WHERE p.id = commit_statuses.pipeline_id);
CREATE INDEX commit_statuses_project ON commit_statuses (project_id, id);
CREATE INDEX commit_statuses_active ON commit_statuses (project_id) WHERE status IN ('pending', 'running', 'canceling');

-- What only jobs and bridges have.
CREATE TABLE jobs (
    job_id          BIGINT PRIMARY KEY REFERENCES commit_statuses (id) ON DELETE CASCADE,
    definition      {{text}} NOT NULL, -- JSON, what the configuration says of it
    run_when        {{text}} NOT NULL, -- on_success, on_failure, always, manual, delayed
    by_needs        BOOLEAN NOT NULL,  -- waits for job_needs instead of earlier stages
    interruptible   BOOLEAN NOT NULL,
    scheduled_at    {{time}},          -- when a delayed job starts
    timeout         BIGINT NOT NULL,   -- seconds
    attempt         BIGINT NOT NULL,   -- 0 for the first of its name, one more for each retry
    runner_id       BIGINT REFERENCES runners (id) ON DELETE SET NULL,
    manager_id      BIGINT REFERENCES runner_managers (id) ON DELETE SET NULL,
    token_digest    {{text}},          -- of the job token, while the job runs
    contacted_at    {{time}},          -- when its runner was last heard of
    deadline        {{time}},          -- when the server ends it, where its runner has not
    exit_code       BIGINT,
    cancelable      BOOLEAN NOT NULL,  -- its runner runs after_script of a canceled job
    log_size        BIGINT NOT NULL,   -- bytes
    log_key         {{text}},          -- object with the whole log, once it is joined
    erased_at       {{time}},
    erased_by       BIGINT REFERENCES users (id) ON DELETE SET NULL
);
CREATE INDEX jobs_runner ON jobs (runner_id, job_id);
CREATE INDEX jobs_manager ON jobs (manager_id);
CREATE INDEX jobs_erased_by ON jobs (erased_by);
CREATE INDEX jobs_scheduled ON jobs (scheduled_at) WHERE scheduled_at IS NOT NULL;
CREATE UNIQUE INDEX jobs_token ON jobs (token_digest) WHERE token_digest IS NOT NULL;

-- Jobs that a job waits for, and whose artifacts it takes.
CREATE TABLE job_needs (
    job_id    BIGINT NOT NULL REFERENCES commit_statuses (id) ON DELETE CASCADE,
    position  BIGINT NOT NULL,
    name      {{text}} NOT NULL,
    artifacts BOOLEAN NOT NULL,
    optional  BOOLEAN NOT NULL,
    PRIMARY KEY (job_id, position)
);

-- Jobs that wait for a runner.
CREATE TABLE job_queue (
    job_id     BIGINT PRIMARY KEY REFERENCES commit_statuses (id) ON DELETE CASCADE,
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    protected  BOOLEAN NOT NULL,
    tags       BIGINT NOT NULL, -- how many job_tags it has
    queued_at  {{time}} NOT NULL
);
CREATE INDEX job_queue_project ON job_queue (project_id);
CREATE TABLE job_tags (
    job_id BIGINT NOT NULL REFERENCES commit_statuses (id) ON DELETE CASCADE,
    tag    {{text}} NOT NULL,
    PRIMARY KEY (job_id, tag)
);

-- Variables that a pipeline was started with, and those that a job got from other jobs or its
-- user. Values are sealed.
CREATE TABLE pipeline_variables (
    pipeline_id BIGINT NOT NULL REFERENCES pipelines (id) ON DELETE CASCADE,
    key         {{text}} NOT NULL,
    value       {{text}} NOT NULL,
    file        BOOLEAN NOT NULL,
    raw         BOOLEAN NOT NULL,
    PRIMARY KEY (pipeline_id, key)
);
CREATE TABLE job_variables (
    job_id BIGINT NOT NULL REFERENCES commit_statuses (id) ON DELETE CASCADE,
    key    {{text}} NOT NULL,
    value  {{text}} NOT NULL,
    dotenv BOOLEAN NOT NULL, -- a report of the job, for those that come after it
    PRIMARY KEY (job_id, key)
);

-- The log of a job, in pieces as they came, until they are joined into one object.
CREATE TABLE job_log_pieces (
    job_id BIGINT NOT NULL REFERENCES commit_statuses (id) ON DELETE CASCADE,
    start  BIGINT NOT NULL,
    data   {{bytes}} NOT NULL,
    PRIMARY KEY (job_id, start)
);

CREATE TABLE job_artifacts (
    id         {{id}},
    job_id     BIGINT NOT NULL REFERENCES commit_statuses (id) ON DELETE CASCADE,
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    type       {{text}} NOT NULL, -- archive, metadata, junit, dotenv, ...
    format     {{text}} NOT NULL, -- zip, gzip, raw
    filename   {{text}} NOT NULL,
    object_key {{text}} NOT NULL,
    size       BIGINT NOT NULL,   -- bytes
    sha256     {{text}} NOT NULL,
    access     {{text}} NOT NULL, -- public, private, none
    expire_at  {{time}},          -- NULL is never
    created_at {{time}} NOT NULL
);
CREATE UNIQUE INDEX job_artifacts_type ON job_artifacts (job_id, type);
CREATE INDEX job_artifacts_project ON job_artifacts (project_id);
CREATE INDEX job_artifacts_expire ON job_artifacts (expire_at) WHERE expire_at IS NOT NULL;
