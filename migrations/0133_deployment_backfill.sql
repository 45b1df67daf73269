-- Jobs that deployed before there were deployments: a job of the server makes them, in the order of the jobs. Their ids are those of the jobs, and
-- their numbers are reserved here, so that what is deployed meanwhile comes after them.
CREATE TABLE deployment_backfills (
    id       {{id}},
    after_id BIGINT NOT NULL, -- the last job that was looked at
    last_id  BIGINT NOT NULL  -- of the jobs that were there
);
INSERT INTO deployment_backfills (after_id, last_id)
    SELECT 0, x.last_id FROM (SELECT MAX(s.id) AS last_id FROM commit_statuses s) x
    WHERE EXISTS (SELECT 1 FROM commit_statuses s WHERE s.environment IS NOT NULL) AND NOT EXISTS (SELECT 1 FROM deployments) AND NOT EXISTS (SELECT 1 FROM internal_ids i WHERE i.kind = 'deployment');
INSERT INTO internal_ids (namespace_id, kind, last)
    SELECT p.namespace_id, 'deployment', COUNT(*) FROM commit_statuses s JOIN projects p ON p.id = s.project_id
    WHERE s.environment IS NOT NULL AND EXISTS (SELECT 1 FROM deployment_backfills) GROUP BY p.namespace_id;
-- only: sqlite
INSERT INTO sqlite_sequence (name, seq) SELECT 'deployments', 0 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence q WHERE q.name = 'deployments');
UPDATE sqlite_sequence SET seq = (SELECT b.last_id FROM deployment_backfills b)
    WHERE name = 'deployments' AND seq < (SELECT b.last_id FROM deployment_backfills b);
-- end
-- only: postgres
SELECT setval(pg_get_serial_sequence('deployments', 'id'), (SELECT b.last_id FROM deployment_backfills b));
-- end
