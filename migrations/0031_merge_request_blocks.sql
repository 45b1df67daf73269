-- Dependencies of merge requests: the blocked one is merged after the blocking one.
CREATE TABLE merge_request_blocks (
    id          {{id}},
    blocking_id BIGINT NOT NULL REFERENCES merge_requests (id) ON DELETE CASCADE,
    blocked_id  BIGINT NOT NULL REFERENCES merge_requests (id) ON DELETE CASCADE,
    created_at  {{time}} NOT NULL
);
CREATE UNIQUE INDEX merge_request_blocks_pair ON merge_request_blocks (blocked_id, blocking_id);
CREATE INDEX merge_request_blocks_blocking ON merge_request_blocks (blocking_id);
