package rest

import (
	"strings"

	"tenon/internal/base/budget"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/ci"
	"tenon/internal/core/project"
	"tenon/internal/transport/rest/api"
)

// commitEntity is a commit as lists show it .
type commitEntity struct {
	ID               string              `json:"id"`
	ShortID          string              `json:"short_id"`
	CreatedAt        api.CommitTime      `json:"created_at"`
	ParentIDs        []string            `json:"parent_ids"`
	Title            string              `json:"title"`
	Message          string              `json:"message"`
	AuthorName       string              `json:"author_name"`
	AuthorEmail      string              `json:"author_email"`
	AuthoredDate     api.CommitTime      `json:"authored_date"`
	CommitterName    string              `json:"committer_name"`
	CommitterEmail   string              `json:"committer_email"`
	CommittedDate    api.CommitTime      `json:"committed_date"`
	Trailers         map[string]string   `json:"trailers"`
	ExtendedTrailers map[string][]string `json:"extended_trailers"`
	WebURL           string              `json:"web_url"`
	Stats            *statsEntity        `json:"stats,omitempty"`
}

type statsEntity struct {
	Additions int `json:"additions"`
	Deletions int `json:"deletions"`
	Total     int `json:"total"`
}

// commitDetailEntity is a commit read by itself.
type commitDetailEntity struct {
	commitEntity
	Status       *ci.State       `json:"status"`
	ProjectID    project.ID      `json:"project_id"`
	LastPipeline *pipelineEntity `json:"last_pipeline"`
}

// maxParents is how many parents of a commit are named.
const maxParents = 1000

// noMessage is the title of a commit without a message.
const noMessage = "--no commit message"

func (s *Server) commitEntity(p *project.Project, c *gitstore.Commit) commitEntity {
	e := commitEntity{
		ID: c.ID.String(), ShortID: c.ID.Short(), CreatedAt: api.CommitTime(c.Committer.When),
		ParentIDs: make([]string, min(len(c.Parents), maxParents)), Title: budget.Cut(c.Title()), Message: c.Message,
		AuthorName: c.Author.Name, AuthorEmail: c.Author.Email, AuthoredDate: api.CommitTime(c.Author.When),
		CommitterName: c.Committer.Name, CommitterEmail: c.Committer.Email, CommittedDate: api.CommitTime(c.Committer.When),
		Trailers: map[string]string{}, ExtendedTrailers: map[string][]string{},
		WebURL: s.URLs.Commit(p.FullPath, c.ID.String()),
	}
	for i := range e.ParentIDs {
		e.ParentIDs[i] = c.Parents[i].String()
	}
	if e.Title == "" {
		e.Title = noMessage
	}
	return e
}

// withTrailers fills the trailers from the last paragraph of the message. Only lists that
// were asked for trailers carry them: everywhere else both objects are empty, because the
// clients written in Go decode a commit into maps of strings and fail on the arrays of
// extended_trailers.
func (e commitEntity) withTrailers() commitEntity {
	for _, t := range gitstore.Trailers(e.Message) {
		e.Trailers[t.Key] = t.Value
		e.ExtendedTrailers[t.Key] = append(e.ExtendedTrailers[t.Key], t.Value)
	}
	return e
}

func (s *Server) commitEntities(p *project.Project, list []*gitstore.Commit) []commitEntity {
	out := make([]commitEntity, len(list))
	for i, c := range list {
		out[i] = s.commitEntity(p, c)
	}
	return out
}

// diffEntity is the change of one file.
type diffEntity struct {
	Diff        string `json:"diff"`
	NewPath     string `json:"new_path"`
	OldPath     string `json:"old_path"`
	AMode       string `json:"a_mode"`
	BMode       string `json:"b_mode"`
	NewFile     bool   `json:"new_file"`
	RenamedFile bool   `json:"renamed_file"`
	DeletedFile bool   `json:"deleted_file"`
	Collapsed   bool   `json:"collapsed"` // left out, because the diffs before it are long
	TooLarge    bool   `json:"too_large"` // left out, because it is long
}

func newDiffEntity(f *gitcmd.FileDiff) diffEntity {
	e := diffEntity{
		Diff:    f.Text(),
		NewPath: strings.ToValidUTF8(f.NewPath, "\uFFFD"), OldPath: strings.ToValidUTF8(f.OldPath, "\uFFFD"),
		AMode: f.OldMode.String(), BMode: f.NewMode.String(),
		NewFile: f.New(), RenamedFile: f.Renamed(), DeletedFile: f.Deleted(),
		Collapsed: f.Collapsed, TooLarge: f.TooLarge && !f.Collapsed,
	}
	if f.Binary {
		e.Diff = "Binary files a/" + e.OldPath + " and b/" + e.NewPath + " differ\n"
		switch {
		case f.New():
			e.Diff = "Binary files /dev/null and b/" + e.NewPath + " differ\n"
		case f.Deleted():
			e.Diff = "Binary files a/" + e.OldPath + " and /dev/null differ\n"
		}
	}
	if f.New() {
		e.AMode = "0"
	}
	if f.Deleted() {
		e.BMode = "0"
	}
	return e
}

func diffEntities(files []gitcmd.FileDiff) []diffEntity {
	out := make([]diffEntity, len(files))
	for i := range files {
		out[i] = newDiffEntity(&files[i])
	}
	return out
}

// unified puts the lines with the file names before each diff, where asked for.
func unified(list []diffEntity, asked bool) []diffEntity {
	if !asked {
		return list
	}
	for i := range list {
		e := &list[i]
		if !strings.HasPrefix(e.Diff, "@@") {
			continue // nothing but names or modes changed, or it is binary
		}
		from, to := "a/"+e.OldPath, "b/"+e.NewPath
		if e.NewFile {
			from = "/dev/null"
		}
		if e.DeletedFile {
			to = "/dev/null"
		}
		e.Diff = "--- " + from + "\n+++ " + to + "\n" + e.Diff
	}
	return list
}
