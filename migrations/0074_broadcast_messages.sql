-- Messages of the administrators that pages show.
CREATE TABLE broadcast_messages (
    id                   {{id}},
    message              {{text}} NOT NULL,
    starts_at            {{time}} NOT NULL,
    ends_at              {{time}} NOT NULL,
    color                {{text}} NOT NULL,
    font                 {{text}} NOT NULL,
    theme                {{text}} NOT NULL,
    target_access_levels {{text}} NOT NULL, -- a list as JSON
    target_path          {{text}} NOT NULL, -- '' is every page
    broadcast_type       {{text}} NOT NULL, -- banner, notification
    dismissable          BOOLEAN NOT NULL,
    created_at           {{time}} NOT NULL,
    updated_at           {{time}} NOT NULL
);
CREATE INDEX broadcast_messages_end ON broadcast_messages (ends_at);
