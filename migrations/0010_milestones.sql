-- Milestones of projects and groups.
CREATE TABLE milestones (
    id               {{id}},
    iid              BIGINT NOT NULL, -- within the project or group
    namespace_id     BIGINT NOT NULL REFERENCES namespaces (id) ON DELETE CASCADE, -- of the project or group
    title            {{text}} NOT NULL,
    title_fold       {{text}} NOT NULL,
    description      {{text}},
    description_fold {{text}} NOT NULL,
    state            {{text}} NOT NULL, -- active, closed
    start_date       {{text}}, -- YYYY-MM-DD
    due_date         {{text}}, -- YYYY-MM-DD
    created_at       {{time}} NOT NULL,
    updated_at       {{time}} NOT NULL
);
CREATE UNIQUE INDEX milestones_iid ON milestones (namespace_id, iid);
CREATE UNIQUE INDEX milestones_title ON milestones (namespace_id, title);
CREATE INDEX milestones_name ON milestones (title);
CREATE INDEX milestones_due ON milestones (namespace_id, due_date, id);

ALTER TABLE issues ADD COLUMN milestone_id BIGINT REFERENCES milestones (id) ON DELETE SET NULL;
CREATE INDEX issues_milestone ON issues (milestone_id, id) WHERE milestone_id IS NOT NULL;
ALTER TABLE merge_requests ADD COLUMN milestone_id BIGINT REFERENCES milestones (id) ON DELETE SET NULL;
CREATE INDEX merge_requests_milestone ON merge_requests (milestone_id, id) WHERE milestone_id IS NOT NULL;

-- When issues were closed and opened again, which burndown charts show.
CREATE INDEX events_states ON events (target_id) WHERE target_type = 'Issue' AND action IN ('closed', 'reopened');
