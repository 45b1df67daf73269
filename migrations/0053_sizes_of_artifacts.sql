-- The bytes of the artifacts of a project are added up from the index alone.
DROP INDEX job_artifacts_project;
CREATE INDEX job_artifacts_project ON job_artifacts (project_id, size);
