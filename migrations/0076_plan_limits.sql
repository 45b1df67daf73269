-- Limits of plans that administrators set. A plan without a row has the defaults.
CREATE TABLE plan_limits (
    id         {{id}},
    name       {{text}} NOT NULL UNIQUE, -- of the plan
    limits     {{text}} NOT NULL,        -- JSON: numbers by the name of the limit
    created_at {{time}} NOT NULL,
    updated_at {{time}} NOT NULL
);
