package rest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"tenon/internal/base/charset"
	"tenon/internal/base/errs"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("repositories", (*Server).fileRoutes)

func (s *Server) fileRoutes() []*api.Route {
	const path = "/projects/:id/repository/files/:file_path"
	return api.Scoped(nil,
		api.Get(path, s.file).Doc("Get a file in a repository").Public().Scope(authz.ScopeReadRepository).Needs(authz.ReadCode),
		api.Get(path+"/raw", s.rawFile).Doc("Get the raw content of a file in a repository").Public().Scope(authz.ScopeReadRepository).Needs(authz.ReadCode),
		api.Get(path+"/blame", s.blame).Doc("Get the blame of a file in a repository").Public().Scope(authz.ScopeReadRepository).Needs(authz.ReadCode),
		api.Post(path, s.createFile).Doc("Create a file in a repository").MaxBody(maxFileBody).Needs(authz.PushCode),
		api.Put(path, s.updateFile).Doc("Update a file in a repository").MaxBody(maxFileBody).Needs(authz.PushCode),
		api.Delete(path, s.deleteFile).Doc("Delete a file in a repository").Needs(authz.PushCode),
	)
}

type filePath struct {
	projectPath
	FilePath string `param:"file_path,required,free" doc:"URL-encoded path of the file"`
}

// check refuses a path that leaves the repository, whatever is asked of it.
func (p filePath) check() error {
	if strings.HasPrefix(p.FilePath, "/") || slices.Contains(strings.FieldsFunc(p.FilePath, func(c rune) bool { return c == '/' || c == '\\' }), "..") {
		return api.BadParam("file_path should be a valid file path")
	}
	return nil
}

type fileParams struct {
	filePath
	Ref string `param:"ref,required,nonempty" doc:"Branch, tag or commit; HEAD is the default branch"`
}

type fileEntity struct {
	FileName        string      `json:"file_name"`
	FilePath        string      `json:"file_path"`
	Size            int64       `json:"size"`
	Encoding        string      `json:"encoding"`
	ContentSHA256   string      `json:"content_sha256"`
	Ref             string      `json:"ref"`
	BlobID          string      `json:"blob_id"`
	CommitID        string      `json:"commit_id"`
	LastCommitID    string      `json:"last_commit_id"`
	ExecuteFilemode bool        `json:"execute_filemode"`
	Content         fileContent `json:"content"`
}

// maxShownFile bounds a file that is sent inside JSON, where it takes a third more.
const maxShownFile = 180 << 20

// file answers HEAD as well: the headers say all but the content.
func (s *Server) file(ctx context.Context, as authz.Actor, in fileParams) (api.Reply[fileEntity], error) {
	var none api.Reply[fileEntity]
	if err := in.check(); err != nil {
		return none, err
	}
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return none, err
	}
	f, err := s.Repos.File(ctx, as, p, in.FilePath, in.Ref, repo.WithLastCommit)
	if err != nil {
		return none, err
	}
	defer f.Blob.Close()
	if err := s.Limits.CheckLarge(as, int64(p.ID), f.Blob.Size); err != nil {
		return none, err
	}
	if f.Blob.Size > maxShownFile {
		return none, errs.New(errs.TooLarge, "")
	}
	content, err := readContent(f.Blob)
	if err != nil {
		return none, err
	}
	e := s.fileEntity(f, in.Ref, content.sum)
	e.Content = content
	return api.Reply[fileEntity]{Header: e.headers(), Body: e, Done: content.close}, nil
}

// fileEntity describes a file but for its content.
func (s *Server) fileEntity(f *repo.File, ref string, sum [sha256.Size]byte) fileEntity {
	return fileEntity{
		FileName: f.Name(), FilePath: f.Path, Size: f.Blob.Size, Encoding: "base64",
		ContentSHA256: hex.EncodeToString(sum[:]), Ref: ref, BlobID: f.BlobID.String(), CommitID: f.CommitID.String(),
		LastCommitID: f.LastCommit.String(), ExecuteFilemode: f.Mode == gitstore.ModeExecutable,
	}
}

// headers returns the X-Gitlab headers of a file.
func (e *fileEntity) headers() http.Header {
	h := http.Header{}
	h.Set("X-Gitlab-Blob-Id", e.BlobID)
	h.Set("X-Gitlab-Commit-Id", e.CommitID)
	h.Set("X-Gitlab-Content-Sha256", e.ContentSHA256)
	h.Set("X-Gitlab-Encoding", e.Encoding)
	h.Set("X-Gitlab-Execute-Filemode", strconv.FormatBool(e.ExecuteFilemode))
	h.Set("X-Gitlab-File-Name", headerText(e.FileName))
	h.Set("X-Gitlab-File-Path", headerText(e.FilePath))
	h.Set("X-Gitlab-Last-Commit-Id", e.LastCommitID)
	h.Set("X-Gitlab-Ref", headerText(e.Ref))
	h.Set("X-Gitlab-Size", strconv.FormatInt(e.Size, 10))
	return h
}

// headerText drops what may not stand in a header, which would split it.
func headerText(s string) string {
	out := make([]byte, 0, len(s))
	for i := range len(s) {
		if s[i] >= ' ' && s[i] != 0x7f {
			out = append(out, s[i])
		}
	}
	return string(out)
}

type rawFileParams struct {
	filePath
	Ref string `param:"ref" doc:"Branch, tag or commit; defaults to the default branch"`
	LFS bool   `param:"lfs" doc:"Return the LFS object instead of its pointer"`
}

func (s *Server) rawFile(ctx context.Context, as authz.Actor, in rawFileParams) (api.Content, error) {
	if err := in.check(); err != nil {
		return api.Content{}, err
	}
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return api.Content{}, err
	}
	f, err := s.Repos.File(ctx, as, p, in.FilePath, in.Ref, repo.WithoutHistory)
	if err != nil {
		return api.Content{}, err
	}
	if err := s.countRaw(as, p, f.Path, f.Blob); err != nil {
		return api.Content{}, err
	}
	raw, err := s.rawOrLarge(ctx, p, f.Blob, in.LFS)
	if err != nil {
		return api.Content{}, err
	}
	raw.Header.Set("X-Gitlab-Blob-Id", f.BlobID.String())
	raw.Header.Set("X-Gitlab-Commit-Id", f.CommitID.String())
	raw.Header.Set("X-Gitlab-File-Name", headerText(f.Name()))
	raw.Header.Set("X-Gitlab-File-Path", headerText(f.Path))
	raw.Header.Set("X-Gitlab-Ref", headerText(f.Ref))
	raw.Header.Set("X-Gitlab-Size", strconv.FormatInt(f.Blob.Size, 10))
	return raw, nil
}

// sniffed is how much of a file decides whether it is text.
const sniffed = 8000

// rawOrLarge is rawBlob; where asked for, it returns what a pointer to a large object
// stands for.
func (s *Server) rawOrLarge(ctx context.Context, p *project.Project, b *gitcmd.BlobReader, large bool) (api.Content, error) {
	if !large {
		return rawBlob(b)
	}
	o, err := s.Repos.Large(ctx, p, b)
	if err != nil {
		return api.Content{}, errors.Join(err, b.Close())
	}
	if o == nil {
		return rawBlob(b)
	}
	if err := b.Close(); err != nil {
		return api.Content{}, errors.Join(fmt.Errorf("close blob: %w", err), o.Close())
	}
	head := make([]byte, min(o.Size, sniffed))
	_, err = io.ReadFull(o, head)
	if err == nil {
		_, err = o.Seek(0, io.SeekStart)
	}
	if err != nil {
		return api.Content{}, errors.Join(fmt.Errorf("read large object: %w", err), o.Close())
	}
	return rawContent(head, `"`+b.ID.String()+`-large"`, o), nil
}

// rawBlob sends bytes as they are. Text is shown, anything else is offered as a
// download, so that no browser runs what a user pushed.
func rawBlob(b *gitcmd.BlobReader) (api.Content, error) {
	head := make([]byte, min(b.Size, sniffed))
	if _, err := io.ReadFull(b, head); err != nil {
		return api.Content{}, errors.Join(fmt.Errorf("read blob: %w", err), b.Close())
	}
	return rawContent(head, `"`+b.ID.String()+`"`,
		api.Forward(&joined{Reader: io.MultiReader(bytes.NewReader(head), b), close: b.Close}, b.Size)), nil
}

// rawContent describes content by its beginning.
func rawContent(head []byte, etag string, from io.ReadSeekCloser) api.Content {
	raw := api.Content{Type: charset.MediaType(head), Header: http.Header{}, ETag: etag, From: from}
	raw.Header.Set("Content-Disposition", "inline")
	raw.Header.Set("Cache-Control", "max-age=0, private, must-revalidate, no-store, no-cache")
	raw.Header.Set("Expires", "Fri, 01 Jan 1990 00:00:00 GMT")
	if raw.Type == "" {
		raw.Type = "application/octet-stream"
		raw.Header.Set("Content-Disposition", "attachment")
	}
	return raw
}

// joined is a reader put together from parts, with the end of one of them.
type joined struct {
	io.Reader
	close func() error
}

// Close ends the part that needs an end.
func (j *joined) Close() error { return j.close() }

type writeFileParams struct {
	filePath
	Branch          string  `param:"branch,required" doc:"Branch to commit to"`
	CommitMessage   string  `param:"commit_message,required" doc:"Commit message"`
	StartBranch     string  `param:"start_branch" doc:"Branch to create the new branch from"`
	AuthorEmail     string  `param:"author_email" doc:"Email address of the author"`
	AuthorName      string  `param:"author_name" doc:"Author name; defaults to the current user"`
	Content         *string `param:"content,required" doc:"Content"`
	Encoding        string  `param:"encoding" values:"text,base64" default:"text" doc:"Encoding: text or base64"`
	ExecuteFilemode *bool   `param:"execute_filemode" doc:"Enable the execute flag of the file"`
}

type updateFileParams struct {
	writeFileParams
	LastCommitID string `param:"last_commit_id" doc:"Last known commit ID of the file"`
}

type deleteFileParams struct {
	filePath
	Branch        string `param:"branch,required" doc:"Branch to commit to"`
	CommitMessage string `param:"commit_message,required" doc:"Commit message"`
	StartBranch   string `param:"start_branch" doc:"Branch to create the new branch from"`
	AuthorEmail   string `param:"author_email" doc:"Email address of the author"`
	AuthorName    string `param:"author_name" doc:"Author name; defaults to the current user"`
	LastCommitID  string `param:"last_commit_id" doc:"Last known commit ID of the file"`
}

type fileInfoEntity struct {
	FilePath string `json:"file_path"`
	Branch   string `json:"branch"`
}

func (s *Server) createFile(ctx context.Context, as authz.Actor, in writeFileParams) (fileInfoEntity, error) {
	return s.writeFile(ctx, as, in, repo.Action{Kind: repo.ActionCreate})
}

func (s *Server) updateFile(ctx context.Context, as authz.Actor, in updateFileParams) (fileInfoEntity, error) {
	return s.writeFile(ctx, as, in.writeFileParams, repo.Action{Kind: repo.ActionUpdate, LastCommitID: in.LastCommitID})
}

func (s *Server) writeFile(ctx context.Context, as authz.Actor, in writeFileParams, a repo.Action) (fileInfoEntity, error) {
	if err := in.check(); err != nil {
		return fileInfoEntity{}, err
	}
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return fileInfoEntity{}, err
	}
	empty := ""
	a.Path, a.Content, a.Encoding, a.Executable = in.FilePath, in.Content, in.Encoding, in.ExecuteFilemode
	if a.Content == nil {
		a.Content = &empty
	}
	_, err = s.Repos.Commit(ctx, as, p, repo.CommitInput{
		Branch: in.Branch, StartBranch: startOf(in.Branch, in.StartBranch), Message: in.CommitMessage,
		AuthorName: in.AuthorName, AuthorEmail: in.AuthorEmail, Actions: []repo.Action{a},
	})
	if repo.IsStale(err) {
		err = errs.Plain("You are attempting to update a file that has changed since you started editing it.")
	}
	return fileInfoEntity{FilePath: in.FilePath, Branch: in.Branch}, err
}

func (s *Server) deleteFile(ctx context.Context, as authz.Actor, in deleteFileParams) (api.None, error) {
	if err := in.check(); err != nil {
		return api.None{}, err
	}
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return api.None{}, err
	}
	_, err = s.Repos.DeleteFile(ctx, as, p, repo.CommitInput{
		Branch: in.Branch, StartBranch: startOf(in.Branch, in.StartBranch), Message: in.CommitMessage,
		AuthorName: in.AuthorName, AuthorEmail: in.AuthorEmail,
		Actions: []repo.Action{{Kind: repo.ActionDelete, Path: in.FilePath, LastCommitID: in.LastCommitID}},
	})
	if repo.IsStale(err) {
		return api.None{}, errs.Plain("You are attempting to delete a file that has been previously updated.")
	}
	return api.None{}, err
}

// startOf returns the branch that a new branch starts from; the branch itself is none.
func startOf(branch, start string) string {
	if start == branch {
		return ""
	}
	return start
}
