package rest

import (
	"context"
	"errors"

	"tenon/internal/core/authz"
	"tenon/internal/core/wiki"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("wikis", (*Server).wikiRoutes)

func (s *Server) wikiRoutes() []*api.Route {
	return api.Scoped(nil, s.onPlaces("wikis", func(m mount) []*api.Route {
		h := wikiHandlers{s, m.place}
		read, write, remove := m.ability(authz.ReadWiki, authz.ReadGroupWiki), m.ability(authz.WriteWiki, authz.WriteGroupWiki), m.ability(authz.DeleteWikiPage, authz.DeleteGroupWikiPage)
		return []*api.Route{
			api.Get(m.path, h.list).Doc("List the wiki pages of a " + m.noun).Needs(read).Public(),
			api.Post(m.path, h.create).Doc("Create a wiki page of a " + m.noun).Needs(write).MaxBodyNow(h.maxBody),
			api.Post(m.path+"/attachments", h.attach).Doc("Upload an attachment to the wiki of a " + m.noun).Needs(write).MaxBodyNow(h.maxAttachment),
			api.Get(m.path+"/:slug", h.get).Doc("Get a wiki page of a " + m.noun).Needs(read).Public(),
			api.Put(m.path+"/:slug", h.update).Doc("Update a wiki page of a " + m.noun).Needs(write).MaxBodyNow(h.maxBody),
			api.Delete(m.path+"/:slug", h.delete).Doc("Delete a wiki page of a " + m.noun).Needs(remove),
		}
	})...)
}

type wikiHandlers struct {
	s  *Server
	at placeFinder
}

// wikiPageEntity is a page; the last three are there where the content was asked for.
type wikiPageEntity struct {
	Format      wiki.Format     `json:"format"`
	Slug        string          `json:"slug"`
	Title       string          `json:"title"`
	MetaID      *wiki.PageID    `json:"wiki_page_meta_id"` // null for a page that only an older version has
	Content     *string         `json:"content,omitempty"`
	Encoding    string          `json:"encoding,omitempty"`
	FrontMatter *map[string]any `json:"front_matter,omitempty"`
}

func wikiPageBasic(p *wiki.Page) wikiPageEntity {
	e := wikiPageEntity{Format: p.Format, Slug: p.Slug, Title: p.Title}
	if p.ID != 0 {
		e.MetaID = &p.ID
	}
	return e
}

func wikiPage(p *wiki.Page) wikiPageEntity {
	e := wikiPageBasic(p)
	e.Content, e.Encoding, e.FrontMatter = &p.Content, "UTF-8", &p.Front
	return e
}

type listWikiParams struct {
	ID          string `param:"id" doc:"ID or URL-encoded path"`
	WithContent bool   `param:"with_content" default:"false" doc:"Include the content of the pages"`
}

func (h wikiHandlers) list(ctx context.Context, as authz.Actor, in listWikiParams) ([]wikiPageEntity, error) {
	at, err := h.at(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	form, contents := wikiPageBasic, wiki.WithoutContents
	if in.WithContent {
		form, contents = wikiPage, wiki.WithContents
	}
	list, err := h.s.Wikis.List(ctx, as, at, contents)
	if err != nil {
		return nil, err
	}
	out := make([]wikiPageEntity, len(list))
	for i := range list {
		out[i] = form(&list[i])
	}
	return out, nil
}

type wikiPagePath struct {
	ID   string `param:"id" doc:"ID or URL-encoded path"`
	Slug string `param:"slug,required,free" doc:"URL-encoded slug of the page"`
}

type getWikiPageParams struct {
	wikiPagePath
	Version    string `param:"version" doc:"Commit SHA of a version of the page"`
	RenderHTML bool   `param:"render_html" default:"false" doc:"Return the content as HTML"`
}

func (h wikiHandlers) get(ctx context.Context, as authz.Actor, in getWikiPageParams) (wikiPageEntity, error) {
	at, err := h.at(ctx, as, in.ID)
	if err != nil {
		return wikiPageEntity{}, err
	}
	p, err := h.s.Wikis.Find(ctx, as, at, in.Slug, in.Version)
	if err != nil {
		return wikiPageEntity{}, err
	}
	if in.RenderHTML {
		if p.Content, err = h.s.Wikis.Rendered(ctx, as, h.s.URLs, at, p); err != nil {
			return wikiPageEntity{}, err
		}
	}
	return wikiPage(p), nil
}

type wikiFrontMatter struct {
	Title *string `param:"title" doc:"Title in the front matter"`
}

func (f *wikiFrontMatter) title() *string {
	if f == nil {
		return nil
	}
	return f.Title
}

type createWikiPageParams struct {
	ID          string           `param:"id" doc:"ID or URL-encoded path"`
	Title       string           `param:"title,required" doc:"Title of the page, with its folders"`
	FrontMatter *wikiFrontMatter `param:"front_matter" doc:"YAML front matter"`
	Content     string           `param:"content,required" doc:"Content of the page"`
	Format      string           `param:"format" values:"markdown,rdoc,asciidoc,org" default:"markdown" doc:"Format of the page"`
}

func (h wikiHandlers) create(ctx context.Context, as authz.Actor, in createWikiPageParams) (wikiPageEntity, error) {
	at, err := h.at(ctx, as, in.ID)
	if err != nil {
		return wikiPageEntity{}, err
	}
	p, err := h.s.Wikis.Create(ctx, as, at, wiki.Input{Title: in.Title, Content: in.Content, Format: wiki.Format(in.Format), Front: in.FrontMatter.title()})
	if err != nil {
		return wikiPageEntity{}, err
	}
	return wikiPage(p), nil
}

type updateWikiPageParams struct {
	wikiPagePath
	Title       *string          `param:"title" doc:"Title of the page"`
	FrontMatter *wikiFrontMatter `param:"front_matter" doc:"YAML front matter"`
	Content     *string          `param:"content" doc:"Content of the page"`
	Format      *string          `param:"format" values:"markdown,rdoc,asciidoc,org" doc:"Format of the page"`
	_           struct{}         `atleastone:"content,title,format,front_matter"`
}

func (h wikiHandlers) update(ctx context.Context, as authz.Actor, in updateWikiPageParams) (wikiPageEntity, error) {
	at, err := h.at(ctx, as, in.ID)
	if err != nil {
		return wikiPageEntity{}, err
	}
	c := wiki.Changes{Title: in.Title, Content: in.Content, Front: in.FrontMatter.title()}
	if in.Format != nil {
		format := wiki.Format(*in.Format)
		c.Format = &format
	}
	p, err := h.s.Wikis.Update(ctx, as, at, in.Slug, c)
	if err != nil {
		return wikiPageEntity{}, err
	}
	return wikiPage(p), nil
}

func (h wikiHandlers) delete(ctx context.Context, as authz.Actor, in wikiPagePath) (api.None, error) {
	at, err := h.at(ctx, as, in.ID)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, h.s.Wikis.Delete(ctx, as, at, in.Slug)
}

// maxBody bounds the body of a call that writes a page, which JSON makes longer.
func (h wikiHandlers) maxBody() int64 { return 2*int64(h.s.Wikis.MaxContent()) + 2<<20 }

// maxAttachment bounds the body of an upload: the file, and what is around it.
func (h wikiHandlers) maxAttachment() int64 { return h.s.Wikis.MaxAttachment() + 1<<20 }

type wikiAttachmentEntity struct {
	FileName string             `json:"file_name"`
	FilePath string             `json:"file_path"`
	Branch   string             `json:"branch"`
	Link     wikiAttachmentLink `json:"link"`
}

type wikiAttachmentLink struct {
	URL      string `json:"url"`
	Markdown string `json:"markdown"`
}

type wikiAttachmentParams struct {
	ID     string   `param:"id" doc:"ID or URL-encoded path"`
	File   api.File `param:"file,required" doc:"File to upload"`
	Branch string   `param:"branch" doc:"Branch to commit to; defaults to the default branch of the wiki"`
}

func (h wikiHandlers) attach(ctx context.Context, as authz.Actor, in wikiAttachmentParams) (_ wikiAttachmentEntity, err error) {
	at, err := h.at(ctx, as, in.ID)
	if err != nil {
		return wikiAttachmentEntity{}, err
	}
	from, err := in.File.Open()
	if err != nil {
		return wikiAttachmentEntity{}, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	a, err := h.s.Wikis.Attach(ctx, as, at, in.File.Name, in.Branch, from)
	if err != nil {
		return wikiAttachmentEntity{}, err
	}
	return wikiAttachmentEntity{
		FileName: a.Name, FilePath: a.Path, Branch: a.Branch, Link: wikiAttachmentLink{URL: a.Path, Markdown: a.Markdown()},
	}, nil
}
