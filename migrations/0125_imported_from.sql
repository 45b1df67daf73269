-- What rows of imports came by; '' for those that were made here.
ALTER TABLE issues ADD COLUMN imported_from {{text}} NOT NULL DEFAULT '';
ALTER TABLE merge_requests ADD COLUMN imported_from {{text}} NOT NULL DEFAULT '';
ALTER TABLE epics ADD COLUMN imported_from {{text}} NOT NULL DEFAULT '';
ALTER TABLE snippets ADD COLUMN imported_from {{text}} NOT NULL DEFAULT '';
ALTER TABLE events ADD COLUMN imported_from {{text}} NOT NULL DEFAULT '';
