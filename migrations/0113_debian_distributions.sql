-- Debian distributions of projects and groups.
CREATE TABLE debian_distributions (
    id                          {{id}},
    namespace_id                BIGINT NOT NULL REFERENCES namespaces (id) ON DELETE CASCADE, -- of the project or group
    codename                    {{text}} NOT NULL,
    suite                       {{text}},
    origin                      {{text}},
    label                       {{text}},
    version                     {{text}},
    description                 {{text}},
    valid_time_duration_seconds BIGINT,
    components                  {{text}} NOT NULL, -- JSON
    architectures               {{text}} NOT NULL, -- JSON
    created_at                  {{time}} NOT NULL,
    updated_at                  {{time}} NOT NULL
);
CREATE UNIQUE INDEX debian_distributions_codename ON debian_distributions (namespace_id, codename);
CREATE INDEX debian_distributions_list ON debian_distributions (namespace_id, id);

-- Codenames and suites: what clients call a distribution by, each of one distribution of its place.
CREATE TABLE debian_distribution_names (
    id              {{id}},
    namespace_id    BIGINT NOT NULL REFERENCES namespaces (id) ON DELETE CASCADE,
    distribution_id BIGINT NOT NULL REFERENCES debian_distributions (id) ON DELETE CASCADE,
    name            {{text}} NOT NULL
);
CREATE UNIQUE INDEX debian_distribution_names_name ON debian_distribution_names (namespace_id, name);
CREATE INDEX debian_distribution_names_distribution ON debian_distribution_names (distribution_id);

-- Keys that sign the Release files of a distribution.
CREATE TABLE debian_distribution_keys (
    id              {{id}},
    distribution_id BIGINT NOT NULL REFERENCES debian_distributions (id) ON DELETE CASCADE,
    fingerprint     {{text}} NOT NULL,
    public_key      {{text}} NOT NULL, -- armored
    sealed          {{text}} NOT NULL, -- private key, encrypted
    created_at      {{time}} NOT NULL
);
CREATE UNIQUE INDEX debian_distribution_keys_distribution ON debian_distribution_keys (distribution_id);
