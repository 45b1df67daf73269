package web

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"tenon/internal/base/errs"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/limit"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
	"tenon/internal/transport/httpkit"
)

// headers say what an answer is that is no page: no browser runs anything in it.
func (x *visit) headers(kind, disposition string) http.Header {
	header := x.w.Header()
	header.Set("Content-Type", kind)
	header.Set("Content-Disposition", disposition)
	header.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	x.sent = true
	return header
}

// plainKind is the type of all that browsers show as text.
const plainKind = "text/plain; charset=utf-8"

// copyOut sends what is read as it comes and closes it. size is -1 where it is not known; what was promised and cannot be
// read breaks the connection off.
func (x *visit) copyOut(content io.ReadCloser, size int64) {
	defer func() { _ = content.Close() }()
	if size >= 0 {
		x.w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
	}
	x.w.WriteHeader(http.StatusOK)
	if x.r.Method == http.MethodHead {
		return
	}
	if _, err := io.Copy(x.w, content); err != nil {
		x.Log.Debug("content not sent", "error", err)
		panic(http.ErrAbortHandler)
	}
}

// playOut sends what is played and closes it, with one range where the program asks for it.
func (x *visit) playOut(content io.ReadCloser, size int64) {
	defer func() { _ = content.Close() }()
	s := &skipping{from: content, size: size}
	serveContent(x.w, x.r, s)
	if s.err != nil {
		x.Log.Debug("content not sent", "error", s.err)
		panic(http.ErrAbortHandler)
	}
}

// skipping reads content from its beginning to its end; Seek leaves a part out.
type skipping struct {
	from io.Reader
	size int64
	at   int64 // bytes that were read
	next int64 // where the next Read begins
	err  error // of reading, but for io.EOF
}

func (s *skipping) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += s.next
	case io.SeekEnd:
		offset += s.size
	}
	s.next = offset
	return offset, nil
}

func (s *skipping) Read(p []byte) (int, error) {
	if s.next < s.at {
		return 0, errors.New("read backwards")
	}
	skipped, err := io.CopyN(io.Discard, s.from, s.next-s.at)
	s.at += skipped
	if err != nil {
		s.err = fmt.Errorf("skip: %w", err)
		return 0, s.err
	}
	n, err := s.from.Read(p)
	s.at += int64(n)
	s.next = s.at
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// getArchive sends an archive of a branch, tag or commit. The last part of its path is the name of the file, whose end
// names the format; a path without it names the reference alone.
func (x *visit) getArchive() (templ.Component, error) {
	p, err := x.project("Project")
	if err != nil {
		return nil, err
	}
	name, suffix, ok := repo.ArchiveSuffix(x.args["rest"])
	if !ok {
		return nil, errs.Missing("")
	}
	if httpkit.Hotlinked(x.r.Header.Get("Accept"), x.r.Header.Get("Sec-Fetch-Mode")) {
		x.failed(x, http.StatusNotAcceptable, "An archive is not part of another page")
		x.sent = true
		return nil, nil
	}
	ref := path.Dir(name)
	if ref == "." {
		ref = name
	}
	in := repo.ArchiveInput{Ref: ref, Path: x.query("path"), Suffix: suffix, Short: true}
	a, err := x.Repos.Archive(x.r.Context(), x.as, p, in)
	if errs.Is(err, errs.NotFound) && ref != name {
		in.Ref = name
		a, err = x.Repos.Archive(x.r.Context(), x.as, p, in)
	}
	if err != nil {
		return nil, err
	}
	header := x.headers(a.Type, httpkit.Attachment(a.Name))
	header.Set("Etag", a.ETag)
	if !a.Reader.Finished() {
		x.copyOut(a.Reader, -1)
		return nil, nil
	}
	defer func() { _ = a.Reader.Close() }()
	serveContent(x.w, x.r, a.Reader)
	return nil, nil
}

// textForm cuts the suffix off that asks for a change as text.
func textForm(name string) (of, form string) {
	for _, form := range []string{".diff", ".patch"} {
		if of, ok := strings.CutSuffix(name, form); ok && of != "" {
			return of, form
		}
	}
	return name, ""
}

// getCommitText sends what a commit changed.
func (x *visit) getCommitText(p *project.Project, c *gitstore.Commit, form string) (templ.Component, error) {
	if err := x.Limits.CheckIn(limit.RawBlob, x.as, int64(p.ID), c.ID.String()); err != nil {
		return nil, err
	}
	open := x.Repos.RawDiff
	if form == ".patch" {
		open = x.Repos.Patch
	}
	text, err := open(x.r.Context(), x.as, p, c)
	if err != nil {
		return nil, err
	}
	return nil, x.sendText(text)
}

// getRequestText sends what a merge request changes.
func (x *visit) getRequestText(number, form string) (templ.Component, error) {
	p, err := x.project("Merge requests")
	if err != nil {
		return nil, err
	}
	iid, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return nil, errs.Missing("")
	}
	m, err := x.MergeRequests.ReadRow(x.r.Context(), x.as, p, mergerequest.IID(iid))
	if err != nil {
		return nil, err
	}
	if err := x.Limits.CheckIn(limit.RawBlob, x.as, int64(p.ID), number); err != nil {
		return nil, err
	}
	open := x.MergeRequests.RawDiff
	if form == ".patch" {
		open = x.MergeRequests.Patches
	}
	text, err := open(x.r.Context(), x.as, p, m)
	if err != nil {
		return nil, err
	}
	return nil, x.sendText(text)
}

// sendText sends a text as it is made. Nothing is promised before its first bytes are there.
func (x *visit) sendText(text io.ReadCloser) error {
	head := make([]byte, sniffed)
	n, err := io.ReadFull(text, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		_ = text.Close()
		return fmt.Errorf("read change: %w", err)
	}
	x.headers(plainKind, "inline")
	x.copyOut(joined{io.MultiReader(bytes.NewReader(head[:n]), text), text}, -1)
	return nil
}

// joined reads from one and closes another.
type joined struct {
	io.Reader
	io.Closer
}

// getJobLog sends the whole log of a job.
func (x *visit) getJobLog() (templ.Component, error) {
	p, id, err := x.job()
	if err != nil {
		return nil, err
	}
	log, err := x.CI.Log(x.r.Context(), x.as, p, id)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	x.headers(plainKind, "inline")
	if strings.Contains(x.r.Header.Get("Range"), ",") {
		x.r.Header.Del("Range")
	}
	http.ServeContent(x.w, x.r, "", time.Time{}, log)
	return nil, nil
}
