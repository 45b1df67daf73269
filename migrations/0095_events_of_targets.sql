-- Exports read the events of many issues, merge requests, milestones and notes at once.
CREATE INDEX events_target ON events (target_type, target_id) WHERE target_type IS NOT NULL;
