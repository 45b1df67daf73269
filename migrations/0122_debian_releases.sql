-- What Debian distributions show to apt.
-- What a distribution shows: its Release file, and the indices that it names.
CREATE TABLE debian_releases (
    id              {{id}},
    distribution_id BIGINT NOT NULL REFERENCES debian_distributions (id) ON DELETE CASCADE,
    generation      BIGINT NOT NULL,  -- counts the Release files
    content         {{text}} NOT NULL, -- digest of the Release file without its times
    release         {{text}} NOT NULL,
    in_release      {{text}} NOT NULL,
    signature       {{text}} NOT NULL,
    projects        BIGINT NOT NULL,  -- of a group: how many rows in debian_release_projects
    renew_at        {{time}},         -- null where it does not expire
    modified_at     {{time}} NOT NULL -- whole seconds, later than that of the one before
);
CREATE UNIQUE INDEX debian_releases_distribution ON debian_releases (distribution_id);
CREATE INDEX debian_releases_renewal ON debian_releases (renew_at) WHERE renew_at IS NOT NULL;

-- The projects whose packages the distribution of a group shows.
CREATE TABLE debian_release_projects (
    id              {{id}},
    distribution_id BIGINT NOT NULL REFERENCES debian_distributions (id) ON DELETE CASCADE,
    project_id      BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX debian_release_projects_distribution ON debian_release_projects (distribution_id, project_id);
CREATE INDEX debian_release_projects_project ON debian_release_projects (project_id);

-- Indices. One that was replaced is found by its digest for a while.
CREATE TABLE debian_indices (
    id              {{id}},
    distribution_id BIGINT NOT NULL REFERENCES debian_distributions (id) ON DELETE CASCADE,
    directory       {{text}} NOT NULL,
    name            {{text}} NOT NULL, -- Packages, Packages.gz, Sources, Sources.gz
    size            BIGINT NOT NULL,
    sha256          {{text}} NOT NULL,
    object          {{text}} NOT NULL, -- key of the object
    retired_at      {{time}}           -- when it was replaced
);
CREATE UNIQUE INDEX debian_indices_current ON debian_indices (distribution_id, directory, name) WHERE retired_at IS NULL;
CREATE INDEX debian_indices_digest ON debian_indices (distribution_id, sha256);
CREATE INDEX debian_indices_object ON debian_indices (object);
CREATE INDEX debian_indices_retired ON debian_indices (retired_at) WHERE retired_at IS NOT NULL;
