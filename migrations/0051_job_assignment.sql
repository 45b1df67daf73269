-- What a runner is given is found without looking at every job that waits, and the end of a job without reading its whole pipeline.
DROP INDEX job_queue_project;
CREATE INDEX job_queue_project ON job_queue (project_id, job_id);
CREATE INDEX commit_statuses_running ON commit_statuses (project_id) WHERE status = 'running';
CREATE INDEX commit_statuses_live ON commit_statuses (pipeline_id, stage_idx, status) WHERE status IN ('created', 'pending', 'running');
