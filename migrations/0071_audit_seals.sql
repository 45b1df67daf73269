-- Seals of audit events. A row has a proof that the server wrote it until it has a seal: a digest over the row and the seal before.
ALTER TABLE audit_events ADD COLUMN proof {{text}} NOT NULL DEFAULT '';
ALTER TABLE audit_events ADD COLUMN sealed BIGINT NOT NULL DEFAULT 0; -- 0 waits for a seal, 1 has one, 2 has no proof
CREATE INDEX audit_events_unsealed ON audit_events (sealed, id) WHERE sealed <> 1;

CREATE TABLE audit_seals (
    number   BIGINT PRIMARY KEY, -- from 1 without a gap
    event_id BIGINT NOT NULL,    -- stays when the event is gone
    seal     {{text}} NOT NULL
);
CREATE UNIQUE INDEX audit_seals_event ON audit_seals (event_id);

-- The end of the chain: at most one row.
CREATE TABLE audit_chain (
    id       BIGINT PRIMARY KEY,
    number   BIGINT NOT NULL,
    seal     {{text}} NOT NULL,
    unproved BIGINT NOT NULL -- events up to this id were written without a proof; 0 where all of them are sealed
);
INSERT INTO audit_chain (id, number, seal, unproved)
SELECT 1, 0, '', MAX(e.id) FROM audit_events e HAVING MAX(e.id) IS NOT NULL;
