-- Lines of history about links, moves, copies and duplicates name another issue: who may not read that does not see them.
-- They are written as often as that happens; what mentions a thing is told once.
ALTER TABLE notes ADD COLUMN source_key {{text}} NOT NULL DEFAULT ''; -- the hash of a commit; the discussion_id of what may be told again; '' of others
DROP INDEX notes_source;
CREATE UNIQUE INDEX notes_source ON notes (noteable_type, noteable_id, source_project_id, source_type, source_id, source_key) WHERE source_type IS NOT NULL;

-- Lines that are there name the issue in their text. Those whose issue is not found stay hidden.
UPDATE notes SET source_type = 'Issue', source_key = discussion_id
WHERE system AND source_type IS NULL AND noteable_type = 'Issue' AND (body LIKE 'marked this issue as related to %#%'
    OR body LIKE 'marked this issue as blocking %#%' OR body LIKE 'marked this issue as blocked by %#%' OR body LIKE 'removed the relation with %#%'
    OR body LIKE 'moved to %#%' OR body LIKE 'moved from %#%' OR body LIKE 'cloned to %#%' OR body LIKE 'cloned from %#%'
    OR body LIKE 'marked this issue as a duplicate of %#%' OR body LIKE 'marked %#% as a duplicate of this issue');
-- only: sqlite
UPDATE notes SET (source_project_id, source_id) = (SELECT i.project_id, i.id FROM issues i
    WHERE i.project_id = notes.project_id AND i.iid = CAST(substr(notes.body, instr(notes.body, '#') + 1) AS INTEGER))
WHERE source_type = 'Issue' AND source_key <> '' AND body LIKE '% #%';
UPDATE notes SET (source_project_id, source_id) = (SELECT i.project_id, i.id FROM routes r JOIN projects p ON p.namespace_id = r.namespace_id
    JOIN issues i ON i.project_id = p.id
    WHERE r.path_fold = lower(substr(substr(notes.body, 1, instr(notes.body, '#') - 1),
        length(rtrim(substr(notes.body, 1, instr(notes.body, '#') - 1), replace(substr(notes.body, 1, instr(notes.body, '#') - 1), ' ', ''))) + 1))
    AND i.iid = CAST(substr(notes.body, instr(notes.body, '#') + 1) AS INTEGER))
WHERE source_type = 'Issue' AND source_key <> '' AND body NOT LIKE '% #%';
-- end
-- only: postgres
UPDATE notes SET (source_project_id, source_id) = (SELECT i.project_id, i.id FROM issues i
    WHERE i.project_id = notes.project_id AND i.iid = CAST(substring(notes.body from '#([0-9]{1,18})') AS BIGINT))
WHERE source_type = 'Issue' AND source_key <> '' AND body LIKE '% #%';
UPDATE notes SET (source_project_id, source_id) = (SELECT i.project_id, i.id FROM routes r JOIN projects p ON p.namespace_id = r.namespace_id
    JOIN issues i ON i.project_id = p.id
    WHERE r.path_fold = lower(substring(notes.body from '([^ ]+)#')) AND i.iid = CAST(substring(notes.body from '#([0-9]{1,18})') AS BIGINT))
WHERE source_type = 'Issue' AND source_key <> '' AND body NOT LIKE '% #%';
-- end
