-- Texts of comments, milestones and snippets are searched. A column of folds is NULL where lower() of the
-- engines folds the text; rows from before this migration that need one get it by a job.
ALTER TABLE notes ADD COLUMN body_fold {{text}};
ALTER TABLE snippets ADD COLUMN description_fold {{text}};
ALTER TABLE snippets ADD COLUMN files_fold {{text}};
CREATE INDEX notes_unfolded ON notes (id) WHERE NOT system AND body_fold IS NULL AND octet_length(body) > length(body);

-- Texts of more than 16,384 characters have no trigrams, see 0007.
CREATE INDEX notes_long ON notes (id) WHERE NOT system AND length(body) > 16384;
CREATE INDEX milestones_long ON milestones (id) WHERE length(description_fold) > 16384;
CREATE INDEX snippets_long ON snippets (id) WHERE length(COALESCE(description, '')) > 16384;

-- only: sqlite
CREATE VIRTUAL TABLE notes_trigrams USING fts5(body_fold, content='', columnsize=0, detail=none, tokenize='trigram case_sensitive 1');
INSERT INTO notes_trigrams (rowid, body_fold) SELECT id, COALESCE(body_fold, lower(body), '') FROM notes WHERE NOT system AND length(body) <= 16384 ORDER BY id;
CREATE TRIGGER notes_trigrams_insert AFTER INSERT ON notes WHEN NOT new.system AND length(new.body) <= 16384 BEGIN
    INSERT INTO notes_trigrams (rowid, body_fold) VALUES (new.id, COALESCE(new.body_fold, lower(new.body), ''));
END;
CREATE TRIGGER notes_trigrams_delete AFTER DELETE ON notes WHEN NOT old.system AND length(old.body) <= 16384 BEGIN
    INSERT INTO notes_trigrams (notes_trigrams, rowid, body_fold) VALUES ('delete', old.id, COALESCE(old.body_fold, lower(old.body), ''));
END;
CREATE TRIGGER notes_trigrams_update AFTER UPDATE OF id, body, body_fold, system ON notes
WHEN old.id <> new.id OR old.body <> new.body OR old.body_fold IS NOT new.body_fold OR old.system <> new.system BEGIN
    INSERT INTO notes_trigrams (notes_trigrams, rowid, body_fold)
        SELECT 'delete', old.id, COALESCE(old.body_fold, lower(old.body), '') WHERE NOT old.system AND length(old.body) <= 16384;
    INSERT INTO notes_trigrams (rowid, body_fold)
        SELECT new.id, COALESCE(new.body_fold, lower(new.body), '') WHERE NOT new.system AND length(new.body) <= 16384;
END;

CREATE VIRTUAL TABLE milestones_trigrams USING fts5(title_fold, description_fold, content='', columnsize=0, detail=none, tokenize='trigram case_sensitive 1');
INSERT INTO milestones_trigrams (rowid, title_fold, description_fold) SELECT id, title_fold, description_fold FROM milestones WHERE length(description_fold) <= 16384 ORDER BY id;
CREATE TRIGGER milestones_trigrams_insert AFTER INSERT ON milestones WHEN length(new.description_fold) <= 16384 BEGIN
    INSERT INTO milestones_trigrams (rowid, title_fold, description_fold) VALUES (new.id, new.title_fold, new.description_fold);
END;
CREATE TRIGGER milestones_trigrams_delete AFTER DELETE ON milestones WHEN length(old.description_fold) <= 16384 BEGIN
    INSERT INTO milestones_trigrams (milestones_trigrams, rowid, title_fold, description_fold) VALUES ('delete', old.id, old.title_fold, old.description_fold);
END;
CREATE TRIGGER milestones_trigrams_update AFTER UPDATE OF id, title_fold, description_fold ON milestones
WHEN old.id <> new.id OR old.title_fold <> new.title_fold OR old.description_fold <> new.description_fold BEGIN
    INSERT INTO milestones_trigrams (milestones_trigrams, rowid, title_fold, description_fold)
        SELECT 'delete', old.id, old.title_fold, old.description_fold WHERE length(old.description_fold) <= 16384;
    INSERT INTO milestones_trigrams (rowid, title_fold, description_fold)
        SELECT new.id, new.title_fold, new.description_fold WHERE length(new.description_fold) <= 16384;
END;

CREATE VIRTUAL TABLE snippets_trigrams USING fts5(title_fold, description_fold, files_fold, content='', columnsize=0, detail=none, tokenize='trigram case_sensitive 1');
INSERT INTO snippets_trigrams (rowid, title_fold, description_fold, files_fold)
    SELECT id, title_fold, COALESCE(description_fold, lower(description), ''), COALESCE(files_fold, lower(files), '') FROM snippets WHERE length(COALESCE(description, '')) <= 16384 ORDER BY id;
CREATE TRIGGER snippets_trigrams_insert AFTER INSERT ON snippets WHEN length(COALESCE(new.description, '')) <= 16384 BEGIN
    INSERT INTO snippets_trigrams (rowid, title_fold, description_fold, files_fold)
        VALUES (new.id, new.title_fold, COALESCE(new.description_fold, lower(new.description), ''), COALESCE(new.files_fold, lower(new.files), ''));
END;
CREATE TRIGGER snippets_trigrams_delete AFTER DELETE ON snippets WHEN length(COALESCE(old.description, '')) <= 16384 BEGIN
    INSERT INTO snippets_trigrams (snippets_trigrams, rowid, title_fold, description_fold, files_fold)
        VALUES ('delete', old.id, old.title_fold, COALESCE(old.description_fold, lower(old.description), ''), COALESCE(old.files_fold, lower(old.files), ''));
END;
CREATE TRIGGER snippets_trigrams_update AFTER UPDATE OF id, title_fold, description, description_fold, files, files_fold ON snippets
WHEN old.id <> new.id OR old.title_fold <> new.title_fold OR old.description IS NOT new.description OR old.description_fold IS NOT new.description_fold
    OR old.files <> new.files OR old.files_fold IS NOT new.files_fold BEGIN
    INSERT INTO snippets_trigrams (snippets_trigrams, rowid, title_fold, description_fold, files_fold)
        SELECT 'delete', old.id, old.title_fold, COALESCE(old.description_fold, lower(old.description), ''), COALESCE(old.files_fold, lower(old.files), '')
        WHERE length(COALESCE(old.description, '')) <= 16384;
    INSERT INTO snippets_trigrams (rowid, title_fold, description_fold, files_fold)
        SELECT new.id, new.title_fold, COALESCE(new.description_fold, lower(new.description), ''), COALESCE(new.files_fold, lower(new.files), '')
        WHERE length(COALESCE(new.description, '')) <= 16384;
END;
-- end
