// Package suggestion applies what notes on lines of merge requests say should stand there.
package suggestion

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tenon/internal/base/charset"
	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
)

// maxApplied is how many suggestions one commit applies.
const maxApplied = 100

// maxFile is how many bytes a file has at most that suggestions change.
const maxFile = 4 << 20

// Deps are what the service is built on.
type Deps struct {
	DB            *db.DB
	Accounts      *account.Service
	Projects      *project.Service
	MergeRequests *mergerequest.Service
	Repos         *repo.Service
	Notes         *note.Service
}

// Service applies suggestions.
type Service struct {
	Deps
}

// New builds the service.
func New(d Deps) *Service {
	return &Service{Deps: d}
}

// set is the suggestions that one commit applies.
type set struct {
	list    []note.Suggestion
	notes   map[note.ID]*note.Note
	request *mergerequest.MergeRequest
	target  *project.Project // of the merge request
	source  *project.Project
}

// Apply commits suggestions of one merge request to its source branch, as one commit, and
// resolves their threads. The message may be "" for the project's. Suggestions that the actor may not read are
// NotFound, and who may not push to the branch is refused.
func (s *Service) Apply(ctx context.Context, as authz.Actor, message string, ids ...note.SuggestionID) ([]note.Suggestion, error) {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	if len(ids) > maxApplied {
		return nil, errs.Plain(fmt.Sprintf("Suggestions are not applicable as there are more than %d of them.", maxApplied))
	}
	a, err := s.find(ctx, as, ids)
	if err != nil {
		return nil, err
	}
	if err := s.Repos.MayCommit(ctx, as, a.source, a.request.SourceBranch); err != nil {
		return nil, err
	}
	actions, err := s.actions(ctx, a)
	if err != nil {
		return nil, err
	}
	if message, err = s.message(ctx, as, a, message); err != nil {
		return nil, err
	}
	commit, err := s.Repos.Commit(ctx, as, a.source, repo.CommitInput{Branch: a.request.SourceBranch, Message: message, Actions: actions})
	if err != nil {
		return nil, err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error { return s.Notes.MarkApplied(ctx, ids, commit.ID.String()) })
	if err != nil {
		return nil, fmt.Errorf("apply suggestions: %w", err)
	}
	if err := s.resolve(ctx, as, a); err != nil {
		return nil, err
	}
	for i := range a.list {
		g, sha := &a.list[i], commit.ID.String()
		g.Applied, g.Appliable, g.Commit = true, false, &sha
	}
	return a.list, nil
}

// find reads suggestions, where they are in the newest version.
func (s *Service) find(ctx context.Context, as authz.Actor, ids []note.SuggestionID) (*set, error) {
	missing := errs.Coded(errs.NotFound, "", "Suggestion is not applicable as the suggestion was not found.")
	if len(ids) != 1 {
		missing.Message = "Suggestions are not applicable as one or more suggestions were not found."
	}
	missing.Bare = true
	found, notes, err := s.Notes.SuggestionsByIDs(ctx, as, ids)
	if err != nil {
		return nil, err
	}
	a := &set{}
	for _, id := range ids {
		g, ok := found[id]
		if !ok {
			return nil, missing
		}
		n := notes[g.NoteID]
		if a.request != nil {
			if int64(a.request.ID) != n.TargetID {
				return nil, errs.Plain("Suggestions must all be on the same branch.")
			}
			continue
		}
		if err := s.locate(ctx, as, a, n); err != nil {
			return nil, err
		}
	}
	if len(ids) == 0 {
		return nil, missing
	}
	if err := s.Notes.FollowPositions(ctx, note.FollowPositions{RequestID: a.request.ID}); err != nil {
		return nil, err
	}
	if found, a.notes, err = s.Notes.SuggestionsByIDs(ctx, as, ids); err != nil {
		return nil, err
	}
	for _, id := range ids {
		g, ok := found[id]
		if !ok {
			return nil, missing
		}
		if why := a.inapplicable(&g); why != "" {
			return nil, errs.Plain(why)
		}
		a.list = append(a.list, g)
	}
	return a, nil
}

// locate reads the merge request of a note, brought up to date with its branches.
func (s *Service) locate(ctx context.Context, as authz.Actor, a *set, n *note.Note) error {
	if n.ProjectID == nil {
		return errs.Missing("Suggestion")
	}
	id := mergerequest.ID(n.TargetID)
	requests, err := s.MergeRequests.ByIDs(ctx, as, []mergerequest.ID{id})
	if err != nil {
		return err
	}
	if requests[id] == nil {
		return errs.Missing("Suggestion")
	}
	projects, err := s.Projects.Load(ctx, []project.ID{*n.ProjectID})
	if err != nil {
		return err
	}
	a.target = projects[*n.ProjectID]
	if a.target == nil {
		return errs.Missing("Suggestion")
	}
	if a.request, err = s.MergeRequests.Read(ctx, as, a.target, requests[id].IID); err != nil {
		return err
	}
	if a.source = a.target; a.request.Fork() && a.request.SourceProjectID != nil {
		if projects, err = s.Projects.Load(ctx, []project.ID{*a.request.SourceProjectID}); err != nil {
			return err
		}
		a.source = projects[*a.request.SourceProjectID]
	}
	if a.source == nil || a.request.SourceProjectID == nil {
		return errs.Plain("Can't apply as the source branch was deleted.")
	}
	return nil
}

// inapplicable says why a suggestion cannot be applied, "" where it can.
func (a *set) inapplicable(g *note.Suggestion) string {
	n := a.notes[g.NoteID]
	switch {
	case g.Applied:
		return "Can't apply this suggestion."
	case a.request.State == mergerequest.StateMerged:
		return "This merge request was merged. To apply this suggestion, edit this file directly."
	case a.request.State != mergerequest.StateOpened:
		return "This merge request is closed. To apply this suggestion, edit this file directly."
	case n.Changed != nil || n.Position == nil || n.Position.HeadSHA != a.request.HeadSHA:
		if g.FirstLine() == g.LastLine() {
			return "Can't apply as this line was changed in a more recent version."
		}
		return "Can't apply as these lines were changed in a more recent version."
	case g.From == g.To:
		return "This suggestion already matches its content."
	}
	return ""
}

// actions makes one change of each file from its suggestions.
func (s *Service) actions(ctx context.Context, a *set) ([]repo.Action, error) {
	r, err := s.Repos.Open(ctx, a.source)
	if err != nil {
		return nil, err
	}
	tip, err := r.Branch(ctx, a.request.SourceBranch)
	if errors.Is(err, gitstore.ErrNotFound) || errors.Is(err, gitstore.ErrBadName) {
		return nil, errs.Plain("Can't apply as the source branch was deleted.")
	}
	if err != nil {
		return nil, fmt.Errorf("apply suggestions: %w", err)
	}
	byPath := map[string][]note.Suggestion{}
	var paths []string
	for _, g := range a.list {
		path := a.notes[g.NoteID].Position.NewPath
		if byPath[path] == nil {
			paths = append(paths, path)
		}
		byPath[path] = append(byPath[path], g)
	}
	slices.Sort(paths)
	var out []repo.Action
	for _, path := range paths {
		entry, err := r.Entry(ctx, tip, path)
		var content []byte
		if err == nil {
			content, err = r.Blob(ctx, entry.ID, maxFile)
		}
		if errors.Is(err, gitstore.ErrNotFound) {
			return nil, errs.Plain("A file was not found.")
		}
		if errors.Is(err, gitstore.ErrTooLarge) {
			return nil, errs.Plain("A file is too large.")
		}
		if err != nil {
			return nil, fmt.Errorf("apply suggestions: %w", err)
		}
		text, err := changed(content, byPath[path])
		if err != nil {
			return nil, err
		}
		out = append(out, repo.Action{Kind: repo.ActionUpdate, Path: path, Content: &text, Blob: entry.ID})
	}
	return out, nil
}

// changed puts suggestions into a file. They are written in its encoding, and the rest keeps its bytes.
func changed(content []byte, list []note.Suggestion) (string, error) {
	kind := charset.Of(content, "")
	lines := strings.SplitAfter(string(content), "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	slices.SortFunc(list, func(a, b note.Suggestion) int { return cmp.Compare(b.FirstLine(), a.FirstLine()) })
	limit := len(lines) + 1 // first line that a suggestion further down replaces
	for i := range list {
		g := &list[i]
		first, last := g.FirstLine(), g.LastLine()
		switch {
		case last > len(lines):
			return "", errs.Plain("A file has been changed.")
		case last >= limit:
			return "", errs.Plain("Suggestions are not applicable as their lines cannot overlap.")
		}
		if now := kind.Text([]byte(strings.Join(lines[first-1:last], ""))); strings.TrimSuffix(now, "\n") != strings.TrimSuffix(g.From, "\n") {
			return "", errs.Plain("A file has been changed.")
		}
		to, ok := kind.Bytes(g.To)
		if !ok {
			return "", errs.Plain(fmt.Sprintf("The file is in %s, which lacks characters of the suggestion.", kind))
		}
		if to != "" && last == len(lines) && !strings.HasSuffix(lines[last-1], "\n") {
			to = strings.TrimSuffix(to, "\n") // the file ends without the end of a line
		}
		lines = slices.Replace(lines, first-1, last, to)
		limit = first
	}
	return strings.Join(lines, ""), nil
}

// resolve resolves the threads of applied suggestions, as far as the actor may.
func (s *Service) resolve(ctx context.Context, as authz.Actor, a *set) error {
	on := note.On{Place: a.target.Place(), Kind: noteable.MergeRequest, Key: noteable.Key{Number: int64(a.request.IID)}}
	done := map[string]bool{}
	for _, g := range a.list {
		n := a.notes[g.NoteID]
		if done[n.DiscussionID] {
			continue
		}
		done[n.DiscussionID] = true
		_, _, err := s.Notes.Resolve(ctx, as.Unconditional(), on, n.DiscussionID, note.Resolution{Resolved: true})
		if err != nil && !errs.Is(err, errs.Forbidden) && !errs.Is(err, errs.NotFound) {
			return err
		}
	}
	return nil
}
