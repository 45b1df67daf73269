-- Integrations that were set up, one for each kind in a place.
CREATE TABLE integrations (
    id              {{id}},
    namespace_id    BIGINT REFERENCES namespaces (id) ON DELETE CASCADE, -- of the project or group; null for the instance
    kind            {{text}} NOT NULL,
    active          BOOLEAN NOT NULL,
    inherit_from_id BIGINT REFERENCES integrations (id) ON DELETE SET NULL, -- whose settings it has; null for its own
    events          {{text}} NOT NULL, -- flags as JSON
    properties      {{text}} NOT NULL, -- settings without secrets as JSON
    sealed          {{text}},          -- secrets, as JSON that is sealed
    created_at      {{time}} NOT NULL,
    updated_at      {{time}} NOT NULL
);
CREATE UNIQUE INDEX integrations_namespace_kind ON integrations (namespace_id, kind);
CREATE UNIQUE INDEX integrations_instance_kind ON integrations (kind) WHERE namespace_id IS NULL;
CREATE INDEX integrations_inherit_from ON integrations (inherit_from_id);
