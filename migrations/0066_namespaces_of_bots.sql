-- The users of project and group tokens have a personal namespace, as people have.
INSERT INTO namespaces (kind, path, name, name_fold, visibility, created_at, updated_at)
    SELECT 'user', u.username, u.name, u.name_fold, 20, u.created_at, u.created_at FROM users u
    WHERE u.user_type = 'bot' AND u.namespace_id IS NULL AND NOT EXISTS (SELECT 1 FROM routes r WHERE r.path_fold = u.username_fold)
    ORDER BY u.id;
UPDATE users SET namespace_id = (SELECT n.id FROM namespaces n WHERE n.kind = 'user' AND n.parent_id IS NULL AND n.path = users.username
        AND NOT EXISTS (SELECT 1 FROM routes r WHERE r.namespace_id = n.id))
    WHERE user_type = 'bot' AND namespace_id IS NULL;
INSERT INTO namespace_ancestors (namespace_id, ancestor_id, depth)
    SELECT u.namespace_id, u.namespace_id, 0 FROM users u WHERE u.user_type = 'bot' AND u.namespace_id IS NOT NULL;
INSERT INTO routes (namespace_id, path, path_fold, name)
    SELECT u.namespace_id, u.username, u.username_fold, u.name FROM users u WHERE u.user_type = 'bot' AND u.namespace_id IS NOT NULL;
INSERT INTO members (namespace_id, user_id, access_level, created_at, updated_at)
    SELECT u.namespace_id, u.id, 50, u.created_at, u.created_at FROM users u WHERE u.user_type = 'bot' AND u.namespace_id IS NOT NULL;
