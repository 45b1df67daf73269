-- When a user asked for the deletion of the own account that is still to come.
ALTER TABLE users ADD COLUMN self_deletion_at {{time}};
