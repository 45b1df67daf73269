-- Bytes that a repository and its large objects may have: null is what the group above says, or
-- the instance; 0 is any number.
ALTER TABLE projects ADD COLUMN repository_size_limit BIGINT;
ALTER TABLE groups ADD COLUMN repository_size_limit BIGINT;

-- Who uploaded a large object to a project; null where that is not known, as for what a fork or
-- an import brought.
ALTER TABLE lfs_links ADD COLUMN user_id BIGINT REFERENCES users (id) ON DELETE SET NULL;
CREATE INDEX lfs_links_user ON lfs_links (user_id) WHERE user_id IS NOT NULL;
