-- Iterations of groups, in cadences.
CREATE TABLE iteration_cadences (
    id                {{id}},
    namespace_id      BIGINT NOT NULL REFERENCES namespaces (id) ON DELETE CASCADE, -- of the group
    title             {{text}} NOT NULL,
    title_fold        {{text}} NOT NULL,
    description       {{text}},
    active            BOOLEAN NOT NULL,
    automatic         BOOLEAN NOT NULL, -- its iterations are made from the start date on
    start_date        {{text}}, -- YYYY-MM-DD
    duration_in_weeks BIGINT NOT NULL,
    upcoming          BIGINT NOT NULL, -- how many iterations are made in advance
    created_at        {{time}} NOT NULL,
    updated_at        {{time}} NOT NULL
);
CREATE INDEX iteration_cadences_namespace ON iteration_cadences (namespace_id, id);

CREATE TABLE iterations (
    id           {{id}},
    iid          BIGINT NOT NULL, -- within the group
    cadence_id   BIGINT NOT NULL REFERENCES iteration_cadences (id) ON DELETE CASCADE,
    namespace_id BIGINT NOT NULL REFERENCES namespaces (id) ON DELETE CASCADE, -- of the group
    sequence     BIGINT NOT NULL, -- within the cadence, by date
    title        {{text}},
    title_fold   {{text}} NOT NULL,
    description  {{text}},
    start_date   {{text}} NOT NULL, -- YYYY-MM-DD
    due_date     {{text}} NOT NULL, -- YYYY-MM-DD
    created_at   {{time}} NOT NULL,
    updated_at   {{time}} NOT NULL
);
CREATE UNIQUE INDEX iterations_iid ON iterations (namespace_id, iid);
CREATE INDEX iterations_cadence ON iterations (cadence_id, due_date);
CREATE INDEX iterations_due ON iterations (namespace_id, due_date, id);

ALTER TABLE issues ADD COLUMN iteration_id BIGINT REFERENCES iterations (id) ON DELETE SET NULL;
CREATE INDEX issues_iteration ON issues (iteration_id, id) WHERE iteration_id IS NOT NULL;

-- Issue boards of projects and groups, with the scope of their issues.
CREATE TABLE boards (
    id                {{id}},
    namespace_id      BIGINT NOT NULL REFERENCES namespaces (id) ON DELETE CASCADE, -- of the project or group
    name              {{text}} NOT NULL,
    name_fold         {{text}} NOT NULL,
    hide_backlog_list BOOLEAN NOT NULL,
    hide_closed_list  BOOLEAN NOT NULL,
    milestone_id      BIGINT REFERENCES milestones (id) ON DELETE SET NULL,
    assignee_id       BIGINT REFERENCES users (id) ON DELETE SET NULL,
    weight            BIGINT,
    created_at        {{time}} NOT NULL,
    updated_at        {{time}} NOT NULL
);
CREATE INDEX boards_namespace ON boards (namespace_id, name_fold, id);
CREATE INDEX boards_milestone ON boards (milestone_id) WHERE milestone_id IS NOT NULL;
CREATE INDEX boards_assignee ON boards (assignee_id) WHERE assignee_id IS NOT NULL;

CREATE TABLE board_labels (
    board_id BIGINT NOT NULL REFERENCES boards (id) ON DELETE CASCADE,
    label_id BIGINT NOT NULL REFERENCES labels (id) ON DELETE CASCADE,
    PRIMARY KEY (board_id, label_id)
);
CREATE INDEX board_labels_label ON board_labels (label_id);

-- The lists of a board: each has one of label, milestone, assignee and iteration.
CREATE TABLE board_lists (
    id               {{id}},
    board_id         BIGINT NOT NULL REFERENCES boards (id) ON DELETE CASCADE,
    label_id         BIGINT REFERENCES labels (id) ON DELETE CASCADE,
    milestone_id     BIGINT REFERENCES milestones (id) ON DELETE CASCADE,
    assignee_id      BIGINT REFERENCES users (id) ON DELETE CASCADE,
    iteration_id     BIGINT REFERENCES iterations (id) ON DELETE CASCADE,
    position         BIGINT NOT NULL, -- from 0
    max_issue_count  BIGINT NOT NULL, -- 0 for no limit
    max_issue_weight BIGINT NOT NULL,
    limit_metric     {{text}}, -- all_metrics, issue_count, issue_weights
    created_at       {{time}} NOT NULL,
    updated_at       {{time}} NOT NULL
);
CREATE UNIQUE INDEX board_lists_label ON board_lists (board_id, label_id);
CREATE UNIQUE INDEX board_lists_milestone ON board_lists (board_id, milestone_id);
CREATE UNIQUE INDEX board_lists_assignee ON board_lists (board_id, assignee_id);
CREATE UNIQUE INDEX board_lists_iteration ON board_lists (board_id, iteration_id);
CREATE INDEX board_lists_of_label ON board_lists (label_id) WHERE label_id IS NOT NULL;
CREATE INDEX board_lists_of_milestone ON board_lists (milestone_id) WHERE milestone_id IS NOT NULL;
CREATE INDEX board_lists_of_assignee ON board_lists (assignee_id) WHERE assignee_id IS NOT NULL;
CREATE INDEX board_lists_of_iteration ON board_lists (iteration_id) WHERE iteration_id IS NOT NULL;

-- An archived label is left out where labels are offered.
ALTER TABLE labels ADD COLUMN archived BOOLEAN NOT NULL DEFAULT false;

-- The priorities that labels have in projects, those of groups too.
CREATE TABLE label_priorities (
    label_id   BIGINT NOT NULL REFERENCES labels (id) ON DELETE CASCADE,
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    priority   BIGINT NOT NULL,
    PRIMARY KEY (label_id, project_id)
);
CREATE INDEX label_priorities_project ON label_priorities (project_id);
INSERT INTO label_priorities (label_id, project_id, priority)
    SELECT l.id, p.id, l.priority FROM labels l JOIN projects p ON p.namespace_id = l.namespace_id WHERE l.priority IS NOT NULL;
ALTER TABLE labels DROP COLUMN priority;
