-- Who changed labels, state, milestone, weight or iteration of a thing.
CREATE TABLE resource_events (
    id            {{id}},
    kind          {{text}} NOT NULL, -- label, state, milestone, weight, iteration
    resource_type {{text}} NOT NULL, -- Issue, MergeRequest, Epic
    resource_id   BIGINT NOT NULL,
    project_id    BIGINT REFERENCES projects (id) ON DELETE CASCADE,
    group_id      BIGINT REFERENCES namespaces (id) ON DELETE CASCADE,
    user_id       BIGINT REFERENCES users (id) ON DELETE SET NULL,
    action        {{text}} NOT NULL, -- add, remove; '' of states and weights
    state         {{text}},          -- opened, closed, reopened, merged
    label_id      BIGINT REFERENCES labels (id) ON DELETE SET NULL,
    milestone_id  BIGINT,
    iteration_id  BIGINT,
    weight        BIGINT,
    source_commit {{text}},          -- whose message closed the issue
    source_merge_request_id BIGINT REFERENCES merge_requests (id) ON DELETE SET NULL,
    created_at    {{time}} NOT NULL
);
CREATE INDEX resource_events_resource ON resource_events (resource_type, resource_id, kind, id);
CREATE INDEX resource_events_project ON resource_events (project_id) WHERE project_id IS NOT NULL;
CREATE INDEX resource_events_group ON resource_events (group_id) WHERE group_id IS NOT NULL;
CREATE INDEX resource_events_user ON resource_events (user_id) WHERE user_id IS NOT NULL;
CREATE INDEX resource_events_label ON resource_events (label_id) WHERE label_id IS NOT NULL;
CREATE INDEX resource_events_source ON resource_events (source_merge_request_id) WHERE source_merge_request_id IS NOT NULL;
