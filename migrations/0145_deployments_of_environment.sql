CREATE INDEX deployments_of_environment ON deployments (environment_id, id);
