-- Hooks of projects, groups and the instance.
CREATE TABLE webhooks (
    id                           {{id}},
    namespace_id                 BIGINT REFERENCES namespaces (id) ON DELETE CASCADE, -- of the project or group; null for the instance
    url                          {{text}} NOT NULL, -- as it is shown: variables by their names, without user name and password
    name                         {{text}},
    description                  {{text}},
    push_events                  BOOLEAN NOT NULL,
    tag_push_events              BOOLEAN NOT NULL,
    merge_requests_events        BOOLEAN NOT NULL,
    repository_update_events     BOOLEAN NOT NULL,
    issues_events                BOOLEAN NOT NULL,
    confidential_issues_events   BOOLEAN NOT NULL,
    note_events                  BOOLEAN NOT NULL,
    confidential_note_events     BOOLEAN NOT NULL,
    pipeline_events              BOOLEAN NOT NULL,
    wiki_page_events             BOOLEAN NOT NULL,
    deployment_events            BOOLEAN NOT NULL,
    feature_flag_events          BOOLEAN NOT NULL,
    job_events                   BOOLEAN NOT NULL,
    releases_events              BOOLEAN NOT NULL,
    milestone_events             BOOLEAN NOT NULL,
    emoji_events                 BOOLEAN NOT NULL,
    resource_access_token_events BOOLEAN NOT NULL,
    vulnerability_events         BOOLEAN NOT NULL,
    subgroup_events              BOOLEAN NOT NULL,
    member_events                BOOLEAN NOT NULL,
    project_events               BOOLEAN NOT NULL,
    enable_ssl_verification      BOOLEAN NOT NULL,
    push_events_branch_filter    {{text}},
    branch_filter_strategy       {{text}} NOT NULL,
    custom_webhook_template      {{text}},
    url_variables                {{text}} NOT NULL, -- names as JSON
    custom_headers               {{text}} NOT NULL, -- names as JSON
    sealed                       {{text}},          -- token, user name and password, values, as JSON that is sealed
    failures                     BIGINT NOT NULL,   -- deliveries that failed since one succeeded
    disabled_until               {{time}},
    disabled                     BOOLEAN NOT NULL,  -- for good
    disabled_reason              {{text}},          -- of the last failure, while the hook is paused or disabled
    slow                         BOOLEAN NOT NULL,  -- whether its last call took long
    leased_until                 {{time}},          -- one worker does its deliveries until then
    wake_at                      {{time}},          -- when a job looks for repeats
    log_bytes                    BIGINT NOT NULL,   -- of its attempts
    created_at                   {{time}} NOT NULL,
    updated_at                   {{time}} NOT NULL
);
CREATE INDEX webhooks_namespace ON webhooks (namespace_id);
-- Bodies of events, once for all hooks.
CREATE TABLE webhook_bodies (
    id         {{id}},
    place_id   BIGINT NOT NULL,   -- namespace that the event was in, which may be gone; 0 for the instance
    maker_id   BIGINT NOT NULL,   -- user who did it, who may be gone; 0 for the server
    chain      {{text}} NOT NULL, -- X-Gitlab-Event-UUID
    event      {{text}} NOT NULL, -- trigger
    at         {{time}} NOT NULL, -- of the event
    content    {{bytes}} NOT NULL, -- compressed
    size       BIGINT NOT NULL,   -- bytes of the body
    bytes      BIGINT NOT NULL,   -- that are stored
    created_at {{time}} NOT NULL
);
CREATE INDEX webhook_bodies_chain ON webhook_bodies (chain);
CREATE INDEX webhook_bodies_created ON webhook_bodies (created_at, bytes);
-- Deliveries that are not over.
CREATE TABLE webhook_deliveries (
    id              {{id}},
    webhook_id      BIGINT NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
    body_id         BIGINT NOT NULL REFERENCES webhook_bodies (id) ON DELETE CASCADE,
    idempotency_key {{text}} NOT NULL,
    attempts        BIGINT NOT NULL,
    due_at          {{time}} NOT NULL, -- the epoch before the first attempt
    created_at      {{time}} NOT NULL
);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (webhook_id, due_at, id);
CREATE INDEX webhook_deliveries_body ON webhook_deliveries (body_id);
-- What was sent and answered.
CREATE TABLE webhook_attempts (
    id               {{id}},
    webhook_id       BIGINT NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
    body_id          BIGINT NOT NULL REFERENCES webhook_bodies (id) ON DELETE CASCADE,
    idempotency_key  {{text}} NOT NULL,
    url              {{text}} NOT NULL, -- as it is shown
    request_headers  {{text}} NOT NULL, -- as JSON, without secrets
    status           BIGINT NOT NULL,   -- 0 where there was no answer
    response_headers {{text}} NOT NULL, -- as JSON
    response_body    {{text}} NOT NULL, -- or what failed
    duration         BIGINT NOT NULL,   -- microseconds
    bytes            BIGINT NOT NULL,   -- that are stored, without the body
    created_at       {{time}} NOT NULL
);
CREATE INDEX webhook_attempts_webhook ON webhook_attempts (webhook_id, id);
CREATE INDEX webhook_attempts_body ON webhook_attempts (body_id);
CREATE INDEX webhook_attempts_created ON webhook_attempts (created_at, bytes);
