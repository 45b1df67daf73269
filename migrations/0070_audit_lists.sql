-- Lists of audit events: of a place, also by author and time, and of the instance by type and time. Both are in the order of ids.
DROP INDEX audit_events_entity;
CREATE INDEX audit_events_place ON audit_events (entity_type, entity_id, id, author_id, created_at);
CREATE INDEX audit_events_instance ON audit_events (id, entity_type, created_at);

-- What happens to the instance belongs to the user who did it.
UPDATE audit_events SET entity_type = 'User', entity_id = author_id,
    entity_path = COALESCE((SELECT u.username FROM users u WHERE u.id = audit_events.author_id), '')
WHERE entity_type = 'Gitlab::Audit::InstanceScope';
