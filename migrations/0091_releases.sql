-- Releases of projects, with their links, milestones and evidence.
CREATE TABLE releases (
    id          {{id}},
    project_id  BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    tag_name    {{text}} NOT NULL,
    name        {{text}} NOT NULL,
    description {{text}},
    author_id   BIGINT REFERENCES users (id) ON DELETE SET NULL,
    sha         {{text}},          -- of the commit that the tag named; null where that is not known
    pending     {{text}},          -- object that the tag is about to name; null once it does
    released_at {{time}} NOT NULL, -- may be later than now
    created_at  {{time}} NOT NULL,
    updated_at  {{time}} NOT NULL
);
CREATE UNIQUE INDEX releases_tag ON releases (project_id, tag_name);
CREATE INDEX releases_released ON releases (project_id, released_at, id);
CREATE INDEX releases_created ON releases (project_id, created_at, id);
CREATE INDEX releases_author ON releases (author_id);
CREATE INDEX releases_pending ON releases (pending);
CREATE TABLE release_links (
    id         {{id}},
    release_id BIGINT NOT NULL REFERENCES releases (id) ON DELETE CASCADE,
    name       {{text}} NOT NULL,
    url        {{text}} NOT NULL,
    filepath   {{text}}, -- below the downloads of the release; begins with /
    link_type  {{text}} NOT NULL,
    created_at {{time}} NOT NULL,
    updated_at {{time}} NOT NULL
);
CREATE UNIQUE INDEX release_links_name ON release_links (release_id, name);
CREATE UNIQUE INDEX release_links_url ON release_links (release_id, url);
CREATE UNIQUE INDEX release_links_filepath ON release_links (release_id, filepath);
CREATE TABLE release_milestones (
    release_id   BIGINT NOT NULL REFERENCES releases (id) ON DELETE CASCADE,
    milestone_id BIGINT NOT NULL REFERENCES milestones (id) ON DELETE CASCADE,
    PRIMARY KEY (release_id, milestone_id)
);
CREATE INDEX release_milestones_milestone ON release_milestones (milestone_id);
CREATE TABLE release_evidences (
    id           {{id}},
    release_id   BIGINT NOT NULL REFERENCES releases (id) ON DELETE CASCADE,
    sha          {{text}} NOT NULL,  -- SHA-256 of the content
    content      {{bytes}} NOT NULL, -- JSON
    collected_at {{time}} NOT NULL
);
CREATE INDEX release_evidences_release ON release_evidences (release_id, id);
