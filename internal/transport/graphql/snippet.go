package graphql

import (
	"context"

	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/reference"
	"tenon/internal/core/snippet"
	"tenon/internal/core/weburl"
	"tenon/internal/transport/graphql/exec"
)

// snippetFilter is the arguments that select snippets of a project.
type snippetFilter struct {
	paging
	IDs        []globalID
	Visibility string
}

// anySnippets is the arguments that select snippets of users and projects.
type anySnippets struct {
	snippetFilter
	Type string
}

func (a anySnippets) filter() snippet.Filter {
	f := a.snippetFilter.filter()
	f.Kind = snippet.Kind(a.Type)
	return f
}

func (a snippetFilter) filter() snippet.Filter {
	f := snippet.Filter{Scope: snippet.All}
	if a.IDs != nil {
		f.IDs = numbers[snippet.ID](a.IDs)
	}
	if v, ok := authz.ParseVisibility(a.Visibility); ok {
		f.Visibility = &v
	}
	return f
}

// snippets binds snippets, their lists and what is done with them.
func (b *binder) snippets() {
	exec.Root(b.Schema, "snippets", func(ctx context.Context, c *exec.Call[struct {
		anySnippets
		AuthorID, ProjectID *globalID
		Explore             bool
	}],
	) (*exec.Page[*snippet.Snippet], error) {
		in := c.Args
		if in.AuthorID != nil && in.ProjectID != nil {
			return nil, argumentError("Can't provide both an author and a project")
		}
		f := in.filter()
		if in.Explore {
			f.Scope = snippet.Public
		}
		if in.AuthorID != nil {
			f.AuthorID = authz.UserID(in.AuthorID.ID)
		}
		var p *project.Project
		if in.ProjectID != nil {
			var err error
			if p, err = byID(ctx, c.As, *in.ProjectID, b.Projects.ByIDs); p == nil {
				return nil, err
			}
		}
		return list(ctx, part(b, c, in.paging, maxPage), func(ctx context.Context, r page.Range) (page.Page[*snippet.Snippet], error) {
			return b.snippetPage(ctx, c.As, p, f, r)
		}, same)
	})
	exec.Batch(b.Schema, "User.snippets", func(ctx context.Context, c *exec.Call[anySnippets], of []*user) ([]*exec.Page[*snippet.Snippet], error) {
		return lists(ctx, part(b, c, c.Args.paging, maxPage), of, func(ctx context.Context, u *user, r page.Range) (page.Page[*snippet.Snippet], error) {
			f := c.Args.filter()
			f.AuthorID = u.ID
			return b.snippetPage(ctx, c.As, nil, f, r)
		}, same)
	}, exec.Costly)
	exec.Batch(b.Schema, "Project.snippets", func(ctx context.Context, c *exec.Call[snippetFilter], of []*project.Project) ([]*exec.Page[*snippet.Snippet], error) {
		return lists(ctx, part(b, c, c.Args.paging, maxPage), of, func(ctx context.Context, p *project.Project, r page.Range) (page.Page[*snippet.Snippet], error) {
			return b.snippetPage(ctx, c.As, p, c.Args.filter(), r)
		}, same)
	}, exec.Costly)
	b.snippetFields()
	b.snippetBlobs()
	b.snippetMutations()
	exec.Struct[*snippet.Snippet](b.Schema, "Snippet")
	exec.Connection[*snippet.Snippet](b.Schema, "Snippet")
}

// snippetPage reads a page of the snippets of a project, or of all where it is nil.
func (b *binder) snippetPage(ctx context.Context, as authz.Actor, p *project.Project, f snippet.Filter, r page.Range) (page.Page[*snippet.Snippet], error) {
	f.Range = r
	if p != nil {
		list, err := b.Snippets.ListOf(ctx, as, p, f)
		return page.Pointers(list), err
	}
	list, err := b.Snippets.List(ctx, as, f)
	return page.Pointers(list), err
}

func (b *binder) snippetFields() {
	value(b, "Snippet.id", func(s *snippet.Snippet) string {
		if s.ProjectID != nil {
			return gid("ProjectSnippet", s.ID)
		}
		return gid("PersonalSnippet", s.ID)
	})
	one(b, "Snippet.author", "users", func(s *snippet.Snippet) authz.UserID { return s.AuthorID }, b.usersByIDs)
	one(b, "Snippet.project", "projects", func(s *snippet.Snippet) project.ID { return zeroOr(s.ProjectID) }, b.Projects.ByIDs)
	value(b, "Snippet.fileName", func(s *snippet.Snippet) *string {
		if files := s.Files(); len(files) > 0 {
			return &files[0]
		}
		return nil
	})
	value(b, "Snippet.visibilityLevel", func(s *snippet.Snippet) string { return s.Visibility.String() })
	value(b, "Snippet.webUrl", func(s *snippet.Snippet) string { return b.URLs.Snippet(s.ProjectPath, int64(s.ID)) })
	value(b, "Snippet.rawUrl", func(s *snippet.Snippet) string { return b.URLs.Snippet(s.ProjectPath, int64(s.ID)) + "/raw" })
	repository := func(s *snippet.Snippet) string { return weburl.SnippetRepository(s.ProjectPath, int64(s.ID)) }
	value(b, "Snippet.httpUrlToRepo", func(s *snippet.Snippet) string { return b.URLs.HTTPRepository(repository(s)) })
	value(b, "Snippet.sshUrlToRepo", func(s *snippet.Snippet) string { return b.URLs.SSHRepository(repository(s)) })
	exec.Batch(b.Schema, "Snippet.descriptionHtml", func(ctx context.Context, c *exec.Call[exec.None], of []*snippet.Snippet) ([]*string, error) {
		projects, err := b.projectsOfSnippets(ctx, c.As, of)
		if err != nil {
			return nil, err
		}
		return renderAll(ctx, b, c.As, b.References.HTML, of, func(s *snippet.Snippet) (reference.Scope, *string) {
			if p := projects[zeroOr(s.ProjectID)]; p != nil {
				return reference.Of(p), s.Description
			}
			return reference.Scope{}, s.Description
		})
	})
	notesOf(b, "Snippet", b.onSnippets)
	commentersOf(b, "Snippet", func(s *snippet.Snippet) noteable.Ref { return noteable.Ref{Kind: noteable.Snippet, ID: int64(s.ID)} })

	one(b, "Snippet.userPermissions", "permissions of snippets", func(s *snippet.Snippet) snippet.ID { return s.ID }, b.Snippets.Permissions)
	value(b, "SnippetPermissions.readSnippet", func(p *snippet.Permissions) bool { return p != nil })
	value(b, "SnippetPermissions.adminSnippet", func(p *snippet.Permissions) bool { return p.Update })
	value(b, "SnippetPermissions.updateSnippet", func(p *snippet.Permissions) bool { return p.Update })
	exec.Struct[*snippet.Permissions](b.Schema, "SnippetPermissions")
}

func (b *binder) projectsOfSnippets(ctx context.Context, as authz.Actor, of []*snippet.Snippet) (map[project.ID]*project.Project, error) {
	var ids []project.ID
	for _, s := range of {
		if s.ProjectID != nil {
			ids = append(ids, *s.ProjectID)
		}
	}
	return b.Projects.ByIDs(ctx, as, ids)
}

// onSnippets says what the notes of snippets are on: nothing for those without a project.
func (b *binder) onSnippets(ctx context.Context, as authz.Actor, of []*snippet.Snippet) ([]spot, error) {
	projects, err := b.projectsOfSnippets(ctx, as, of)
	out := make([]spot, len(of))
	for i, s := range of {
		out[i].on.Kind = noteable.Snippet
		if p := projects[zeroOr(s.ProjectID)]; p != nil {
			out[i] = spot{on: onSnippetOf(p, s), url: b.URLs.Snippet(p.FullPath, int64(s.ID))}
		}
	}
	return out, err
}

// snippetFile is what an input does with a file.
type snippetFile struct {
	Action, FilePath      string
	Content, PreviousPath *string
}

func snippetFiles(list []snippetFile) []snippet.File {
	out := make([]snippet.File, len(list))
	for i, f := range list {
		out[i] = snippet.File{Action: snippet.Action(f.Action), Path: f.FilePath, Previous: zeroOr(f.PreviousPath), Content: f.Content}
	}
	return out
}

// snippetPayload is what mutations of snippets give.
type snippetPayload struct{ Snippet *snippet.Snippet }

func (b *binder) snippetMutations() {
	exec.Mutation(b.Schema, "createSnippet", func(ctx context.Context, c *exec.Call[struct {
		BlobActions              []snippetFile
		Description, ProjectPath *string
		Title, VisibilityLevel   string
	}],
	) (snippetPayload, error) {
		var p *project.Project
		if path := given(c.Args.ProjectPath); path != "" {
			var err error
			if p, err = b.project(ctx, c.As, path); err != nil {
				return snippetPayload{}, err
			}
		}
		visibility, _ := authz.ParseVisibility(c.Args.VisibilityLevel)
		made, err := b.Snippets.Create(ctx, c.As, p, snippet.Input{
			Title: c.Args.Title, Description: c.Args.Description, Visibility: visibility, Files: snippetFiles(c.Args.BlobActions),
		})
		return snippetPayload{made}, err
	})
	exec.Mutation(b.Schema, "updateSnippet", func(ctx context.Context, c *exec.Call[struct {
		BlobActions        []snippetFile
		Description, Title *string
		ID                 globalID
		VisibilityLevel    string
	}],
	) (snippetPayload, error) {
		change := snippet.Changes{Title: c.Args.Title, Description: c.Args.Description, Files: snippetFiles(c.Args.BlobActions)}
		if v, ok := authz.ParseVisibility(c.Args.VisibilityLevel); ok {
			change.Visibility = &v
		}
		changed, err := b.Snippets.Update(ctx, c.As, nil, snippet.ID(c.Args.ID.ID), change)
		return snippetPayload{changed}, err
	})
	exec.Mutation(b.Schema, "destroySnippet", func(ctx context.Context, c *exec.Call[struct{ ID globalID }]) (snippetPayload, error) {
		return snippetPayload{}, b.Snippets.Delete(ctx, c.As, nil, snippet.ID(c.Args.ID.ID))
	})
}
