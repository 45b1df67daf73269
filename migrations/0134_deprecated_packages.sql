-- Versions of npm packages that are deprecated have a status of their own, and their message.
UPDATE packages SET status = 'deprecated', status_message = (SELECT v.deprecated FROM npm_versions v WHERE v.package_id = packages.id)
WHERE status = 'default' AND id IN (SELECT v.package_id FROM npm_versions v WHERE v.deprecated IS NOT NULL);
