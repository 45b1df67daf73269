package suggestion

import (
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"tenon/internal/base/budget"
	"tenon/internal/core/authz"
	"tenon/internal/core/repo"
)

// defaultMessage is that of projects that have none of their own.
const defaultMessage = "Apply %{suggestions_count} suggestion(s) to %{files_count} file(s)\n\n%{co_authored_by}"

// message fills the placeholders of a message, or of the project's where it is "". Unknown ones stay
// as they are. The message has repo.MaxMessage bytes at most.
func (s *Service) message(ctx context.Context, as authz.Actor, a *set, template string) (string, error) {
	if strings.TrimSpace(template) == "" && a.target.SuggestionCommitMessage != nil {
		template = *a.target.SuggestionCommitMessage
	}
	if strings.TrimSpace(template) == "" {
		template = defaultMessage
	}
	ids := []authz.UserID{as.UserID}
	var paths []string
	for _, g := range a.list {
		n := a.notes[g.NoteID]
		if !slices.Contains(ids, n.AuthorID) {
			ids = append(ids, n.AuthorID)
		}
		if !slices.Contains(paths, n.Position.NewPath) {
			paths = append(paths, n.Position.NewPath)
		}
	}
	users, err := s.Accounts.Load(ctx, ids)
	if err != nil {
		return "", err
	}
	var authors []string
	for _, id := range ids[1:] {
		if u := users[id]; u != nil {
			authors = append(authors, "Co-authored-by: "+u.Name+" <"+u.CommitAddress(s.Accounts.CommitHost())+">")
		}
	}
	values := []string{
		"%{branch_name}", a.request.SourceBranch,
		"%{files_count}", strconv.Itoa(len(paths)),
		"%{file_paths}", strings.Join(paths, ", "),
		"%{project_name}", a.target.Name,
		"%{project_path}", a.target.Path,
		"%{suggestions_count}", strconv.Itoa(len(a.list)),
		"%{co_authored_by}", strings.Join(authors, "\n"),
	}
	if u := users[as.UserID]; u != nil {
		values = append(values, "%{user_full_name}", u.Name, "%{username}", u.Username)
	}
	var out limited
	if _, err := strings.NewReplacer(values...).WriteString(&out, template); err != nil && !errors.Is(err, io.ErrShortWrite) {
		return "", err
	}
	return strings.TrimSpace(budget.Begin(out.String(), repo.MaxMessage)), nil
}

// limited takes texts until a message is too long.
type limited struct{ strings.Builder }

// WriteString returns io.ErrShortWrite with the text that makes the message too long.
func (l *limited) WriteString(text string) (int, error) {
	if l.Len() > repo.MaxMessage {
		return 0, io.ErrShortWrite
	}
	return l.Builder.WriteString(text)
}
