-- Whether a pipeline has failed at some time, though its jobs may have been retried since.
ALTER TABLE pipelines ADD COLUMN has_failed BOOLEAN NOT NULL DEFAULT false;
