-- Merge requests by their last commit: after each push, open ones are looked for that it merged by hand.
CREATE INDEX merge_requests_head ON merge_requests (target_project_id, head_sha);
