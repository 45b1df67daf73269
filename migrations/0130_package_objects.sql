-- The key of the object where it is not that of the digest.
ALTER TABLE package_files ADD COLUMN object {{text}} NOT NULL DEFAULT '';

-- Objects that are written for a file before its row is, and objects that the sweep deletes: an upload gives no key that is being deleted.
CREATE TABLE package_object_claims (
    id         {{id}},
    object     {{text}} NOT NULL, -- key of the object
    purpose    {{text}} NOT NULL, -- upload, sweep
    created_at {{time}} NOT NULL
);
CREATE INDEX package_object_claims_object ON package_object_claims (object);
CREATE INDEX package_object_claims_age ON package_object_claims (purpose, created_at);

-- Publications and deletions of packages in a distribution are counted, so that a job that reads stanzas in parts knows which belong together.
ALTER TABLE debian_distributions ADD COLUMN publications BIGINT NOT NULL DEFAULT 0;
ALTER TABLE debian_distributions ADD COLUMN deletions BIGINT NOT NULL DEFAULT 0;
ALTER TABLE debian_stanzas ADD COLUMN publication BIGINT NOT NULL DEFAULT 0; -- of which the stanza is a part
