-- A project or group waits once for each user who asks for access to it.
DROP INDEX todos_pending;
CREATE UNIQUE INDEX todos_pending ON todos (user_id, target_type, target_id, commit_id, COALESCE(project_id, 0),
    (CASE action WHEN 'member_access_requested' THEN author_id ELSE 0 END)) WHERE state = 'pending';
