// Package snippet holds snippets: a few files with a title, of a user or in a project. Each has
// a git repository of its own.
package snippet

import (
	"encoding/json"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/event"
	"tenon/internal/base/job"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
	"tenon/internal/core/setting"
	"tenon/internal/core/tree"
	"tenon/internal/core/weburl"
)

// ID identifies a snippet.
type ID int64

const (
	maxTitle       = 255
	maxDescription = 1_048_576
	maxFiles       = 10
	maxPath        = 255 // characters
)

// Snippet is one snippet.
type Snippet struct {
	ID           ID               `db:"id"`
	RepositoryID repo.AttachedID  `db:"repository"`
	ProjectID    *project.ID      `db:"project_id"` // nil for a personal snippet
	AuthorID     authz.UserID     `db:"author_id"`
	Title        string           `db:"title" fold:"title_fold"`
	Description  *string          `db:"description" fold:"description_fold,sparse"`
	Visibility   authz.Visibility `db:"visibility"`
	Branch       string           `db:"branch"`                         // of the repository, the only one
	FilesJSON    string           `db:"files" fold:"files_fold,sparse"` // see Files
	CommitID     string           `db:"commit_id"`                      // that the files were read from; "" for none
	NotesCount   int64            `db:"notes_count"`
	PublicNotes  int64            `db:"public_notes_count"`
	Agent        string           `db:"agent" change:",secret"`   // User-Agent of the request that created it
	Address      string           `db:"address" change:",secret"` // where that request came from
	Origin       tree.Origin      `db:"imported_from"`
	CreatedAt    db.Time          `db:"created_at"`
	UpdatedAt    db.Time          `db:"updated_at"`

	ProjectPath string `db:"project_path,readonly"` // full path of the project, "" for a personal snippet
}

// Files returns the paths of the files in git's order.
func (s *Snippet) Files() []string {
	out := []string{}
	if json.Unmarshal([]byte(s.FilesJSON), &out) != nil { // written by this package alone
		return []string{}
	}
	return out
}

// storage is where repositories are; there is one place.
const storage = "default"

// Storage names the storage of the repository for administrators, "" for others.
func (s *Snippet) Storage(as authz.Actor) string {
	if !as.Admin {
		return ""
	}
	return storage
}

func (s *Snippet) setFiles(paths []string) error {
	if paths == nil {
		paths = []string{}
	}
	text, err := json.Marshal(paths)
	s.FilesJSON = string(text)
	return err
}

// subject is what permissions are asked about; p is nil for a personal snippet.
func (s *Snippet) subject(as authz.Actor, p *project.Project) authz.Subject {
	own := as.Is(s.AuthorID)
	if p == nil {
		return authz.Subject{Noun: "Snippet", Personal: true, Visibility: s.Visibility, Own: own}
	}
	subject := p.Subject()
	subject.Noun, subject.Own, subject.Visibility = "Snippet", own, min(subject.Visibility, s.Visibility)
	return subject
}

// Created is published when a snippet was created.
type Created struct{ change.Of[Snippet] }

// Updated is published when a snippet got other attributes or files.
type Updated struct{ change.Of[Snippet] }

// Deleted is published when a snippet was deleted by itself, and not with its project.
type Deleted struct{ change.Of[Snippet] }

// Noteable names it for those who clear what hangs on it.
func (e Deleted) Noteable() noteable.Ref {
	return noteable.Ref{Kind: noteable.Snippet, ID: int64(e.Before.ID)}
}

// Deps are what the service is built on.
type Deps struct {
	DB       *db.DB
	Policy   *authz.Policy
	Bus      *event.Bus
	Jobs     job.Enqueuer
	Settings *setting.Store
	Projects *project.Service
	Repos    *repo.Service
	URLs     *weburl.Site
	Now      func() time.Time
}

// Service reads and changes snippets.
type Service struct {
	Deps
}

// New builds the service.
func New(d Deps) *Service {
	return &Service{Deps: d}
}

// About names it for events.
func (s Snippet) About() change.Subject {
	return change.Subject{Type: "Snippet", ID: int64(s.ID), Title: s.Title}
}

// place is the project of a snippet, the instance for a personal one.
func (s *Snippet) place() authz.Place {
	if s.ProjectID == nil {
		return authz.Place{}
	}
	return authz.Place{ID: int64(*s.ProjectID)}
}
