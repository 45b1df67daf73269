-- Jobs that deploy to an environment of this name, so that an older one does not undo a newer one;
-- and pipelines that are canceled when a job of them fails.
ALTER TABLE commit_statuses ADD COLUMN environment {{text}};
CREATE INDEX commit_statuses_environment ON commit_statuses (project_id, environment, id) WHERE environment IS NOT NULL;
ALTER TABLE pipelines ADD COLUMN cancel_on_failure BOOLEAN NOT NULL DEFAULT false;
