-- Packages of projects, and their files: objects in base/blob named by their SHA-256.
CREATE TABLE packages (
    id                 {{id}},
    project_id         BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    kind               {{text}} NOT NULL, -- generic
    name               {{text}} NOT NULL,
    name_fold          {{text}} NOT NULL,
    version            {{text}},
    status             {{text}} NOT NULL, -- default, hidden, processing, error, pending_destruction
    status_message     {{text}},
    creator_id         BIGINT REFERENCES users (id) ON DELETE SET NULL,
    last_downloaded_at {{time}},
    created_at         {{time}} NOT NULL,
    updated_at         {{time}} NOT NULL
);
CREATE UNIQUE INDEX packages_version ON packages (project_id, kind, name, version) WHERE status <> 'pending_destruction';
CREATE INDEX packages_created ON packages (project_id, created_at, id);
CREATE INDEX packages_name ON packages (project_id, name, id);
CREATE INDEX packages_by_version ON packages (project_id, version, id);
CREATE INDEX packages_kind ON packages (project_id, kind, id);
CREATE INDEX packages_creator ON packages (creator_id) WHERE creator_id IS NOT NULL;
CREATE INDEX packages_destruction ON packages (id) WHERE status = 'pending_destruction';

CREATE TABLE package_files (
    id          {{id}},
    package_id  BIGINT NOT NULL REFERENCES packages (id) ON DELETE CASCADE,
    project_id  BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE, -- of the package
    user_id     BIGINT REFERENCES users (id) ON DELETE SET NULL,            -- who uploaded it
    pipeline_id BIGINT REFERENCES pipelines (id) ON DELETE SET NULL,        -- whose job uploaded it
    name        {{text}} NOT NULL,
    size        BIGINT NOT NULL,
    md5         {{text}} NOT NULL,
    sha1        {{text}} NOT NULL,
    sha256      {{text}} NOT NULL, -- names the object
    created_at  {{time}} NOT NULL,
    updated_at  {{time}} NOT NULL
);
CREATE INDEX package_files_package ON package_files (package_id, id);
CREATE INDEX package_files_name ON package_files (package_id, name, id);
CREATE INDEX package_files_created ON package_files (package_id, created_at, id);
CREATE INDEX package_files_object ON package_files (sha256);
CREATE INDEX package_files_project ON package_files (project_id);
CREATE INDEX package_files_user ON package_files (user_id) WHERE user_id IS NOT NULL;
CREATE INDEX package_files_pipeline ON package_files (pipeline_id) WHERE pipeline_id IS NOT NULL;
