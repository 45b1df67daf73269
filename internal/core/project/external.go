package project

import (
	"context"
	"encoding/json"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/setting"
)

// External is what pages, texts and jobs of a project have of its active integrations. Package integration keeps it.
type External struct {
	Tracker   *Tracker `json:"tracker,omitempty"` // nil for none
	Wiki      *Link    `json:"wiki,omitempty"`    // nil for none
	Variables bool     `json:"variables,omitempty"`
}

// Link leads to another service.
type Link struct {
	Title string `json:"title"`
	URL   string `json:"url"`
	Kind  string `json:"kind,omitempty"` // slug of the integration
}

// Tracker is an issue tracker elsewhere.
type Tracker struct {
	Link

	IssueURL  string `json:"issue_url"`      // with :id in place of what identifies an issue
	Reference string `json:"reference"`      // regular expression of references, whose first group that matches identifies the issue
	Hash      bool   `json:"hash,omitempty"` // #1 is an issue of it where the project has no issues
}

// External returns what the project has of its integrations.
func (p *Project) External() External {
	var out External
	if p.ExternalJSON != nil && json.Unmarshal([]byte(*p.ExternalJSON), &out) != nil {
		return External{}
	}
	return out
}

// Links returns the tracker and the wiki that the project has elsewhere, of integrations that the settings allow.
func (p *Project) Links(set *setting.Settings) (tracker *Tracker, wiki *Link) {
	e := p.External()
	if e.Tracker != nil && set.AllowsIntegration(e.Tracker.Kind) {
		tracker = e.Tracker
	}
	if e.Wiki != nil && set.AllowsIntegration(e.Wiki.Kind) {
		wiki = e.Wiki
	}
	return tracker, wiki
}

// SetExternal stores what a project has of its integrations. It asks for no permission and publishes no event: package integration
// did and does.
func (s *Service) SetExternal(ctx context.Context, id ID, change func(e *External)) error {
	row := s.lock(id)
	row.Now = nil // the project itself stays as it is
	_, err := db.Update(ctx, s.DB, row, func(_ context.Context, p *Project) error {
		e := p.External()
		change(&e)
		p.ExternalJSON = nil
		if e == (External{}) {
			return nil
		}
		text, err := json.Marshal(e)
		if err != nil {
			return fmt.Errorf("encode external services of project: %w", err)
		}
		stored := string(text)
		p.ExternalJSON = &stored
		return nil
	})
	return errs.Wrap(err, "store external services of project")
}
