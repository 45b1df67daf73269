-- Who had the addresses of authors and committers when their commits were pushed to a project.
CREATE TABLE address_owners (
    id         {{id}},
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    email_fold {{text}} NOT NULL,
    user_id    BIGINT REFERENCES users (id) ON DELETE CASCADE -- null where no user had it
);
CREATE UNIQUE INDEX address_owners_user ON address_owners (project_id, email_fold, user_id) WHERE user_id IS NOT NULL;
CREATE UNIQUE INDEX address_owners_none ON address_owners (project_id, email_fold) WHERE user_id IS NULL;
CREATE INDEX address_owners_of ON address_owners (user_id) WHERE user_id IS NOT NULL;

INSERT INTO address_owners (project_id, email_fold, user_id)
    SELECT DISTINCT m.target_project_id, c.email_fold, c.user_id FROM merge_request_contributors c JOIN merge_requests m ON m.id = c.merge_request_id;
