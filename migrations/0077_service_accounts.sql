-- Service accounts of groups: users that sign on with tokens alone. The reference is not enforced: the accounts of a deleted group
-- are found by it until the last of them is gone.
ALTER TABLE users ADD COLUMN provisioned_by_group_id BIGINT;
CREATE INDEX users_provisioned_by_group ON users (provisioned_by_group_id) WHERE provisioned_by_group_id IS NOT NULL;
CREATE INDEX users_service_accounts ON users (id) WHERE user_type = 'service_account';
