-- The secrets of deploy tokens that jobs get. Of all others only the digest is kept.
CREATE TABLE deploy_token_secrets (
    token_id BIGINT PRIMARY KEY REFERENCES access_tokens (id) ON DELETE CASCADE,
    sealed   {{text}} NOT NULL
);
