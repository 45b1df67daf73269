-- What users chose for pages: the order of lists of issues ('' where they chose none), and by which number pipelines are named.
ALTER TABLE users ADD COLUMN issues_sort {{text}} NOT NULL DEFAULT '';
ALTER TABLE users ADD COLUMN name_pipelines_by_iid BOOLEAN NOT NULL DEFAULT false;
