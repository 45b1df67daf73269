-- What users want to hear of: everywhere, or in one group or project.
CREATE TABLE notification_settings (
    id           {{id}},
    user_id      BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    namespace_id BIGINT REFERENCES namespaces (id) ON DELETE CASCADE, -- of the group or project; NULL everywhere
    level        {{text}} NOT NULL, -- disabled, participating, watch, global, mention, custom
    email        {{text}} NOT NULL, -- '' is the primary address
    events       {{text}} NOT NULL, -- JSON object: chosen or not, by event
    created_at   {{time}} NOT NULL,
    updated_at   {{time}} NOT NULL
);
CREATE UNIQUE INDEX notification_settings_place ON notification_settings (user_id, COALESCE(namespace_id, 0));
CREATE INDEX notification_settings_namespace ON notification_settings (namespace_id) WHERE namespace_id IS NOT NULL;
