-- Imports that wait for their turn or run. The row goes when the import has ended.
CREATE TABLE project_imports (
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    user_id    BIGINT NOT NULL, -- who began it, whose imports take turns with those of others
    url        {{text}} NOT NULL, -- without credentials
    sealed     {{text}} NOT NULL, -- user name and password, '' for none
    started    BOOLEAN NOT NULL,
    PRIMARY KEY (project_id)
);
CREATE INDEX project_imports_user ON project_imports (user_id, started);
