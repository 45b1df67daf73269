-- Images of metrics that people attach to incidents. Their files are uploads of the project.
CREATE TABLE metric_images (
    id         {{id}},
    issue_id   BIGINT NOT NULL REFERENCES issues (id) ON DELETE CASCADE,
    upload_id  BIGINT NOT NULL REFERENCES uploads (id) ON DELETE CASCADE,
    name       {{text}} NOT NULL, -- of the file
    url        {{text}},          -- where there is more about the metric
    url_text   {{text}},
    created_at {{time}} NOT NULL,
    updated_at {{time}} NOT NULL
);
CREATE INDEX metric_images_issue ON metric_images (issue_id, id);
CREATE INDEX metric_images_upload ON metric_images (upload_id);
