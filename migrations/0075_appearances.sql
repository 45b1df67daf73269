-- How pages and mail of the instance look. One row at most, made by the first change.
CREATE TABLE appearances (
    id                              {{id}},
    title                           {{text}} NOT NULL,
    description                     {{text}} NOT NULL,
    pwa_name                        {{text}} NOT NULL,
    pwa_short_name                  {{text}} NOT NULL,
    pwa_description                 {{text}} NOT NULL,
    logo                            {{text}} NOT NULL, -- stored name of the picture, '' for none, as the next three
    pwa_icon                        {{text}} NOT NULL,
    header_logo                     {{text}} NOT NULL,
    favicon                         {{text}} NOT NULL,
    member_guidelines               {{text}} NOT NULL,
    new_project_guidelines          {{text}} NOT NULL,
    profile_image_guidelines        {{text}} NOT NULL,
    header_message                  {{text}} NOT NULL,
    footer_message                  {{text}} NOT NULL,
    message_background_color        {{text}} NOT NULL,
    message_font_color              {{text}} NOT NULL,
    email_header_and_footer_enabled BOOLEAN NOT NULL,
    created_at                      {{time}} NOT NULL,
    updated_at                      {{time}} NOT NULL
);
