-- Who hears of what happens on a thing, or no longer does: what users chose. Those who take part in it hear of
-- it without a row.
CREATE TABLE subscriptions (
    target_type {{text}} NOT NULL, -- Issue, MergeRequest, Epic
    target_id   BIGINT NOT NULL,
    user_id     BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    project_id  BIGINT REFERENCES projects (id) ON DELETE CASCADE,
    group_id    BIGINT REFERENCES namespaces (id) ON DELETE CASCADE, -- of an epic
    subscribed  BOOLEAN NOT NULL,
    created_at  {{time}} NOT NULL,
    PRIMARY KEY (target_type, target_id, user_id)
);
CREATE INDEX subscriptions_user ON subscriptions (user_id);
CREATE INDEX subscriptions_project ON subscriptions (project_id);
CREATE INDEX subscriptions_group ON subscriptions (group_id) WHERE group_id IS NOT NULL;

-- Who was mentioned in the title, the description or a note of a thing, and so takes part in it.
CREATE TABLE mentions (
    target_type {{text}} NOT NULL,
    target_id   BIGINT NOT NULL,
    user_id     BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    internal    BOOLEAN NOT NULL, -- in an internal note
    project_id  BIGINT REFERENCES projects (id) ON DELETE CASCADE,
    group_id    BIGINT REFERENCES namespaces (id) ON DELETE CASCADE,
    PRIMARY KEY (target_type, target_id, user_id, internal)
);
CREATE INDEX mentions_user ON mentions (user_id);
CREATE INDEX mentions_project ON mentions (project_id);
CREATE INDEX mentions_group ON mentions (group_id) WHERE group_id IS NOT NULL;

-- Who hears of the issues and merge requests that get a label: in one project, or, for the label of a group,
-- in all of the group.
CREATE TABLE label_subscriptions (
    id         {{id}},
    label_id   BIGINT NOT NULL REFERENCES labels (id) ON DELETE CASCADE,
    project_id BIGINT REFERENCES projects (id) ON DELETE CASCADE, -- NULL for all of a group
    user_id    BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    created_at {{time}} NOT NULL
);
CREATE UNIQUE INDEX label_subscriptions_once ON label_subscriptions (label_id, user_id, COALESCE(project_id, 0));
CREATE INDEX label_subscriptions_user ON label_subscriptions (user_id);
CREATE INDEX label_subscriptions_project ON label_subscriptions (project_id) WHERE project_id IS NOT NULL;

-- What waits for users. One thing waits once for each of them.
CREATE TABLE todos (
    id          {{id}},
    user_id     BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    author_id   BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE, -- who made it
    project_id  BIGINT REFERENCES projects (id) ON DELETE CASCADE,
    group_id    BIGINT REFERENCES namespaces (id) ON DELETE CASCADE, -- of what is in no project
    target_type {{text}} NOT NULL, -- Issue, MergeRequest, Commit, Epic
    target_id   BIGINT NOT NULL,   -- 0 for commits
    commit_id   {{text}} NOT NULL, -- '' for all others
    note_id     BIGINT REFERENCES notes (id) ON DELETE CASCADE, -- that mentions the user
    internal    BOOLEAN NOT NULL, -- the note is for planners only
    action      {{text}} NOT NULL, -- assigned, mentioned, directly_addressed, marked, review_requested, ...
    state       {{text}} NOT NULL, -- pending, done
    created_at  {{time}} NOT NULL,
    updated_at  {{time}} NOT NULL
);
CREATE UNIQUE INDEX todos_pending ON todos (user_id, target_type, target_id, commit_id, COALESCE(project_id, 0)) WHERE state = 'pending';
CREATE INDEX todos_user ON todos (user_id, state, id);
CREATE INDEX todos_author ON todos (author_id, id);
CREATE INDEX todos_target ON todos (target_type, target_id);
CREATE INDEX todos_project ON todos (project_id);
CREATE INDEX todos_group ON todos (group_id) WHERE group_id IS NOT NULL;
CREATE INDEX todos_note ON todos (note_id) WHERE note_id IS NOT NULL;
