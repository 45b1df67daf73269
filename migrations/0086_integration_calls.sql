-- Events that integrations are to be told of, until they are.
CREATE TABLE integration_calls (
    id             {{id}},
    integration_id BIGINT NOT NULL REFERENCES integrations (id) ON DELETE CASCADE,
    trigger_name   {{text}} NOT NULL,
    body           {{text}} NOT NULL, -- of webhooks
    happened_at    {{time}} NOT NULL,
    attempts       BIGINT NOT NULL,
    done           BIGINT NOT NULL -- recipients of mail who have theirs, in the order of the setting
);
CREATE INDEX integration_calls_integration ON integration_calls (integration_id);
