-- Which of the issues that are due tomorrow mail was asked for about: a row for the last day.
CREATE TABLE due_mail_runs (
    day        {{text}} PRIMARY KEY, -- YYYY-MM-DD
    last_issue BIGINT NOT NULL,      -- in the order of ids
    done       BOOLEAN NOT NULL      -- with all of them
);
CREATE INDEX issues_due_day ON issues (due_date, id) WHERE due_date IS NOT NULL AND state = 'opened';
