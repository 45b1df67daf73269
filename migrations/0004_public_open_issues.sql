-- Who may not read all confidential issues of a project is told the number of the others.
ALTER TABLE projects ADD COLUMN public_open_issues_count BIGINT NOT NULL DEFAULT 0; -- of open_issues_count, those that are not confidential
UPDATE projects SET public_open_issues_count = (SELECT COUNT(*) FROM issues i
    WHERE i.project_id = projects.id AND i.state = 'opened' AND NOT i.confidential);
