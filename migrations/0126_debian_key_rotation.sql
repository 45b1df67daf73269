-- Keys that a newer one replaces sign beside it until retire_at.
ALTER TABLE debian_distribution_keys ADD COLUMN retire_at {{time}};
DROP INDEX debian_distribution_keys_distribution;
CREATE UNIQUE INDEX debian_distribution_keys_current ON debian_distribution_keys (distribution_id) WHERE retire_at IS NULL;
CREATE INDEX debian_distribution_keys_distribution ON debian_distribution_keys (distribution_id);
CREATE INDEX debian_distribution_keys_retire ON debian_distribution_keys (retire_at) WHERE retire_at IS NOT NULL;
