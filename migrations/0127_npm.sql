-- Tags of packages: the distribution tags of npm.
CREATE TABLE package_tags (
    id         {{id}},
    package_id BIGINT NOT NULL REFERENCES packages (id) ON DELETE CASCADE,
    name       {{text}} NOT NULL,
    created_at {{time}} NOT NULL,
    updated_at {{time}} NOT NULL
);
CREATE UNIQUE INDEX package_tags_name ON package_tags (package_id, name);

-- What the metadata says of a version of an npm package.
CREATE TABLE npm_versions (
    package_id BIGINT PRIMARY KEY REFERENCES packages (id) ON DELETE CASCADE,
    manifest   {{text}} NOT NULL, -- a JSON object; \x01 stands for the URL of the server
    summary    {{text}} NOT NULL, -- what installers read of it
    deprecated {{text}}           -- a message
);

-- The metadata of all versions of a name, as it is served.
CREATE TABLE npm_metadata (
    id             {{id}},
    project_id     BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    name           {{text}} NOT NULL,
    full_text      {{text}} NOT NULL,
    summary        {{text}} NOT NULL,
    full_digest    {{text}} NOT NULL,
    summary_digest {{text}} NOT NULL,
    updated_at     {{time}} NOT NULL
);
CREATE UNIQUE INDEX npm_metadata_name ON npm_metadata (project_id, name);
