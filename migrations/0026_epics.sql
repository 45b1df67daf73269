-- Epics of groups.
CREATE TABLE epics (
    id                  {{id}},
    iid                 BIGINT NOT NULL,
    group_id            BIGINT NOT NULL REFERENCES groups (namespace_id) ON DELETE CASCADE,
    author_id           BIGINT NOT NULL REFERENCES users (id),
    parent_id           BIGINT REFERENCES epics (id) ON DELETE SET NULL,
    relative_position   BIGINT NOT NULL,   -- among the children of the parent
    title               {{text}} NOT NULL,
    title_fold          {{text}} NOT NULL,
    description         {{text}},
    description_fold    {{text}} NOT NULL,
    state               {{text}} NOT NULL, -- opened, closed
    confidential        BOOLEAN NOT NULL,
    color               {{text}} NOT NULL, -- #rgb or #rrggbb
    start_date_is_fixed BOOLEAN NOT NULL,  -- otherwise it is that of issues and child epics
    start_date_fixed    {{text}},          -- YYYY-MM-DD, kept where it is not in use
    due_date_is_fixed   BOOLEAN NOT NULL,
    due_date_fixed      {{text}},
    closed_at           {{time}},
    closed_by_id        BIGINT REFERENCES users (id) ON DELETE SET NULL,
    notes_count         BIGINT NOT NULL,   -- comments, system notes left out
    public_notes_count  BIGINT NOT NULL,   -- the same without internal ones
    created_at          {{time}} NOT NULL,
    updated_at          {{time}} NOT NULL
);
CREATE UNIQUE INDEX epics_iid ON epics (group_id, iid);
CREATE INDEX epics_created ON epics (group_id, created_at, id);
CREATE INDEX epics_updated ON epics (group_id, updated_at, id);
CREATE INDEX epics_author ON epics (author_id, id);
CREATE INDEX epics_parent ON epics (parent_id, relative_position, id) WHERE parent_id IS NOT NULL;
CREATE INDEX epics_closed_by ON epics (closed_by_id) WHERE closed_by_id IS NOT NULL;

-- Which epic an issue is in: one at most.
CREATE TABLE epic_issues (
    id                {{id}},
    epic_id           BIGINT NOT NULL REFERENCES epics (id) ON DELETE CASCADE,
    issue_id          BIGINT NOT NULL REFERENCES issues (id) ON DELETE CASCADE,
    relative_position BIGINT NOT NULL, -- among the issues of the epic
    created_at        {{time}} NOT NULL,
    updated_at        {{time}} NOT NULL
);
CREATE UNIQUE INDEX epic_issues_issue ON epic_issues (issue_id);
CREATE INDEX epic_issues_epic ON epic_issues (epic_id, relative_position, id);

-- Epics that are linked with each other.
CREATE TABLE epic_links (
    id         {{id}},
    source_id  BIGINT NOT NULL REFERENCES epics (id) ON DELETE CASCADE,
    target_id  BIGINT NOT NULL REFERENCES epics (id) ON DELETE CASCADE,
    link_type  {{text}} NOT NULL, -- relates_to, blocks
    created_at {{time}} NOT NULL,
    updated_at {{time}} NOT NULL
);
CREATE UNIQUE INDEX epic_links_pair ON epic_links (source_id, target_id);
CREATE INDEX epic_links_target ON epic_links (target_id, source_id);
