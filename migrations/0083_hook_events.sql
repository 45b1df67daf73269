-- Events that hooks and integrations are to be told of, until it is written down whom to tell.
CREATE TABLE hook_events (
    id         {{id}},
    kind       {{text}} NOT NULL,
    head       {{text}} NOT NULL, -- what every event says, as JSON
    data       {{text}} NOT NULL, -- rows before and after, and what else the kind needs, as JSON
    attempts   BIGINT NOT NULL,
    created_at {{time}} NOT NULL
);
