-- Repositories of wikis and snippets; those of projects are found by the ids of projects.
CREATE TABLE attached_repositories (
    name       {{text}} PRIMARY KEY, -- random, and that of its folder
    kind       {{text}} NOT NULL, -- wiki, snippet; gone: its wiki or snippet is, and it is to be removed
    size       BIGINT NOT NULL,   -- bytes, as measured after the last change
    created_at {{time}} NOT NULL
);

CREATE TABLE snippets (
    id            {{id}},
    repository    {{text}} NOT NULL REFERENCES attached_repositories (name),
    project_id    BIGINT REFERENCES projects (id) ON DELETE CASCADE, -- null for a personal snippet
    author_id     BIGINT NOT NULL REFERENCES users (id),
    title         {{text}} NOT NULL,
    title_fold    {{text}} NOT NULL,
    description   {{text}},
    visibility    BIGINT NOT NULL,   -- 0 private, 10 internal, 20 public
    branch        {{text}} NOT NULL, -- of the repository, the only one
    files         {{text}} NOT NULL, -- JSON array of the paths in the commit
    commit_id     {{text}} NOT NULL, -- that the files were read from; '' for none
    notes_count        BIGINT NOT NULL,
    public_notes_count BIGINT NOT NULL,
    agent         {{text}} NOT NULL, -- User-Agent of the request that created it, cut
    address       {{text}} NOT NULL, -- where that request came from
    created_at    {{time}} NOT NULL,
    updated_at    {{time}} NOT NULL
);
CREATE UNIQUE INDEX snippets_repository ON snippets (repository);
CREATE INDEX snippets_project ON snippets (project_id, id) WHERE project_id IS NOT NULL;
CREATE INDEX snippets_author ON snippets (author_id, id);
CREATE INDEX snippets_visibility ON snippets (visibility, id);

-- Wikis that have been written to or cloned; any other is empty.
CREATE TABLE wikis (
    id            {{id}},
    repository    {{text}} NOT NULL REFERENCES attached_repositories (name),
    project_id    BIGINT REFERENCES projects (id) ON DELETE CASCADE, -- either this
    group_id      BIGINT REFERENCES groups (namespace_id) ON DELETE CASCADE, -- or this
    branch        {{text}} NOT NULL, -- that has the pages
    commit_id     {{text}} NOT NULL, -- that wiki_pages was read from; '' for none
    created_at    {{time}} NOT NULL
);
CREATE UNIQUE INDEX wikis_repository ON wikis (repository);
CREATE UNIQUE INDEX wikis_project ON wikis (project_id) WHERE project_id IS NOT NULL;
CREATE UNIQUE INDEX wikis_group ON wikis (group_id) WHERE group_id IS NOT NULL;

-- The pages of the default branch.
CREATE TABLE wiki_pages (
    id         {{id}},
    wiki_id    BIGINT NOT NULL REFERENCES wikis (id) ON DELETE CASCADE,
    path       {{text}} NOT NULL, -- of the file
    blob_id    {{text}} NOT NULL,
    created_at {{time}} NOT NULL,
    updated_at {{time}} NOT NULL
);
CREATE UNIQUE INDEX wiki_pages_path ON wiki_pages (wiki_id, path);
