-- Trigger jobs that take over the state of another pipeline, which may be gone.
ALTER TABLE jobs ADD COLUMN upstream_pipeline_id BIGINT;
CREATE INDEX jobs_upstream ON jobs (upstream_pipeline_id) WHERE upstream_pipeline_id IS NOT NULL;
