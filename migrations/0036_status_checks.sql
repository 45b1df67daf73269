-- External services that a project asks about its merge requests.
CREATE TABLE external_status_checks (
    id            {{id}},
    project_id    BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    name          {{text}} NOT NULL,
    external_url  {{text}} NOT NULL,
    sealed_secret {{text}}, -- signs what is sent; null where nothing does
    created_at    {{time}} NOT NULL,
    updated_at    {{time}} NOT NULL
);
CREATE UNIQUE INDEX external_status_checks_name ON external_status_checks (project_id, name);
CREATE UNIQUE INDEX external_status_checks_url ON external_status_checks (project_id, external_url);

-- The protected branches whose merge requests a check is about; none for all branches.
CREATE TABLE external_status_check_branches (
    check_id            BIGINT NOT NULL REFERENCES external_status_checks (id) ON DELETE CASCADE,
    protected_branch_id BIGINT NOT NULL REFERENCES protected_branches (id) ON DELETE CASCADE,
    PRIMARY KEY (check_id, protected_branch_id)
);
CREATE INDEX external_status_check_branches_branch ON external_status_check_branches (protected_branch_id);

-- What services answered about a merge request at one head.
CREATE TABLE status_check_responses (
    id               {{id}},
    merge_request_id BIGINT NOT NULL REFERENCES merge_requests (id) ON DELETE CASCADE,
    check_id         BIGINT NOT NULL REFERENCES external_status_checks (id) ON DELETE CASCADE,
    sha              {{text}} NOT NULL,
    status           {{text}} NOT NULL, -- pending, passed, failed
    created_at       {{time}} NOT NULL,
    updated_at       {{time}} NOT NULL
);
CREATE UNIQUE INDEX status_check_responses_head ON status_check_responses (merge_request_id, check_id, sha);
CREATE INDEX status_check_responses_check ON status_check_responses (check_id);
