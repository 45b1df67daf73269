-- Keys that signed ID tokens once are published until no token of theirs is valid any more.
ALTER TABLE id_token_keys ADD COLUMN retired_at {{time}};
DROP INDEX id_token_keys_current;
CREATE UNIQUE INDEX id_token_keys_current ON id_token_keys (current) WHERE current;
