-- What becomes of a milestone becomes of the events that name it.
CREATE INDEX resource_events_milestone ON resource_events (milestone_id) WHERE milestone_id IS NOT NULL;
