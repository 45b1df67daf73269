-- Issues have a severity, a health status, a place among the others, and the client that made them.
ALTER TABLE issues ADD COLUMN severity {{text}} NOT NULL DEFAULT 'unknown'; -- unknown, low, medium, high, critical; shown of incidents
ALTER TABLE issues ADD COLUMN health_status {{text}}; -- on_track, needs_attention, at_risk
ALTER TABLE issues ADD COLUMN relative_position BIGINT NOT NULL DEFAULT 0; -- microseconds at the creation times 1024, until the issue is reordered
ALTER TABLE issues ADD COLUMN user_agent {{text}}; -- User-Agent of the request that made the issue; NULL for none
ALTER TABLE issues ADD COLUMN user_address {{text}}; -- where it came from
UPDATE issues SET relative_position = id * 1073741824;
CREATE INDEX issues_position ON issues (project_id, relative_position, id, confidential, state);
CREATE INDEX issues_health ON issues (project_id, health_status, id) WHERE health_status IS NOT NULL;
