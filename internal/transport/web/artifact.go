package web

import (
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/a-h/templ"

	"tenon/internal/base/charset"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/ci"
	"tenon/internal/core/project"
	"tenon/internal/transport/httpkit"
)

// artifactFolder is what a page shows of a folder in the archive of a job.
type artifactFolder struct {
	Job          string // its page
	Archive      string
	Steps        []link // from the root to it
	Entries      []entry
	Older, Newer string
}

// job finds the project and returns the number of the job that the path names.
func (x *visit) job() (*project.Project, ci.StatusID, error) {
	p, err := x.project("Commits")
	if err != nil {
		return nil, 0, err
	}
	id, err := x.arg("id")
	return p, ci.StatusID(id), err
}

func (x *visit) getArtifacts() (templ.Component, error) {
	p, id, err := x.job()
	if err != nil {
		return nil, err
	}
	return x.sendArchive(p, id)
}

// sendArchive sends the archive of a job.
func (x *visit) sendArchive(p *project.Project, id ci.StatusID) (templ.Component, error) {
	a, content, err := x.CI.OpenArtifact(x.r.Context(), x.as, p, id, x.query("file_type"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = content.Close() }()
	kind := "application/octet-stream"
	if a.Type == ci.Archive {
		kind = "application/zip"
	}
	x.headers(kind, httpkit.Attachment(a.Filename)).Set("Etag", fmt.Sprintf("%q", a.SHA256))
	serveContent(x.w, x.r, content)
	return nil, nil
}

func (x *visit) getArtifactRaw() (templ.Component, error) {
	p, id, err := x.job()
	if err != nil {
		return nil, err
	}
	return x.sendArtifact(p, id, x.args["rest"])
}

// sendArtifact sends a file of an archive as a download: who may push writes its content.
func (x *visit) sendArtifact(p *project.Project, id ci.StatusID, name string) (templ.Component, error) {
	f, err := x.openArtifact(p, id, name)
	if err != nil {
		return nil, err
	}
	x.headers("application/octet-stream", httpkit.Attachment(path.Base(f.Name)))
	x.copyOut(f, f.Size)
	return nil, nil
}

// openArtifact opens a file of an archive; what no file can be called is not there.
func (x *visit) openArtifact(p *project.Project, id ci.StatusID, name string) (*ci.ArchiveFile, error) {
	f, err := x.CI.OpenFile(x.r.Context(), x.as, p, id, name)
	if errs.Is(err, errs.BadRequest) {
		return nil, errs.Missing("")
	}
	return f, err
}

// getArtifactFile shows a file of an archive.
func (x *visit) getArtifactFile() (templ.Component, error) {
	p, id, err := x.job()
	if err != nil {
		return nil, err
	}
	name := x.args["rest"]
	f, err := x.openArtifact(p, id, name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	x.title(shownTitle(path.Base(name)))
	x.sheet.API += "/jobs/" + itoa(int64(id)) + "/artifacts/" + strings.TrimPrefix(at.JobRawFile("", 0, name), at.JobRawFile("", 0, ""))
	b := &fileView{Name: path.Base(name), Size: counted(f.Size, "byte"), Raw: at.JobRawFile(p.FullPath, int64(id), name)}
	if f.Size > maxShown {
		b.Reason = "The file is too large to be shown here."
		return file(b), nil
	}
	content, err := io.ReadAll(io.LimitReader(f, maxShown)) // the size is what the archive says
	switch {
	case err != nil:
		return nil, fmt.Errorf("read artifact: %w", err)
	case charset.Binary(content):
		b.Reason = "The file is not text."
	default:
		b.Lines = shownLines(name, charset.Text(content, ""))
	}
	return file(b), nil
}

// getArtifactFolder lists a folder of an archive.
func (x *visit) getArtifactFolder() (templ.Component, error) {
	p, id, err := x.job()
	if err != nil {
		return nil, err
	}
	folder := strings.Trim(x.args["rest"], "/")
	part := page.Range{Limit: maxEntries, Offset: (x.number() - 1) * maxEntries, Uncounted: true}
	list, err := x.CI.ArchiveTree(x.r.Context(), x.as, p, id, ci.TreeFilter{Folder: folder, Range: part})
	if errs.Is(err, errs.BadRequest) {
		return nil, errs.Missing("")
	}
	if err != nil {
		return nil, err
	}
	x.title("Artifacts")
	x.sheet.API += "/jobs/" + itoa(int64(id)) + "/artifacts/tree"
	number := int64(id)
	out := artifactFolder{Job: at.Job(p.FullPath, number), Archive: at.JobArtifacts(p.FullPath, number), Steps: []link{{"Artifacts", at.JobFolder(p.FullPath, number, "")}}}
	parts := strings.Split(folder, "/")
	for i := range parts {
		if parts[i] != "" {
			out.Steps = append(out.Steps, link{shownTitle(textOf(parts[i])), at.JobFolder(p.FullPath, number, strings.Join(parts[:i+1], "/"))})
		}
	}
	for i := range list.Items {
		e := &list.Items[i]
		one := entry{Name: shownTitle(textOf(e.Name())), Kind: counted(e.Size, "byte"), URL: at.JobFile(p.FullPath, number, e.Path)}
		if e.Folder {
			one.Kind, one.URL = "folder", at.JobFolder(p.FullPath, number, e.Path)
		}
		out.Entries = append(out.Entries, one)
	}
	if list.HasNext {
		out.Older = x.numbered(x.number() + 1)
	}
	if x.number() > 1 {
		out.Newer = x.numbered(x.number() - 1)
	}
	return artifacts(&out), nil
}

// maxVerbs is how many places of a path are tried as the end of a reference.
const maxVerbs = 8

// getLatestArtifacts are the artifacts of a job by its name and a branch or tag, which may have slashes.
func (x *visit) getLatestArtifacts() (templ.Component, error) {
	p, err := x.project("Commits")
	if err != nil {
		return nil, err
	}
	name, rest := x.query("job"), x.args["rest"]
	for end, tries := 0, 0; tries < maxVerbs; {
		next := strings.IndexByte(rest[end:], '/')
		if next < 0 {
			break
		}
		end += next + 1
		verb, file, _ := strings.Cut(rest[end:], "/")
		switch verb {
		case "download", "browse", "raw", "file":
			tries++
		default:
			continue
		}
		j, err := x.CI.LatestOf(x.r.Context(), x.as, p, rest[:end-1], name)
		if errs.Is(err, errs.NotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return x.artifactsOf(p, j.ID, verb, file)
	}
	return nil, errs.Missing("")
}

// artifactsOf does with the artifacts of a job what a path says.
func (x *visit) artifactsOf(p *project.Project, id ci.StatusID, verb, file string) (templ.Component, error) {
	switch verb {
	case "browse":
		return x.goTo(at.JobFolder(p.FullPath, int64(id), file))
	case "file":
		return x.goTo(at.JobFile(p.FullPath, int64(id), file))
	case "raw":
		return x.sendArtifact(p, id, file)
	}
	if file != "" {
		return nil, errs.Missing("")
	}
	return x.sendArchive(p, id)
}
