-- The deployments and incidents of a project and a month by days, those of deployments by the tier of their environments.
CREATE TABLE dora_months (
    project_id    BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    month         BIGINT NOT NULL,    -- 12 * year + month from 0, in UTC
    tier          {{text}} NOT NULL,
    counts        {{bytes}} NOT NULL, -- day, deployments and incidents of each day that has some, as unsigned varints
    lead_times    {{bytes}} NOT NULL, -- day, number and milliseconds of each day with merge requests that were deployed
    restore_times {{bytes}} NOT NULL, -- the same of closed incidents
    PRIMARY KEY (project_id, month, tier)
);
-- What of dora_months no longer holds.
CREATE TABLE dora_marks (
    id         {{id}},
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    month      BIGINT NOT NULL -- 0 for all
);
CREATE INDEX dora_marks_project ON dora_marks (project_id, month);
INSERT INTO dora_marks (project_id, month) SELECT DISTINCT project_id, 0 FROM environments;
CREATE INDEX issues_incidents_created ON issues (project_id, created_at) WHERE issue_type = 'incident';
CREATE INDEX issues_incidents_closed ON issues (project_id, closed_at) WHERE issue_type = 'incident';
