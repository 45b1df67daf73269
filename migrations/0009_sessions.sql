-- Sessions of people who signed on in a browser.
CREATE TABLE sessions (
    id           {{id}},
    user_id      BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    digest       {{text}} NOT NULL, -- of the secret in the cookie
    address      {{text}} NOT NULL, -- where the sign-on came from
    agent        {{text}} NOT NULL, -- User-Agent of the browser, cut
    created_at   {{time}} NOT NULL,
    last_used_at {{time}} NOT NULL
);
CREATE UNIQUE INDEX sessions_digest ON sessions (digest);
CREATE INDEX sessions_user ON sessions (user_id, id);

-- Links with which a user chooses a password once; at most one for each user.
CREATE TABLE password_links (
    user_id    BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    digest     {{text}} NOT NULL,
    expires_at {{time}} NOT NULL,
    created_at {{time}} NOT NULL,
    PRIMARY KEY (user_id)
);
CREATE UNIQUE INDEX password_links_digest ON password_links (digest);
