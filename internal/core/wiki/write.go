package wiki

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"strings"

	"tenon/internal/base/blob"
	"tenon/internal/base/errs"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/repo"
)

// Create makes a page.
func (s *Service) Create(ctx context.Context, as authz.Actor, at authz.Place, in Input) (*Page, error) {
	if err := s.require(ctx, as, at, write(at)); err != nil {
		return nil, err
	}
	file, err := fileFor(in.Title, in.Format)
	if err != nil {
		return nil, err
	}
	front, content := map[string]any{}, in.Content
	if in.Front != nil {
		front, content = cutFront(in.Content)
		entitle(front, *in.Front)
	}
	raw, err := s.checked(front, content)
	if err != nil {
		return nil, err
	}
	w, err := s.ensure(ctx, at)
	if err != nil {
		return nil, err
	}
	_, list, err := s.pages(ctx, w)
	if err != nil {
		return nil, err
	}
	if err := duplicate(paths(list), file, ""); err != nil {
		return nil, err
	}
	if len(list) >= maxPages {
		return nil, errs.Broken("", "base", fmt.Sprintf("A wiki can have at most %d pages", maxPages))
	}
	action := repo.Action{Kind: repo.ActionCreate, Path: file, Content: &raw}
	if err := s.commit(ctx, as, w, "Create page "+titleOf(file), action); err != nil {
		return nil, err
	}
	return s.written(ctx, at, file)
}

// entitle sets the title in a front matter, or removes it.
func entitle(front map[string]any, title string) {
	if title == "" {
		delete(front, "title")
		return
	}
	front["title"] = title
}

// checked puts front matter and content together and validates them.
func (s *Service) checked(front map[string]any, content string) (string, error) {
	raw, err := withFront(front, content)
	if err != nil {
		return "", err
	}
	var f errs.Fields
	f.Check(strings.TrimSpace(content) != "", "content", "can't be blank")
	most := s.MaxContent()
	f.Check(len(raw) <= most, "content", "is too long ("+bytesText(len(raw))+"). The maximum size is "+bytesText(most)+".")
	return raw, f.Err()
}

func paths(list []Page) []string {
	out := make([]string, len(list))
	for i := range list {
		out[i] = list[i].Path
	}
	return out
}

func (s *Service) commit(ctx context.Context, as authz.Actor, w *Wiki, message string, action repo.Action) error {
	_, err := s.Repos.CommitAttached(ctx, as, s.attached(w), repo.AttachedInput{Message: message, Actions: []repo.Action{action}})
	return err
}

// written returns a page that was just written.
func (s *Service) written(ctx context.Context, at authz.Place, file string) (*Page, error) {
	w, err := s.known(ctx, at, "Wiki Page")
	if err != nil {
		return nil, err
	}
	p, _, err := s.page(ctx, w, stem(file), "")
	return p, err
}

// existing finds the wiki and a page of it for a change.
func (s *Service) existing(ctx context.Context, at authz.Place, slug string) (*Wiki, *Page, []string, error) {
	w, err := s.known(ctx, at, "Wiki Page")
	if err != nil {
		return nil, nil, nil, err
	}
	p, list, err := s.page(ctx, w, slug, "")
	return w, p, paths(list), err
}

// Update changes a page. A front matter stays where the new content has none and no other is
// given.
func (s *Service) Update(ctx context.Context, as authz.Actor, at authz.Place, slug string, c Changes) (*Page, error) {
	if err := s.require(ctx, as, at, write(at)); err != nil {
		return nil, err
	}
	w, p, list, err := s.existing(ctx, at, slug)
	if err != nil {
		return nil, err
	}
	file, err := c.file(p)
	if err != nil {
		return nil, err
	}
	if err := duplicate(list, file, p.Path); err != nil {
		return nil, err
	}
	raw, err := s.raw(c, p)
	if err != nil {
		return nil, err
	}
	action := repo.Action{Kind: repo.ActionUpdate, Path: file, Content: &raw}
	switch {
	case file != p.Path:
		action.Kind, action.PreviousPath = repo.ActionMove, p.Path
	case raw == p.raw:
		return p, nil
	}
	a := s.attached(w)
	a.Owner = &owner{service: s, wiki: *w, from: p.Path, to: file}
	if _, err := s.Repos.CommitAttached(ctx, as, a, repo.AttachedInput{Message: "Update page " + titleOf(file), Actions: []repo.Action{action}}); err != nil {
		return nil, err
	}
	return s.written(ctx, at, file)
}

// file returns the path of the file that a page has after the changes.
func (c Changes) file(p *Page) (string, error) {
	if c.Title == nil && (c.Format == nil || *c.Format == p.Format) {
		return p.Path, nil
	}
	format := p.Format
	if c.Format != nil {
		format = *c.Format
	}
	title := stem(p.Path)
	if c.Title != nil {
		title = strings.TrimSpace(*c.Title)
		if !strings.Contains(title, "/") && title != "" {
			title = path.Join(path.Dir(p.Path), title)
		}
		if dashed(path.Clean("/"+title)) == "/"+p.Slug && format == p.Format {
			return p.Path, nil // the same page, with an ending of its own perhaps
		}
	}
	if endings[format] == nil {
		return "", errs.Broken("", "format", "is invalid")
	}
	return fileFor(title, format)
}

// raw returns what a page holds after the changes.
func (s *Service) raw(c Changes, p *Page) (string, error) {
	front, content := maps.Clone(p.Front), p.Content
	if c.Content != nil {
		own, rest := cutFront(*c.Content)
		content = *c.Content
		if len(own) > 0 {
			front, content = own, rest
		}
	}
	switch {
	case c.Front != nil:
		entitle(front, *c.Front)
	case c.Content == nil:
		return p.raw, nil
	}
	return s.checked(front, content)
}

// Delete removes a page.
func (s *Service) Delete(ctx context.Context, as authz.Actor, at authz.Place, slug string) error {
	if err := s.require(ctx, as, at, remove(at)); err != nil {
		return err
	}
	w, p, _, err := s.existing(ctx, at, slug)
	if err != nil {
		return err
	}
	return s.commit(ctx, as, w, "Delete page "+p.Title, repo.Action{Kind: repo.ActionDelete, Path: p.Path})
}

// maxAttachment bounds an attachment in bytes, whatever the setting for uploads allows.
const maxAttachment = 50 << 20

// MaxAttachment returns how many bytes an attachment may have.
func (s *Service) MaxAttachment() int64 {
	return min(int64(s.Settings.Current().MaxAttachmentSize)<<20, maxAttachment)
}

// MaxContent returns how many bytes a page may have.
func (s *Service) MaxContent() int { return s.Settings.Current().WikiPageMaxContentBytes }

// Attach puts a file into the repository, on the default branch where none is named. Its name
// is made harmless, and its folder has a name that cannot be guessed.
func (s *Service) Attach(ctx context.Context, as authz.Actor, at authz.Place, name, branch string, from io.Reader) (*Attachment, error) {
	if err := s.require(ctx, as, at, write(at)); err != nil {
		return nil, err
	}
	if branch != "" && !gitstore.ValidBranchName(branch) {
		return nil, errs.Plain("Branch name is invalid")
	}
	limit := s.MaxAttachment()
	content, err := io.ReadAll(io.LimitReader(from, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read attachment: %w", err)
	}
	if int64(len(content)) > limit {
		return nil, errs.New(errs.TooLarge, "")
	}
	w, err := s.ensure(ctx, at)
	if err != nil {
		return nil, err
	}
	out := &Attachment{Name: blob.CleanName(name), Branch: w.Branch}
	if branch != "" {
		out.Branch = branch
	}
	out.Path = path.Join(uploads, blob.Random(), out.Name)
	text := base64.StdEncoding.EncodeToString(content)
	_, err = s.Repos.CommitAttached(ctx, as, s.attached(w), repo.AttachedInput{
		Branch: branch, Message: "Upload attachment " + out.Name,
		Actions: []repo.Action{{Kind: repo.ActionCreate, Path: out.Path, Content: &text, Encoding: "base64"}},
	})
	if errors.Is(err, gitstore.ErrRefConflict) {
		return nil, errs.Plain("Branch name is invalid")
	}
	return out, err
}
