-- The issues that titles and descriptions of merge requests name.
CREATE TABLE merge_request_issues (
    merge_request_id BIGINT NOT NULL REFERENCES merge_requests (id) ON DELETE CASCADE,
    issue_id         BIGINT NOT NULL REFERENCES issues (id) ON DELETE CASCADE,
    closes           BOOLEAN NOT NULL, -- promised to be closed by the merge
    PRIMARY KEY (merge_request_id, issue_id)
);
CREATE INDEX merge_request_issues_issue ON merge_request_issues (issue_id, merge_request_id, closes);
