package rest

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"tenon/internal/base/errs"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/upload"
	"tenon/internal/core/weburl"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("uploads", (*Server).uploadRoutes)

func (s *Server) uploadRoutes() []*api.Route {
	return api.Scoped(nil, s.onPlaces("uploads", func(m mount) []*api.Route {
		add, see := m.ability(authz.UploadFile, authz.UploadGroupFile), m.ability(authz.ReadProject, authz.ReadGroup)
		return []*api.Route{
			api.Post(m.path, m.upload).Doc("Upload a file to a " + m.noun).Needs(add).MaxBodyNow(s.maxUpload),
			api.Get(m.path, m.listUploads).Doc("List the uploads of a " + m.noun).Needs(authz.ReadUploads),
			api.Get(m.path+"/:upload_id", m.getUpload).Doc("Download an upload of a " + m.noun).Needs(authz.ReadUploads),
			api.Delete(m.path+"/:upload_id", m.deleteUpload).Timed().Doc("Delete an upload of a " + m.noun).Needs(authz.DeleteUpload),
			api.Get(m.path+"/:secret/:filename", m.getUploadByLink).Doc("Download an upload of a " + m.noun + " by secret and file name").Needs(see).Public(),
			api.Delete(m.path+"/:secret/:filename", m.deleteUploadByLink).Timed().Doc("Delete an upload of a " + m.noun + " by secret and file name").
				Needs(authz.DeleteUpload),
		}
	})...)
}

// maxUpload bounds the body of an upload: the file, and what is around it.
func (s *Server) maxUpload() int64 { return s.Uploads.MaxSize() + 1<<20 }

// uploadedEntity is what one who uploads puts into a text.
type uploadedEntity struct {
	ID       upload.ID `json:"id"`
	Alt      string    `json:"alt"`
	URL      string    `json:"url"`
	FullPath string    `json:"full_path"`
	Markdown string    `json:"markdown"`
}

type uploadEntity struct {
	ID         upload.ID   `json:"id"`
	Size       int64       `json:"size"`
	Filename   string      `json:"filename"`
	CreatedAt  api.Time    `json:"created_at"`
	UploadedBy *userMinute `json:"uploaded_by"`
}

// userMinute is the least that stands for a user.
type userMinute struct {
	ID       authz.UserID `json:"id"`
	Name     string       `json:"name"`
	Username string       `json:"username"`
}

type uploadParams struct {
	ID   string   `param:"id" doc:"ID or URL-encoded path"`
	File api.File `param:"file,required" doc:"File to upload"`
}

func (m mount) upload(ctx context.Context, as authz.Actor, p uploadParams) (_ uploadedEntity, err error) {
	at, err := m.place(ctx, as, p.ID)
	if err != nil {
		return uploadedEntity{}, err
	}
	from, err := p.File.Open()
	if err != nil {
		return uploadedEntity{}, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	u, err := m.s.Uploads.Create(ctx, as, at, p.File.Name, from)
	if err != nil {
		return uploadedEntity{}, err
	}
	kind := "project"
	if m.group {
		kind = "group"
	}
	return uploadedEntity{u.ID, u.Alt(), u.URL(), weburl.UploadOf(kind, at.ID, u.Secret, u.Name), u.Markdown()}, nil
}

type listUploadsParams struct {
	ID string `param:"id" doc:"ID or URL-encoded path"`
	api.Page
}

func (m mount) listUploads(ctx context.Context, as authz.Actor, p listUploadsParams) (api.List[uploadEntity], error) {
	none := api.List[uploadEntity]{}
	at, err := m.place(ctx, as, p.ID)
	if err != nil {
		return none, err
	}
	list, err := m.s.Uploads.List(ctx, as, at, p.Range())
	if err != nil {
		return none, err
	}
	var ids []authz.UserID
	for _, u := range list.Items {
		if u.UserID != nil {
			ids = append(ids, *u.UserID)
		}
	}
	users, err := m.s.Accounts.ByIDs(ctx, ids)
	if err != nil {
		return none, err
	}
	items := make([]uploadEntity, len(list.Items))
	for i, u := range list.Items {
		items[i] = uploadEntity{ID: u.ID, Size: u.Size, Filename: u.Name, CreatedAt: api.Time(u.CreatedAt.Time)}
		if u.UserID != nil {
			items[i].UploadedBy = minute(users[*u.UserID])
		}
	}
	return api.Listed(list, items), nil
}

func minute(u *account.Summary) *userMinute {
	if u == nil {
		return nil
	}
	return &userMinute{u.ID, u.Name, u.Username}
}

type uploadPath struct {
	ID       string `param:"id" doc:"ID or URL-encoded path"`
	UploadID string `param:"upload_id" doc:"ID of the upload"`
}

// address reads the number; what is none leads nowhere.
func (p uploadPath) address() upload.Address {
	n, err := strconv.ParseInt(p.UploadID, 10, 64)
	if err != nil || n <= 0 {
		n = -1
	}
	return upload.Address{ID: upload.ID(n)}
}

type uploadLink struct {
	ID       string `param:"id" doc:"ID or URL-encoded path"`
	Secret   string `param:"secret" doc:"32-digit hexadecimal secret of the upload"`
	Filename string `param:"filename" doc:"File name"`
}

func (p uploadLink) address() upload.Address {
	return upload.Address{Secret: p.Secret, Name: p.Filename}
}

func (m mount) getUpload(ctx context.Context, as authz.Actor, p uploadPath) (api.Content, error) {
	return m.uploadContent(ctx, as, p.ID, p.address())
}

func (m mount) getUploadByLink(ctx context.Context, as authz.Actor, p uploadLink) (api.Content, error) {
	if p.Secret == "" {
		return api.Content{}, errs.Missing("")
	}
	return m.uploadContent(ctx, as, p.ID, p.address())
}

func (m mount) uploadContent(ctx context.Context, as authz.Actor, ref string, a upload.Address) (api.Content, error) {
	at, err := m.place(ctx, as, ref)
	if err != nil {
		return api.Content{}, err
	}
	u, err := m.s.Uploads.Open(ctx, as, at, a)
	if err != nil {
		return api.Content{}, err
	}
	h := http.Header{}
	for name, value := range u.Headers() {
		h.Set(name, value)
	}
	kind := h.Get("Content-Type")
	h.Del("Content-Type")
	return api.Content{Type: kind, Header: h, ETag: `"` + u.Secret + `"`, From: u}, nil
}

func (m mount) deleteUpload(ctx context.Context, as authz.Actor, p uploadPath) (api.None, error) {
	return m.removeUpload(ctx, as, p.ID, p.address())
}

func (m mount) deleteUploadByLink(ctx context.Context, as authz.Actor, p uploadLink) (api.None, error) {
	return m.removeUpload(ctx, as, p.ID, p.address())
}

func (m mount) removeUpload(ctx context.Context, as authz.Actor, ref string, a upload.Address) (api.None, error) {
	at, err := m.place(ctx, as, ref)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, m.s.Uploads.Delete(ctx, as, at, a)
}
