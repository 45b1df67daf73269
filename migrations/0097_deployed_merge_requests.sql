-- What deployments shipped.
CREATE TABLE deployment_merge_requests (
    deployment_id    BIGINT NOT NULL REFERENCES deployments (id) ON DELETE CASCADE,
    merge_request_id BIGINT NOT NULL REFERENCES merge_requests (id) ON DELETE CASCADE,
    PRIMARY KEY (deployment_id, merge_request_id)
);
CREATE INDEX deployment_merge_requests_request ON deployment_merge_requests (merge_request_id, deployment_id);
-- When a merge request was deployed to production first; it stays where the deployment is deleted.
CREATE TABLE first_deployments (
    merge_request_id BIGINT PRIMARY KEY REFERENCES merge_requests (id) ON DELETE CASCADE,
    deployed_at      {{time}} NOT NULL
);
CREATE INDEX merge_requests_merge_commit ON merge_requests (target_project_id, merge_commit_sha) WHERE merge_commit_sha IS NOT NULL;
CREATE INDEX merge_requests_squash_commit ON merge_requests (target_project_id, squash_commit_sha) WHERE squash_commit_sha IS NOT NULL;
