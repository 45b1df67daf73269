-- A deploy token expires at a moment, the other kinds of tokens expire with the day expires_on.
ALTER TABLE access_tokens ADD COLUMN expires_at {{time}}; -- of a deploy token only; unusable from then on

-- only: sqlite
UPDATE access_tokens SET expires_at = expires_on || ' 00:00:00+00:00', expires_on = NULL WHERE kind = 'deploy' AND expires_on IS NOT NULL;
-- end
-- only: postgres
UPDATE access_tokens SET expires_at = CAST(expires_on || ' 00:00:00+00' AS TIMESTAMPTZ), expires_on = NULL WHERE kind = 'deploy' AND expires_on IS NOT NULL;
-- end
