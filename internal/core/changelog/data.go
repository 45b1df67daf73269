package changelog

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
)

// entry is a commit that the section tells of.
type entry struct {
	commit   *gitstore.Commit
	category string
	trailers []gitstore.Trailer
}

// entries picks the commits that have the trailer and that no later commit undoes; the
// list is newest first.
func entries(commits []*gitstore.Commit, key string) []entry {
	gone := map[gitstore.ObjectID]bool{}
	var out []entry
	for _, c := range commits {
		if id, ok := reverted(c); ok {
			gone[id] = true
		}
		if gone[c.ID] {
			continue
		}
		e := entry{commit: c, trailers: gitstore.Trailers(c.Message)}
		for _, t := range e.trailers {
			if t.Key == key {
				e.category = t.Value
			}
		}
		if e.category != "" {
			out = append(out, e)
		}
	}
	return out
}

// data returns what a template reads.
func (s *Service) data(ctx context.Context, as authz.Actor, p *project.Project, c *config, trailer string, commits []*gitstore.Commit) (map[string]any, error) {
	list := entries(commits, trailer)
	authors, err := s.authors(ctx, as, p, c, list)
	if err != nil {
		return nil, err
	}
	requests, err := s.requestsOf(ctx, as, p, commits, list)
	if err != nil {
		return nil, err
	}
	headings := slices.Clone(c.order)
	byHeading := map[string][]any{}
	for _, e := range list {
		heading, ok := c.categories[e.category]
		if !ok {
			heading = e.category
		}
		if !slices.Contains(headings, heading) {
			headings = append(headings, heading)
		}
		byHeading[heading] = append(byHeading[heading], e.data(p, authors, requests))
	}
	categories := []any{}
	for _, heading := range headings {
		if list := byHeading[heading]; len(list) > 0 {
			categories = append(categories, map[string]any{
				"title": heading, "count": len(list), "single_change": len(list) == 1, "entries": list,
			})
			delete(byHeading, heading) // two values may have one heading
		}
	}
	return map[string]any{"categories": categories}, nil
}

func (e *entry) data(p *project.Project, authors map[string]author, requests map[gitstore.ObjectID]int64) map[string]any {
	trailers := map[string]any{}
	for _, t := range e.trailers {
		trailers[t.Key] = t.Value
	}
	out := map[string]any{
		"title":  e.commit.Title(),
		"commit": map[string]any{"reference": p.FullPath + "@" + e.commit.ID.String(), "trailers": trailers},
	}
	if a, ok := authors[db.Fold(e.commit.Author.Email)]; ok {
		out["author"] = map[string]any{"reference": "@" + a.Username, "contributor": a.contributor, "credit": a.credit}
	}
	if iid, ok := requests[e.commit.ID]; ok {
		out["merge_request"] = map[string]any{"reference": p.FullPath + "!" + strconv.FormatInt(iid, 10)}
	}
	return out
}

// author is a user who wrote a commit.
type author struct {
	ID          authz.UserID `db:"id"`
	Username    string       `db:"username"`
	Email       string       `db:"email_fold"`
	contributor bool         // no member of the project
	credit      bool         // is named in the changelog
}

// authors finds the users behind the addresses of commits, by folded address.
func (s *Service) authors(ctx context.Context, as authz.Actor, p *project.Project, c *config, list []entry) (map[string]author, error) {
	out := map[string]author{}
	var addresses []string
	for _, e := range list {
		address := db.Fold(e.commit.Author.Email)
		if _, seen := out[address]; !seen && address != "" {
			out[address] = author{}
			addresses = append(addresses, address)
		}
	}
	clear(out)
	for chunk := range slices.Chunk(addresses, 1000) {
		marks, args := db.Marks(chunk)
		rows, err := db.Select[author](ctx, s.DB, `SELECT u.id, u.username, e.email_fold FROM emails e JOIN users u ON u.id = e.user_id
			WHERE e.email_fold IN (`+marks+`) AND e.confirmed_at IS NOT NULL ORDER BY e.id`, args...)
		if err != nil {
			return nil, fmt.Errorf("look for authors: %w", err)
		}
		for _, a := range rows {
			out[a.Email] = a
		}
	}
	if err := s.privateAuthors(ctx, addresses, out); err != nil {
		return nil, err
	}
	groups, err := s.creditedGroups(ctx, as, c)
	if err != nil {
		return nil, err
	}
	subject := p.Subject()
	subject.Known = false
	for address, a := range out {
		level, err := s.Policy.Level(ctx, authz.Actor{UserID: a.ID}, subject)
		if err != nil {
			return nil, fmt.Errorf("read access of author: %w", err)
		}
		a.contributor = level < authz.Guest
		a.credit = a.contributor || groups[a.ID]
		out[address] = a
	}
	return out, nil
}

// privateAuthors adds the users behind private commit addresses, "<id>-<username>@<host>".
func (s *Service) privateAuthors(ctx context.Context, addresses []string, out map[string]author) error {
	at := map[authz.UserID]string{}
	var ids []authz.UserID
	for _, address := range addresses {
		local, ok := strings.CutSuffix(address, "@"+db.Fold(s.Accounts.CommitHost()))
		digits, _, named := strings.Cut(local, "-")
		if id, err := strconv.ParseInt(digits, 10, 64); ok && named && err == nil {
			at[authz.UserID(id)] = address
			ids = append(ids, authz.UserID(id))
		}
	}
	users, err := s.Accounts.Load(ctx, ids)
	if err != nil {
		return err
	}
	for id, u := range users {
		out[at[id]] = author{ID: id, Username: u.Username}
	}
	return nil
}

// creditedGroups returns the direct members of the groups that the configuration names;
// groups that the caller may not see are passed over.
func (s *Service) creditedGroups(ctx context.Context, as authz.Actor, c *config) (map[authz.UserID]bool, error) {
	out := map[authz.UserID]bool{}
	for _, path := range c.groups[:min(len(c.groups), 20)] {
		g, err := s.Namespaces.Find(ctx, as, path)
		if errs.Is(err, errs.NotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		members, err := s.Namespaces.Members(ctx, as, g.Place(), namespace.MemberFilter{Range: page.Range{Limit: 10_000, Uncounted: true}})
		if errs.Is(err, errs.NotFound) || errs.Is(err, errs.Forbidden) || errs.Is(err, errs.Unauthorized) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, m := range members.Items {
			out[m.UserID] = true
		}
	}
	return out, nil
}

// requestsOf finds the merge requests that brought the commits of entries. A caller who may not
// read merge requests hears of none.
func (s *Service) requestsOf(ctx context.Context, as authz.Actor, p *project.Project, commits []*gitstore.Commit, list []entry) (map[gitstore.ObjectID]int64, error) {
	if len(list) == 0 {
		return nil, nil
	}
	may, err := s.Policy.Can(ctx, as, authz.ReadMergeRequest, p.Subject())
	if err != nil || !may {
		return nil, err
	}
	wanted := make(map[gitstore.ObjectID]bool, len(list))
	for _, e := range list {
		wanted[e.commit.ID] = true
	}
	inRange := make(map[gitstore.ObjectID]bool, len(commits))
	for _, c := range commits {
		inRange[c.ID] = true
	}
	return s.MergeRequests.Introducing(ctx, p, inRange, wanted)
}
