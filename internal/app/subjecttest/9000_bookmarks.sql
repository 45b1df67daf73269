CREATE TABLE bookmarks (
    id                 {{id}},
    project_id         BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    author_id          BIGINT NOT NULL REFERENCES users (id),
    title              {{text}} NOT NULL,
    notes_count        BIGINT NOT NULL,
    public_notes_count BIGINT NOT NULL,
    created_at         {{time}} NOT NULL,
    updated_at         {{time}} NOT NULL
);
CREATE INDEX bookmarks_project ON bookmarks (project_id, id);
CREATE INDEX bookmarks_author ON bookmarks (author_id);
