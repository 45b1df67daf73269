-- Lists of audit events by time: of the instance, of a type, and of a place, also by author.
CREATE INDEX audit_events_time ON audit_events (created_at, id);
CREATE INDEX audit_events_type_time ON audit_events (entity_type, created_at, id);
CREATE INDEX audit_events_place_time ON audit_events (entity_type, entity_id, created_at, id, author_id);
