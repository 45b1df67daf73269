-- What the JUnit report of a job counts; it outlives the report.
CREATE TABLE job_tests (
    job_id  BIGINT PRIMARY KEY REFERENCES commit_statuses (id) ON DELETE CASCADE,
    access  {{text}} NOT NULL,          -- of the report: public, private, none
    seconds DOUBLE PRECISION NOT NULL,
    success BIGINT NOT NULL,
    failed  BIGINT NOT NULL,
    error   BIGINT NOT NULL,
    skipped BIGINT NOT NULL,
    flaw    {{text}}                    -- why the report cannot be read, NULL where it can
);
