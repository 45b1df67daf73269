-- A segment of the index for each text that is written, and merging these, took a third of the time of a comment. Ids
-- of new texts wait here until their trigrams are written, many at once; a search looks into the texts that wait. A row
-- is indexed when it is deleted from here. Segments are merged 64 pages at a time, for which all writers wait: pages of
-- a quarter of the size make that short.
-- only: sqlite
INSERT INTO issues_trigrams (issues_trigrams, rank) VALUES ('pgsz', 1000);
INSERT INTO merge_requests_trigrams (merge_requests_trigrams, rank) VALUES ('pgsz', 1000);
INSERT INTO notes_trigrams (notes_trigrams, rank) VALUES ('pgsz', 1000);

CREATE TABLE issues_pending_trigrams (id INTEGER PRIMARY KEY);
CREATE TRIGGER issues_trigrams_index AFTER DELETE ON issues_pending_trigrams BEGIN
    INSERT INTO issues_trigrams (rowid, title_fold, description_fold) SELECT id, title_fold, description_fold FROM issues WHERE id = old.id AND length(description_fold) <= 16384;
END;
DROP TRIGGER issues_trigrams_insert;
CREATE TRIGGER issues_trigrams_insert AFTER INSERT ON issues WHEN length(new.description_fold) <= 16384 BEGIN
    INSERT INTO issues_pending_trigrams (id) VALUES (new.id);
END;
DROP TRIGGER issues_trigrams_delete;
CREATE TRIGGER issues_trigrams_delete AFTER DELETE ON issues WHEN length(old.description_fold) <= 16384 BEGIN
    INSERT INTO issues_trigrams (issues_trigrams, rowid, title_fold, description_fold)
        SELECT 'delete', old.id, old.title_fold, old.description_fold WHERE NOT EXISTS (SELECT 1 FROM issues_pending_trigrams WHERE id = old.id);
    DELETE FROM issues_pending_trigrams WHERE id = old.id;
END;
DROP TRIGGER issues_trigrams_update;
CREATE TRIGGER issues_trigrams_update AFTER UPDATE OF id, title_fold, description_fold ON issues
WHEN old.id <> new.id OR old.title_fold <> new.title_fold OR old.description_fold <> new.description_fold BEGIN
    INSERT INTO issues_trigrams (issues_trigrams, rowid, title_fold, description_fold)
        SELECT 'delete', old.id, old.title_fold, old.description_fold
        WHERE length(old.description_fold) <= 16384 AND NOT EXISTS (SELECT 1 FROM issues_pending_trigrams WHERE id = old.id);
    DELETE FROM issues_pending_trigrams WHERE id = old.id AND (old.id <> new.id OR NOT (length(new.description_fold) <= 16384));
    INSERT INTO issues_pending_trigrams (id) SELECT new.id WHERE length(new.description_fold) <= 16384 AND NOT EXISTS (SELECT 1 FROM issues_pending_trigrams WHERE id = new.id);
END;

CREATE TABLE merge_requests_pending_trigrams (id INTEGER PRIMARY KEY);
CREATE TRIGGER merge_requests_trigrams_index AFTER DELETE ON merge_requests_pending_trigrams BEGIN
    INSERT INTO merge_requests_trigrams (rowid, title_fold, description_fold) SELECT id, title_fold, description_fold FROM merge_requests WHERE id = old.id AND length(description_fold) <= 16384;
END;
DROP TRIGGER merge_requests_trigrams_insert;
CREATE TRIGGER merge_requests_trigrams_insert AFTER INSERT ON merge_requests WHEN length(new.description_fold) <= 16384 BEGIN
    INSERT INTO merge_requests_pending_trigrams (id) VALUES (new.id);
END;
DROP TRIGGER merge_requests_trigrams_delete;
CREATE TRIGGER merge_requests_trigrams_delete AFTER DELETE ON merge_requests WHEN length(old.description_fold) <= 16384 BEGIN
    INSERT INTO merge_requests_trigrams (merge_requests_trigrams, rowid, title_fold, description_fold)
        SELECT 'delete', old.id, old.title_fold, old.description_fold WHERE NOT EXISTS (SELECT 1 FROM merge_requests_pending_trigrams WHERE id = old.id);
    DELETE FROM merge_requests_pending_trigrams WHERE id = old.id;
END;
DROP TRIGGER merge_requests_trigrams_update;
CREATE TRIGGER merge_requests_trigrams_update AFTER UPDATE OF id, title_fold, description_fold ON merge_requests
WHEN old.id <> new.id OR old.title_fold <> new.title_fold OR old.description_fold <> new.description_fold BEGIN
    INSERT INTO merge_requests_trigrams (merge_requests_trigrams, rowid, title_fold, description_fold)
        SELECT 'delete', old.id, old.title_fold, old.description_fold
        WHERE length(old.description_fold) <= 16384 AND NOT EXISTS (SELECT 1 FROM merge_requests_pending_trigrams WHERE id = old.id);
    DELETE FROM merge_requests_pending_trigrams WHERE id = old.id AND (old.id <> new.id OR NOT (length(new.description_fold) <= 16384));
    INSERT INTO merge_requests_pending_trigrams (id) SELECT new.id WHERE length(new.description_fold) <= 16384 AND NOT EXISTS (SELECT 1 FROM merge_requests_pending_trigrams WHERE id = new.id);
END;

CREATE TABLE notes_pending_trigrams (id INTEGER PRIMARY KEY);
CREATE TRIGGER notes_trigrams_index AFTER DELETE ON notes_pending_trigrams BEGIN
    INSERT INTO notes_trigrams (rowid, body_fold) SELECT id, COALESCE(body_fold, lower(body), '') FROM notes WHERE id = old.id AND NOT system AND length(body) <= 16384;
END;
DROP TRIGGER notes_trigrams_insert;
CREATE TRIGGER notes_trigrams_insert AFTER INSERT ON notes WHEN NOT new.system AND length(new.body) <= 16384 BEGIN
    INSERT INTO notes_pending_trigrams (id) VALUES (new.id);
END;
DROP TRIGGER notes_trigrams_delete;
CREATE TRIGGER notes_trigrams_delete AFTER DELETE ON notes WHEN NOT old.system AND length(old.body) <= 16384 BEGIN
    INSERT INTO notes_trigrams (notes_trigrams, rowid, body_fold)
        SELECT 'delete', old.id, COALESCE(old.body_fold, lower(old.body), '') WHERE NOT EXISTS (SELECT 1 FROM notes_pending_trigrams WHERE id = old.id);
    DELETE FROM notes_pending_trigrams WHERE id = old.id;
END;
DROP TRIGGER notes_trigrams_update;
CREATE TRIGGER notes_trigrams_update AFTER UPDATE OF id, body, body_fold, system ON notes
WHEN old.id <> new.id OR old.body <> new.body OR old.body_fold IS NOT new.body_fold OR old.system <> new.system BEGIN
    INSERT INTO notes_trigrams (notes_trigrams, rowid, body_fold)
        SELECT 'delete', old.id, COALESCE(old.body_fold, lower(old.body), '')
        WHERE NOT old.system AND length(old.body) <= 16384 AND NOT EXISTS (SELECT 1 FROM notes_pending_trigrams WHERE id = old.id);
    DELETE FROM notes_pending_trigrams WHERE id = old.id AND (old.id <> new.id OR NOT (NOT new.system AND length(new.body) <= 16384));
    INSERT INTO notes_pending_trigrams (id) SELECT new.id WHERE NOT new.system AND length(new.body) <= 16384 AND NOT EXISTS (SELECT 1 FROM notes_pending_trigrams WHERE id = new.id);
END;
-- end
