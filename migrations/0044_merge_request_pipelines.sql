-- Pipelines of merge requests. Where the merge request is gone with its project, a pipeline in a fork stays.
ALTER TABLE pipelines ADD COLUMN merge_request_id BIGINT REFERENCES merge_requests (id) ON DELETE SET NULL;
ALTER TABLE pipelines ADD COLUMN source_sha {{text}}; -- head of the source branch, of a pipeline of a merge request
ALTER TABLE pipelines ADD COLUMN target_sha {{text}}; -- head of the target branch that it was merged with
CREATE INDEX pipelines_merge_request ON pipelines (merge_request_id, id) WHERE merge_request_id IS NOT NULL;

-- What the variables of a pipeline say of its merge request, as it was when the pipeline was made.
CREATE TABLE pipeline_merge_requests (
    pipeline_id BIGINT PRIMARY KEY REFERENCES pipelines (id) ON DELETE CASCADE,
    content     {{text}} NOT NULL -- JSON object
);
