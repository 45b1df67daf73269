-- What notes on lines of merge requests say should stand there instead.
CREATE TABLE suggestions (
    id             {{id}},
    note_id        BIGINT NOT NULL REFERENCES notes (id) ON DELETE CASCADE,
    relative_order BIGINT NOT NULL, -- in the note, from 0
    lines_above    BIGINT NOT NULL, -- before the line of the note, that it replaces too
    lines_below    BIGINT NOT NULL,
    from_content   {{text}} NOT NULL,
    to_content     {{text}} NOT NULL,
    applied        BOOLEAN NOT NULL,
    commit_id      {{text}} -- that applied it
);
CREATE UNIQUE INDEX suggestions_note ON suggestions (note_id, relative_order);

-- Commits that a merge request shows beside its own.
CREATE TABLE merge_request_context_commits (
    id               {{id}},
    merge_request_id BIGINT NOT NULL REFERENCES merge_requests (id) ON DELETE CASCADE,
    sha              {{text}} NOT NULL,
    authored_at      {{time}} NOT NULL
);
CREATE UNIQUE INDEX merge_request_context_commits_sha ON merge_request_context_commits (merge_request_id, sha);
ALTER TABLE merge_request_versions ADD COLUMN patch_id_sha {{text}}; -- stable patch id of the diff; null where that is not computed yet
