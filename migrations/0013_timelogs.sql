-- Time that is estimated for issues and merge requests and spent on them, in seconds.
ALTER TABLE issues ADD COLUMN time_estimate BIGINT NOT NULL DEFAULT 0;
ALTER TABLE issues ADD COLUMN total_time_spent BIGINT NOT NULL DEFAULT 0; -- the sum of its timelogs
ALTER TABLE merge_requests ADD COLUMN time_estimate BIGINT NOT NULL DEFAULT 0;
ALTER TABLE merge_requests ADD COLUMN total_time_spent BIGINT NOT NULL DEFAULT 0;

CREATE TABLE timelogs (
    id               {{id}},
    issue_id         BIGINT REFERENCES issues (id) ON DELETE CASCADE, -- this or the next
    merge_request_id BIGINT REFERENCES merge_requests (id) ON DELETE CASCADE,
    user_id          BIGINT NOT NULL REFERENCES users (id),
    time_spent       BIGINT NOT NULL, -- negative takes back
    summary          {{text}},
    spent_at         {{time}} NOT NULL,
    created_at       {{time}} NOT NULL
);
CREATE INDEX timelogs_issue ON timelogs (issue_id, id) WHERE issue_id IS NOT NULL;
CREATE INDEX timelogs_merge_request ON timelogs (merge_request_id, id) WHERE merge_request_id IS NOT NULL;
CREATE INDEX timelogs_user ON timelogs (user_id, id);
