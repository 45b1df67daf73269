-- Merge trains: the merge requests that are merged one after the other into a branch. A car is
-- a merge request in the train, or one that was merged from it.
ALTER TABLE merge_requests ADD COLUMN auto_merge_strategy {{text}}; -- merge_train, add_to_merge_train_when_pipeline_succeeds; NULL is merge_when_pipeline_succeeds

CREATE TABLE merge_train_cars (
    id                {{id}},
    merge_request_id  BIGINT NOT NULL REFERENCES merge_requests (id) ON DELETE CASCADE,
    target_project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    target_branch     {{text}} NOT NULL,
    user_id           BIGINT REFERENCES users (id) ON DELETE SET NULL, -- who added the merge request
    status            {{text}} NOT NULL, -- idle, fresh, stale, merged, skip_merged; removed until its reference is deleted
    base_sha          {{text}} NOT NULL, -- what the commit of the car was made on, "" before it is made
    train_sha         {{text}} NOT NULL, -- what the target branch shall move to
    merge_commit_sha  {{text}},
    squash_commit_sha {{text}},
    pinned            BOOLEAN NOT NULL,  -- refs/merge-requests/:iid/train may be there
    created_at        {{time}} NOT NULL,
    updated_at        {{time}} NOT NULL,
    merged_at         {{time}}
);
CREATE UNIQUE INDEX merge_train_cars_request ON merge_train_cars (merge_request_id);
CREATE INDEX merge_train_cars_branch ON merge_train_cars (target_project_id, target_branch, id);
CREATE INDEX merge_train_cars_commit ON merge_train_cars (target_project_id, train_sha) WHERE train_sha <> '';
CREATE INDEX merge_train_cars_user ON merge_train_cars (user_id) WHERE user_id IS NOT NULL;
