-- The trigger token that started a pipeline.
ALTER TABLE pipelines ADD COLUMN trigger_id BIGINT REFERENCES pipeline_triggers (id) ON DELETE SET NULL;
CREATE INDEX pipelines_trigger ON pipelines (trigger_id) WHERE trigger_id IS NOT NULL;
