-- Debian packages: uploads that a job processes, where packages are published, and what repositories show of them.

-- A package that is processed, or whose processing failed, is not in the way of what it would become.
DROP INDEX packages_version;
CREATE UNIQUE INDEX packages_version ON packages (project_id, kind, name, version) WHERE status IN ('default', 'hidden');
CREATE INDEX packages_unfinished ON packages (project_id, id) WHERE status IN ('processing', 'error');
CREATE INDEX package_files_named ON package_files (project_id, name, id);

-- What a package was uploaded for that is processed: a .changes, or a file that goes straight into a distribution.
CREATE TABLE debian_uploads (
    id           {{id}},
    package_id   BIGINT NOT NULL REFERENCES packages (id) ON DELETE CASCADE,
    distribution {{text}}, -- null for a .changes, which names it
    component    {{text}}
);
CREATE UNIQUE INDEX debian_uploads_package ON debian_uploads (package_id);

-- The distribution that a package is published in.
CREATE TABLE debian_publications (
    id              {{id}},
    package_id      BIGINT NOT NULL REFERENCES packages (id) ON DELETE CASCADE,
    distribution_id BIGINT NOT NULL REFERENCES debian_distributions (id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX debian_publications_package ON debian_publications (package_id);
CREATE INDEX debian_publications_distribution ON debian_publications (distribution_id);

-- Stanzas of indices: one for each file that an index of a distribution has.
CREATE TABLE debian_stanzas (
    id              {{id}},
    file_id         BIGINT NOT NULL REFERENCES package_files (id) ON DELETE CASCADE,
    distribution_id BIGINT NOT NULL REFERENCES debian_distributions (id) ON DELETE CASCADE,
    directory       {{text}} NOT NULL, -- of the index: main/binary-amd64, main/debian-installer/binary-amd64, main/source
    stanza          {{text}} NOT NULL  -- without the fields that depend on the repository
);
CREATE UNIQUE INDEX debian_stanzas_file ON debian_stanzas (file_id);
CREATE INDEX debian_stanzas_index ON debian_stanzas (distribution_id, directory, file_id);
