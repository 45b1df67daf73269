package hookevent

import (
	"context"

	"tenon/internal/base/event"
	"tenon/internal/core/authz"
	"tenon/internal/core/payload"
	"tenon/internal/core/wiki"
)

// maxPages bounds the pages of one change that hooks are notified of.
const maxPages = 20

// wikiPage is an event about a page of a wiki, as it was at the time.
type wikiPage struct {
	Page   wiki.PageChange
	Branch string
	Commit string
	Group  authz.NamespaceID `json:",omitzero"` // of the wiki of a group
}

func (wikiPage) kind() string { return "wiki_page" }

// actions are what bodies say of what became of a page.
var actions = map[string]string{"created": "create", "updated": "update", "deleted": "delete"}

func (e *wikiPage) fill(ctx context.Context, s *Service, m *payload.Message) error {
	if m.Project == nil && e.Group == 0 {
		return errDeleted
	}
	body, err := s.Payloads.WikiPage(ctx, m.Project, e.Group, payload.WikiPageEvent{
		By: m.By, Slug: e.Page.Slug(), Title: e.Page.Title(), Format: e.Page.Format(), Branch: e.Branch, Commit: e.Commit, Action: actions[e.Page.Action],
	})
	return setBody(m, body, err)
}

func (s *Service) subscribeWikis(b *event.Bus) {
	on(b, func(ctx context.Context, e wiki.Changed) error {
		in, group := e.Place, authz.NamespaceID(0)
		if id := e.Wiki.GroupID; id != nil {
			in, group = authz.Place{Group: true, ID: int64(*id), Namespace: *id}, *id
		} else if !in.IsProject() {
			return nil
		}
		var candidates []candidate
		for _, p := range e.Pages[:min(len(e.Pages), maxPages)] {
			candidates = append(candidates, candidate{payload.WikiPage, func() source { return &wikiPage{p, e.Wiki.Branch, e.Wiki.CommitID, group} }})
		}
		return s.record(ctx, in, e.Stamp, candidates...)
	})
}
