-- Access tokens of projects and groups about whose end hooks have been told.
CREATE TABLE token_notices (
    token_id   BIGINT NOT NULL REFERENCES access_tokens (id) ON DELETE CASCADE,
    days       BIGINT NOT NULL, -- before the end: 7 or 1
    created_at {{time}} NOT NULL,
    PRIMARY KEY (token_id, days)
);
