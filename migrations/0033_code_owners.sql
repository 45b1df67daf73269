-- What the rules of code owners of a merge request were made of: the CODEOWNERS file of its
-- target branch, and the version. Empty where the branch has no such file.
ALTER TABLE merge_requests ADD COLUMN owners_key {{text}} NOT NULL DEFAULT '';

-- Open merge requests get those rules with their next trial merge.
UPDATE merge_requests SET trial_result = '', trial_source_sha = '', trial_target_sha = '' WHERE state = 'opened';
