-- Where projects are deployed to, and what was deployed there.
CREATE TABLE environments (
    id                   {{id}},
    project_id           BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    name                 {{text}} NOT NULL,
    name_fold            {{text}} NOT NULL,
    slug                 {{text}} NOT NULL,
    environment_type     {{text}},          -- folder: the part of the name before its first slash
    tier                 {{text}} NOT NULL, -- production, staging, testing, development, other
    state                {{text}} NOT NULL, -- available, stopping, stopped
    external_url         {{text}},
    description          {{text}},
    kubernetes_namespace {{text}},
    flux_resource_path   {{text}},
    auto_stop_setting    {{text}} NOT NULL, -- always, with_action
    auto_stop_at         {{time}},
    auto_delete_at       {{time}},
    created_at           {{time}} NOT NULL,
    updated_at           {{time}} NOT NULL
);
CREATE UNIQUE INDEX environments_name ON environments (project_id, name);
CREATE UNIQUE INDEX environments_slug ON environments (project_id, slug);
CREATE INDEX environments_project ON environments (project_id, id);
CREATE INDEX environments_auto_stop ON environments (auto_stop_at) WHERE auto_stop_at IS NOT NULL;
CREATE INDEX environments_auto_delete ON environments (auto_delete_at) WHERE auto_delete_at IS NOT NULL;
CREATE TABLE deployments (
    id             {{id}},
    iid            BIGINT NOT NULL,
    project_id     BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    environment_id BIGINT NOT NULL REFERENCES environments (id) ON DELETE CASCADE,
    user_id        BIGINT REFERENCES users (id) ON DELETE SET NULL,
    job_id         BIGINT REFERENCES commit_statuses (id) ON DELETE SET NULL,
    by_job         BOOLEAN NOT NULL,  -- made by a job, which may be gone
    ref            {{text}} NOT NULL, -- short name
    tag            BOOLEAN NOT NULL,
    sha            {{text}} NOT NULL,
    status         {{text}} NOT NULL, -- created, running, success, failed, canceled, skipped, blocked
    on_stop        {{text}},          -- name of the job that stops the environment
    created_at     {{time}} NOT NULL,
    updated_at     {{time}} NOT NULL,
    finished_at    {{time}}
);
CREATE UNIQUE INDEX deployments_iid ON deployments (project_id, iid);
CREATE INDEX deployments_project ON deployments (project_id, id);
CREATE INDEX deployments_updated ON deployments (project_id, updated_at, id);
CREATE INDEX deployments_finished ON deployments (project_id, status, finished_at, id);
CREATE INDEX deployments_ref ON deployments (project_id, ref, id);
CREATE INDEX deployments_environment ON deployments (environment_id, status, id);
CREATE INDEX deployments_job ON deployments (job_id);
CREATE INDEX deployments_user ON deployments (user_id);
