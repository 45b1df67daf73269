-- Positions of notes on diffs follow the versions of their merge request.
ALTER TABLE notes ADD COLUMN original_position {{text}}; -- where the note was made; null where position is that still
ALTER TABLE notes ADD COLUMN change_position {{text}};   -- what a later version did to the line; null where it did nothing

-- Notes on merge requests that only their author sees until they are published.
CREATE TABLE draft_notes (
    id                 {{id}},
    merge_request_id   BIGINT NOT NULL REFERENCES merge_requests (id) ON DELETE CASCADE,
    author_id          BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    discussion_id      {{text}}, -- that it replies to; null begins one
    note               {{text}} NOT NULL,
    resolve_discussion BOOLEAN NOT NULL,
    commit_id          {{text}},
    position           {{text}}, -- JSON, as of notes
    line_code          {{text}},
    created_at         {{time}} NOT NULL,
    updated_at         {{time}} NOT NULL
);
CREATE INDEX draft_notes_request ON draft_notes (merge_request_id, author_id, id);
CREATE INDEX draft_notes_author ON draft_notes (author_id);
CREATE UNIQUE INDEX draft_notes_reply ON draft_notes (author_id, merge_request_id, discussion_id) WHERE discussion_id IS NOT NULL;
