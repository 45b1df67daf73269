-- The head that the server's last rebase made. A push that moves the branch there is no change of the reviewed commits.
ALTER TABLE merge_requests ADD COLUMN rebase_commit_sha {{text}};
