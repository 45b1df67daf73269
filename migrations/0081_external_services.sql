-- What pages, texts and jobs of a project have of its integrations, as JSON; null for nothing.
ALTER TABLE projects ADD COLUMN external {{text}};
