-- What Python packages have beside the other kinds.
CREATE TABLE pypi_packages (
    id                       {{id}},
    package_id               BIGINT NOT NULL REFERENCES packages (id) ON DELETE CASCADE,
    project_id               BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE, -- of the package
    normalized               {{text}} NOT NULL, -- name by which clients ask
    requires_python          {{text}} NOT NULL,
    summary                  {{text}} NOT NULL,
    keywords                 {{text}} NOT NULL,
    author_email             {{text}} NOT NULL,
    metadata_version         {{text}} NOT NULL,
    description              {{text}} NOT NULL,
    description_content_type {{text}} NOT NULL
);
CREATE UNIQUE INDEX pypi_packages_package ON pypi_packages (package_id);
CREATE INDEX pypi_packages_project ON pypi_packages (project_id, normalized);
CREATE INDEX pypi_packages_normalized ON pypi_packages (normalized, project_id);
