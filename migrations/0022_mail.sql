-- Which mails of an event are sent, so that a job that is run again leaves them out. Rows are kept for some days.
CREATE TABLE mail_deliveries (
    event      {{text}} NOT NULL, -- made up for each event
    user_id    BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    created_at {{time}} NOT NULL,
    PRIMARY KEY (event, user_id)
);
CREATE INDEX mail_deliveries_user ON mail_deliveries (user_id);
CREATE INDEX mail_deliveries_created ON mail_deliveries (created_at);

-- Who wants to hear of more than what they take part in, wherever they are members.
CREATE INDEX notification_settings_watchers ON notification_settings (user_id) WHERE namespace_id IS NULL AND level IN ('watch', 'custom');
