-- Users who are mentioned in comments on a commit, and what they chose for mail about it.
-- Authors of comments are found by their comments.
CREATE TABLE commit_participants (
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    commit_id  {{text}} NOT NULL, -- in hex
    user_id    BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    mentioned  BOOLEAN NOT NULL,
    subscribed BOOLEAN, -- NULL is no choice
    PRIMARY KEY (project_id, commit_id, user_id)
);
CREATE INDEX commit_participants_user ON commit_participants (user_id);

-- Lines of history go with the project that they name.
CREATE INDEX notes_source_project ON notes (source_project_id) WHERE source_project_id IS NOT NULL;
