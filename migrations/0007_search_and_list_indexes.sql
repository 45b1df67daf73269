-- Indexes for lists of a large instance: in the order of the list, then what tells whether a row is shown.
DROP INDEX issues_created;
DROP INDEX issues_state;
DROP INDEX issues_updated;
DROP INDEX issues_author;
CREATE INDEX issues_created ON issues (project_id, created_at, id, confidential);
CREATE INDEX issues_updated ON issues (project_id, updated_at, id, confidential);
CREATE INDEX issues_state ON issues (project_id, state, created_at, id, confidential);
CREATE INDEX issues_state_updated ON issues (project_id, state, updated_at, id, confidential);
CREATE INDEX issues_all_created ON issues (created_at, id, project_id, state, confidential);
CREATE INDEX issues_all_updated ON issues (updated_at, id, project_id, state, confidential);
CREATE INDEX issues_author ON issues (author_id, project_id, id);
CREATE INDEX issues_confidential ON issues (project_id, id) WHERE confidential;
CREATE INDEX issues_due ON issues (project_id, due_date, id) WHERE due_date IS NOT NULL;
CREATE INDEX issues_weight ON issues (project_id, weight, id) WHERE weight IS NOT NULL;
CREATE INDEX issues_type ON issues (project_id, issue_type, id) WHERE issue_type <> 'issue';

DROP INDEX merge_requests_author;
CREATE INDEX merge_requests_state_updated ON merge_requests (target_project_id, state, updated_at, id);
CREATE INDEX merge_requests_all_updated ON merge_requests (updated_at, id, target_project_id, state);
CREATE INDEX merge_requests_author ON merge_requests (author_id, target_project_id, id);

CREATE INDEX projects_name ON projects (name_fold, id);
CREATE INDEX projects_path ON projects (path, id);
CREATE INDEX projects_updated ON projects (updated_at, id);
CREATE INDEX projects_activity ON projects (last_activity_at, id);
CREATE INDEX projects_open_issues ON projects (open_issues_count);
CREATE INDEX projects_stars ON projects (star_count, id);
CREATE INDEX labels_name ON labels (title);
CREATE INDEX namespaces_visibility ON namespaces (kind, visibility, id);

-- Texts of more than 16,384 characters have no trigrams: a million characters may be a million of them, which
-- takes seconds to write. A search looks into each of these rows.
CREATE INDEX issues_long ON issues (id) WHERE length(description_fold) > 16384;
CREATE INDEX merge_requests_long ON merge_requests (id) WHERE length(description_fold) > 16384;

-- Trigrams of texts, which find the rows that may hold a word. The texts themselves stay in their tables. On
-- PostgreSQL the program makes indexes of the extension pg_trgm, where it may.
-- only: sqlite
CREATE VIRTUAL TABLE issues_trigrams USING fts5(title_fold, description_fold, content='', columnsize=0, detail=none, tokenize='trigram case_sensitive 1');
INSERT INTO issues_trigrams (rowid, title_fold, description_fold) SELECT id, title_fold, description_fold FROM issues WHERE length(description_fold) <= 16384 ORDER BY id;
CREATE TRIGGER issues_trigrams_insert AFTER INSERT ON issues WHEN length(new.description_fold) <= 16384 BEGIN
    INSERT INTO issues_trigrams (rowid, title_fold, description_fold) VALUES (new.id, new.title_fold, new.description_fold);
END;
CREATE TRIGGER issues_trigrams_delete AFTER DELETE ON issues WHEN length(old.description_fold) <= 16384 BEGIN
    INSERT INTO issues_trigrams (issues_trigrams, rowid, title_fold, description_fold) VALUES ('delete', old.id, old.title_fold, old.description_fold);
END;
CREATE TRIGGER issues_trigrams_update AFTER UPDATE OF id, title_fold, description_fold ON issues
WHEN old.id <> new.id OR old.title_fold <> new.title_fold OR old.description_fold <> new.description_fold BEGIN
    INSERT INTO issues_trigrams (issues_trigrams, rowid, title_fold, description_fold)
        SELECT 'delete', old.id, old.title_fold, old.description_fold WHERE length(old.description_fold) <= 16384;
    INSERT INTO issues_trigrams (rowid, title_fold, description_fold)
        SELECT new.id, new.title_fold, new.description_fold WHERE length(new.description_fold) <= 16384;
END;

CREATE VIRTUAL TABLE merge_requests_trigrams USING fts5(title_fold, description_fold, content='', columnsize=0, detail=none, tokenize='trigram case_sensitive 1');
INSERT INTO merge_requests_trigrams (rowid, title_fold, description_fold) SELECT id, title_fold, description_fold FROM merge_requests WHERE length(description_fold) <= 16384 ORDER BY id;
CREATE TRIGGER merge_requests_trigrams_insert AFTER INSERT ON merge_requests WHEN length(new.description_fold) <= 16384 BEGIN
    INSERT INTO merge_requests_trigrams (rowid, title_fold, description_fold) VALUES (new.id, new.title_fold, new.description_fold);
END;
CREATE TRIGGER merge_requests_trigrams_delete AFTER DELETE ON merge_requests WHEN length(old.description_fold) <= 16384 BEGIN
    INSERT INTO merge_requests_trigrams (merge_requests_trigrams, rowid, title_fold, description_fold) VALUES ('delete', old.id, old.title_fold, old.description_fold);
END;
CREATE TRIGGER merge_requests_trigrams_update AFTER UPDATE OF id, title_fold, description_fold ON merge_requests
WHEN old.id <> new.id OR old.title_fold <> new.title_fold OR old.description_fold <> new.description_fold BEGIN
    INSERT INTO merge_requests_trigrams (merge_requests_trigrams, rowid, title_fold, description_fold)
        SELECT 'delete', old.id, old.title_fold, old.description_fold WHERE length(old.description_fold) <= 16384;
    INSERT INTO merge_requests_trigrams (rowid, title_fold, description_fold)
        SELECT new.id, new.title_fold, new.description_fold WHERE length(new.description_fold) <= 16384;
END;

CREATE VIRTUAL TABLE projects_trigrams USING fts5(name_fold, path, description_fold, content='', columnsize=0, detail=none, tokenize='trigram case_sensitive 1');
INSERT INTO projects_trigrams (rowid, name_fold, path, description_fold) SELECT id, name_fold, lower(path), description_fold FROM projects ORDER BY id;
CREATE TRIGGER projects_trigrams_insert AFTER INSERT ON projects BEGIN
    INSERT INTO projects_trigrams (rowid, name_fold, path, description_fold) VALUES (new.id, new.name_fold, lower(new.path), new.description_fold);
END;
CREATE TRIGGER projects_trigrams_delete AFTER DELETE ON projects BEGIN
    INSERT INTO projects_trigrams (projects_trigrams, rowid, name_fold, path, description_fold) VALUES ('delete', old.id, old.name_fold, lower(old.path), old.description_fold);
END;
CREATE TRIGGER projects_trigrams_update AFTER UPDATE OF id, name_fold, path, description_fold ON projects
WHEN old.id <> new.id OR old.name_fold <> new.name_fold OR old.path <> new.path OR old.description_fold <> new.description_fold BEGIN
    INSERT INTO projects_trigrams (projects_trigrams, rowid, name_fold, path, description_fold) VALUES ('delete', old.id, old.name_fold, lower(old.path), old.description_fold);
    INSERT INTO projects_trigrams (rowid, name_fold, path, description_fold) VALUES (new.id, new.name_fold, lower(new.path), new.description_fold);
END;

CREATE VIRTUAL TABLE users_trigrams USING fts5(name_fold, username_fold, content='', columnsize=0, detail=none, tokenize='trigram case_sensitive 1');
INSERT INTO users_trigrams (rowid, name_fold, username_fold) SELECT id, name_fold, username_fold FROM users ORDER BY id;
CREATE TRIGGER users_trigrams_insert AFTER INSERT ON users BEGIN
    INSERT INTO users_trigrams (rowid, name_fold, username_fold) VALUES (new.id, new.name_fold, new.username_fold);
END;
CREATE TRIGGER users_trigrams_delete AFTER DELETE ON users BEGIN
    INSERT INTO users_trigrams (users_trigrams, rowid, name_fold, username_fold) VALUES ('delete', old.id, old.name_fold, old.username_fold);
END;
CREATE TRIGGER users_trigrams_update AFTER UPDATE OF id, name_fold, username_fold ON users
WHEN old.id <> new.id OR old.name_fold <> new.name_fold OR old.username_fold <> new.username_fold BEGIN
    INSERT INTO users_trigrams (users_trigrams, rowid, name_fold, username_fold) VALUES ('delete', old.id, old.name_fold, old.username_fold);
    INSERT INTO users_trigrams (rowid, name_fold, username_fold) VALUES (new.id, new.name_fold, new.username_fold);
END;
-- end
