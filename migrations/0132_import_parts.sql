-- How far a line has come that an import writes in several transactions, as JSON; "" where none is.
ALTER TABLE file_imports ADD COLUMN part {{text}} NOT NULL DEFAULT '';
ALTER TABLE imported_groups ADD COLUMN part {{text}} NOT NULL DEFAULT '';
