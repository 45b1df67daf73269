-- Projects without activity whose maintainers were warned that they will be deleted.
CREATE TABLE inactive_projects (
    project_id BIGINT PRIMARY KEY REFERENCES projects (id) ON DELETE CASCADE,
    warned_at  {{time}} NOT NULL
);
