-- Gates of features that were set.
CREATE TABLE features (
    id                   {{id}},
    name                 {{text}} NOT NULL,
    enabled              BOOLEAN NOT NULL,
    actors               {{text}} NOT NULL, -- a list as JSON
    actor_groups         {{text}} NOT NULL,
    percentage_of_actors BIGINT NOT NULL,
    percentage_of_time   BIGINT NOT NULL,
    created_at           {{time}} NOT NULL,
    updated_at           {{time}} NOT NULL
);
CREATE UNIQUE INDEX features_name ON features (name);
