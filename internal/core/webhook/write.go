package webhook

import (
	"context"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
)

// CodeChanges are changes of the events that every hook may ask for; nil leaves one alone.
type CodeChanges struct {
	Push          *bool `db:"push_events" param:"push_events" doc:"Trigger the hook on push events"`
	TagPush       *bool `db:"tag_push_events" param:"tag_push_events" doc:"Trigger the hook on tag push events"`
	MergeRequests *bool `db:"merge_requests_events" param:"merge_requests_events" doc:"Trigger the hook on merge request events"`
}

// PlaceChanges are changes of the events of projects and groups; nil leaves one alone.
type PlaceChanges struct {
	Issues              *bool `db:"issues_events" param:"issues_events" doc:"Trigger the hook on issue events"`
	ConfidentialIssues  *bool `db:"confidential_issues_events" param:"confidential_issues_events" doc:"Trigger the hook on events of confidential issues"`
	Note                *bool `db:"note_events" param:"note_events" doc:"Trigger the hook on comments"`
	ConfidentialNote    *bool `db:"confidential_note_events" param:"confidential_note_events" doc:"Trigger the hook on internal notes and comments on confidential issues"`
	Pipeline            *bool `db:"pipeline_events" param:"pipeline_events" doc:"Trigger the hook on pipeline events"`
	WikiPage            *bool `db:"wiki_page_events" param:"wiki_page_events" doc:"Trigger the hook on wiki page events"`
	Deployment          *bool `db:"deployment_events" param:"deployment_events" doc:"Trigger the hook on deployment events"`
	FeatureFlag         *bool `db:"feature_flag_events" param:"feature_flag_events" doc:"Trigger the hook on feature flag events"`
	Job                 *bool `db:"job_events" param:"job_events" doc:"Trigger the hook on job events"`
	Releases            *bool `db:"releases_events" param:"releases_events" doc:"Trigger the hook on release events"`
	Milestone           *bool `db:"milestone_events" param:"milestone_events" doc:"Trigger the hook on milestone events"`
	Emoji               *bool `db:"emoji_events" param:"emoji_events" doc:"Trigger the hook on award emoji events"`
	ResourceAccessToken *bool `db:"resource_access_token_events" param:"resource_access_token_events" doc:"Trigger the hook when an access token is about to expire"`
	Vulnerability       *bool `db:"vulnerability_events" param:"vulnerability_events" doc:"Accepted and stored; no event triggers the hook"`
}

// GroupChanges are changes of the events of groups alone; nil leaves one alone.
type GroupChanges struct {
	Subgroup *bool `db:"subgroup_events" param:"subgroup_events" doc:"Trigger the hook on subgroup events"`
	Member   *bool `db:"member_events" param:"member_events" doc:"Trigger the hook on member events"`
	Project  *bool `db:"project_events" param:"project_events" doc:"Trigger the hook on project events"`
}

// SystemChanges are changes of the events of the instance alone; nil leaves one alone.
type SystemChanges struct {
	RepositoryUpdate *bool `db:"repository_update_events" param:"repository_update_events" doc:"Trigger the hook once for each push"`
}

// Attributes are the other attributes that a call sets; nil leaves one alone.
type Attributes struct {
	Name         *string `db:"name" empty:"null" param:"name" doc:"Name of the hook"`
	Description  *string `db:"description" empty:"null" param:"description" doc:"Description of the hook"`
	VerifyTLS    *bool   `db:"enable_ssl_verification" param:"enable_ssl_verification" doc:"Verify the TLS certificate of the receiver"`
	BranchFilter *string `db:"push_events_branch_filter" empty:"null" param:"push_events_branch_filter" doc:"Trigger the hook on push events of matching branches only"`
	Strategy     *string `db:"branch_filter_strategy" param:"branch_filter_strategy" values:"wildcard,regex,all_branches" doc:"How push_events_branch_filter matches: wildcard, regex, or all_branches"`
	Template     *string `db:"custom_webhook_template" empty:"null" param:"custom_webhook_template" doc:"Template of the request body"`
}

// Changes are what a call sets; nil leaves alone. What has a tag is stored in its column.
type Changes struct {
	URL *string
	CodeChanges
	PlaceChanges
	GroupChanges
	SystemChanges
	Attributes
	Token     *string
	Variables map[string]string // are merged into those that are there
	Headers   map[string]string // as well
}

// newHook is a hook of a place with its defaults.
func newHook(at authz.Place, now db.Time) Hook {
	h := Hook{VerifyTLS: true, Strategy: Wildcard, CreatedAt: now, UpdatedAt: now}
	if at.IsInstance() {
		h.RepositoryUpdate = true
		return h
	}
	h.NamespaceID, h.Push = &at.Namespace, true
	return h
}

// bound is how many hooks a place may have.
func bound(at authz.Place) db.Bound {
	b := db.Bound{Table: "webhooks", Most: 100}
	text := "Maximum number of project hooks (100) exceeded"
	switch {
	case at.IsInstance():
		text = "Maximum number of system hooks (100) exceeded"
	case at.Group:
		b.Most, text = 50, "Maximum number of group hooks (50) exceeded"
	}
	within(&b.Of, "", at)
	b.Full = &errs.Error{Kind: errs.Unprocessable, Fields: []errs.Field{{Name: "base", Messages: []string{text}}}}
	return b
}

// Create adds a hook to a place. It is called for pushes where the input does not say otherwise, of the instance for updates of repositories.
func (s *Service) Create(ctx context.Context, as authz.Actor, at authz.Place, c Changes) (*Hook, error) {
	if err := s.Policy.Require(ctx, as, admin(at), at.Subject); err != nil {
		return nil, err
	}
	h, keys := newHook(at, db.At(s.Now())), secrets{Variables: map[string]string{}, Headers: map[string]string{}}
	keys, err := c.apply(&h, keys)
	if err != nil {
		return nil, err
	}
	if err := s.checkURL(ctx, at, h.URL, keys); err != nil {
		return nil, err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		h.Sealed = nil
		if err := db.Create(ctx, s.DB, "webhooks", &h, bound(at)); err != nil {
			return err
		}
		if err := s.seal(&h, keys); err != nil {
			return err
		}
		if h.Sealed != nil {
			if _, err := s.DB.Exec(ctx, "UPDATE webhooks SET sealed = ?, url_variables = ?, custom_headers = ? WHERE id = ?", h.Sealed, h.Variables, h.Headers, h.ID); err != nil {
				return err
			}
		}
		return s.Bus.Publish(ctx, Created{change.Created(as, s.Now(), at, &h)})
	})
	if err != nil {
		return nil, errs.Wrap(err, "create webhook")
	}
	return s.look(&h), nil
}

func (s *Service) row(as authz.Actor, at authz.Place, id ID) db.Row {
	r := db.Row{Table: "webhooks", ID: id, Now: s.Now, If: as.UnmodifiedAt, Missing: errs.Missing("")}
	within(&r.And, "", at)
	return r
}

// Update changes a hook. Secrets that are not sent along are removed where the hook leads elsewhere afterwards.
func (s *Service) Update(ctx context.Context, as authz.Actor, at authz.Place, id ID, c Changes) (*Hook, error) {
	if err := s.Policy.Require(ctx, as, admin(at), at.Subject); err != nil {
		return nil, err
	}
	return s.update(ctx, as, at, id, func(h *Hook, keys secrets) (secrets, error) { return c.apply(h, keys) })
}

// update changes a hook and its secrets. The URL is checked before the transaction, which fails where it has become another meanwhile.
func (s *Service) update(ctx context.Context, as authz.Actor, at authz.Place, id ID, apply func(h *Hook, keys secrets) (secrets, error)) (*Hook, error) {
	h, err := s.find(ctx, at, id)
	if err != nil {
		return nil, err
	}
	checked, err := s.changed(*h, apply)
	if err != nil {
		return nil, err
	}
	if checked != s.whole(h) {
		if err := s.checkURL(ctx, at, checked, secrets{}); err != nil {
			return nil, err
		}
	}
	var out db.Change[Hook]
	err = s.DB.InTx(ctx, func(ctx context.Context) (err error) {
		out, err = db.Update(ctx, s.DB, s.row(as, at, id), func(_ context.Context, h *Hook) error {
			was, _ := s.open(h) // the key of the instance may have been replaced: then all are lost
			before := s.whole(h)
			keys, err := apply(h, was)
			if err != nil {
				return err
			}
			if full, known := fullURL(h.URL, keys); !known || full != checked && full != before {
				return badURL()
			}
			return s.seal(h, keys)
		})
		if err != nil || !out.Any() {
			return err
		}
		return s.Bus.Publish(ctx, Updated{change.Updated(as, s.Now(), at, &out)})
	})
	if err != nil {
		return nil, errs.Wrap(err, "update webhook")
	}
	return s.look(&out.After), nil
}

// whole is the URL that a hook calls, "" where that is not known.
func (s *Service) whole(h *Hook) string {
	keys, _ := s.open(h)
	full, known := fullURL(h.URL, keys)
	if !known {
		return ""
	}
	return full
}

// changed is the URL that a hook would call after a change.
func (s *Service) changed(h Hook, apply func(h *Hook, keys secrets) (secrets, error)) (string, error) {
	was, _ := s.open(&h)
	keys, err := apply(&h, was)
	if err != nil {
		return "", err
	}
	full, known := fullURL(h.URL, keys)
	if !known {
		return "", badURL()
	}
	return full, nil
}

// Delete deletes a hook with its deliveries. Its log goes first, in pieces, so that others write in between: a deletion that is interrupted
// leaves the hook with a shorter log.
func (s *Service) Delete(ctx context.Context, as authz.Actor, at authz.Place, id ID) error {
	if err := s.Policy.Require(ctx, as, admin(at), at.Subject); err != nil {
		return err
	}
	untouched := func(context.Context, *Hook) error { return nil }
	if _, err := db.Update(ctx, s.DB, s.row(as, at, id), untouched); err != nil { // asks for the condition of the request
		return errs.Wrap(err, "delete webhook")
	}
	if err := s.deleteLog(ctx, id); err != nil {
		return err
	}
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		deleted, err := db.Delete[Hook](ctx, s.DB, s.row(as, at, id), nil)
		if err != nil {
			return err
		}
		return s.Bus.Publish(ctx, Deleted{change.Deleted(as, s.Now(), at, &deleted)})
	})
	return errs.Wrap(err, "delete webhook")
}

// Item is a URL variable or a custom header.
type Item struct{ Key, Value string }

// errItem is the error of a name or value that a hook may not have.
func errItem() error { return errs.New(errs.Unprocessable, "Illegal key or value") }

// SetVariable sets a variable of the URL of a hook.
func (s *Service) SetVariable(ctx context.Context, as authz.Actor, at authz.Place, id ID, v Item) error {
	return s.item(ctx, as, at, id, Changes{Variables: map[string]string{v.Key: v.Value}}.apply)
}

// SetHeader sets a custom header of a hook.
func (s *Service) SetHeader(ctx context.Context, as authz.Actor, at authz.Place, id ID, v Item) error {
	return s.item(ctx, as, at, id, Changes{Headers: map[string]string{v.Key: v.Value}}.apply)
}

// UnsetVariable removes a variable that the URL of a hook does not use.
func (s *Service) UnsetVariable(ctx context.Context, as authz.Actor, at authz.Place, id ID, key string) error {
	return s.item(ctx, as, at, id, func(_ *Hook, keys secrets) (secrets, error) {
		keys = keys.clone()
		if _, ok := keys.Variables[key]; !ok {
			return keys, errs.Missing("")
		}
		delete(keys.Variables, key)
		return keys, nil
	})
}

// UnsetHeader removes a custom header of a hook.
func (s *Service) UnsetHeader(ctx context.Context, as authz.Actor, at authz.Place, id ID, key string) error {
	return s.item(ctx, as, at, id, func(_ *Hook, keys secrets) (secrets, error) {
		keys = keys.clone()
		if _, ok := keys.Headers[key]; !ok {
			return keys, errs.Missing("")
		}
		delete(keys.Headers, key)
		return keys, nil
	})
}

// item changes a variable or a header.
func (s *Service) item(ctx context.Context, as authz.Actor, at authz.Place, id ID, apply func(h *Hook, keys secrets) (secrets, error)) error {
	if err := s.Policy.Require(ctx, as, admin(at), at.Subject); err != nil {
		return err
	}
	_, err := s.update(ctx, as, at, id, apply)
	if errs.Is(err, errs.Unprocessable) {
		return errItem()
	}
	return err
}

// apply changes a hook and returns its secrets. What is not sent along is removed where the URL with the values of its variables, or the
// server that it leads to, is another one afterwards: it was meant for the former. The token is also removed where the URL alone has another text.
func (c Changes) apply(h *Hook, was secrets) (secrets, error) {
	keys := was.clone()
	before, _ := fullURL(h.URL, was)
	worded, moved := false, false // the URL has another text, and it leads elsewhere
	if c.URL != nil {
		shown, user := splitURL(strings.TrimSpace(*c.URL))
		switch {
		case user == maskedUser && shown == h.URL:
			user = was.User
		case user == maskedUser:
			return keys, badURL() // the password was meant for another URL
		}
		worded, moved = h.ID != 0 && shown != h.URL, h.ID != 0 && user != was.User
		h.URL, keys.User = shown, user
	}
	db.Assign(h, &c)
	if h.Strategy == AllBranches {
		h.BranchFilter = nil
	}
	for key, value := range c.Variables {
		keys.Variables[key] = value
	}
	after, _ := fullURL(h.URL, keys)
	moved = moved || h.ID != 0 && server(after) != server(before) || worded && after != before
	if moved {
		keys = secrets{User: keys.User, Variables: map[string]string{}, Headers: map[string]string{}}
		if c.URL == nil && keys.User != "" {
			return keys, badURL() // likewise
		}
		for key, value := range c.Variables {
			keys.Variables[key] = value
		}
	}
	for key, value := range c.Headers {
		keys.Headers[key] = value
	}
	if c.Token != nil {
		keys.Token = *c.Token
	} else if worded {
		keys.Token = ""
	}
	if err := h.check(); err != nil {
		return keys, err
	}
	return keys, keys.check()
}
