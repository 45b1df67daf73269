-- Addresses from which a group and everything below it is reached: a group without rows is reached from everywhere.
-- low and high are 16 bytes of IPv6 in hexadecimal. A row with "" is of a list that is not read yet, and lets no address in.
CREATE TABLE group_address_ranges (
    namespace_id BIGINT NOT NULL REFERENCES groups (namespace_id) ON DELETE CASCADE,
    low          {{text}} NOT NULL,
    high         {{text}} NOT NULL,
    PRIMARY KEY (namespace_id, low, high)
);
INSERT INTO group_address_ranges (namespace_id, low, high)
SELECT namespace_id, '', '' FROM groups WHERE settings LIKE '%"ip_restriction_ranges":"_%';

-- The rebase was asked to make no pipelines.
ALTER TABLE merge_request_rebases ADD COLUMN skip_ci BOOLEAN NOT NULL DEFAULT false;
