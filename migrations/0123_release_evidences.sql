-- Evidence with milestones shows issues: those who may not read the issues of a project do not get it.
ALTER TABLE release_evidences ADD COLUMN milestones BOOLEAN NOT NULL DEFAULT false;
