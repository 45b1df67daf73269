-- The instance that this database belongs to: its data folder has the same id. One row, made by the first start.
CREATE TABLE instance (
    one        BIGINT NOT NULL PRIMARY KEY CHECK (one = 1),
    id         {{text}} NOT NULL,
    server     {{text}} NOT NULL, -- JSON: the server that uses the database, or used it last
    created_at {{time}} NOT NULL
);
