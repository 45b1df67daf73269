-- Open merge requests whose rules of code owners are made again when members change.
CREATE INDEX merge_requests_owned ON merge_requests (target_project_id) WHERE owners_key <> '';
