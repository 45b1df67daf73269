-- Archives that are fetched from other servers.
ALTER TABLE file_imports ADD COLUMN source {{text}} NOT NULL DEFAULT ''; -- where the archive is, sealed; "" once it is here
