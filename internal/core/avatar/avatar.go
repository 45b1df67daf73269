// Package avatar keeps the pictures of users, groups, projects and topics: as they were sent,
// but for the metadata, which is cut out when they come in.
package avatar

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"tenon/internal/base/blob"
	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/job"
	"tenon/internal/base/picture"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
)

// maxFile bounds the file as it comes, in bytes.
const maxFile = 200 << 10

// Kind says whose picture one is, as addresses have it.
type Kind string

// The kinds.
const (
	User    Kind = "user"
	Group   Kind = "group"
	Project Kind = "project"
	Topic   Kind = "topic"
)

// Deps are what the service is built on.
type Deps struct {
	DB         *db.DB
	Policy     *authz.Policy
	Accounts   *account.Service
	Namespaces *namespace.Service
	Projects   *project.Service
	Objects    *blob.Store
	Log        *slog.Logger
	Now        func() time.Time
}

// Service keeps the pictures. It is safe for concurrent use.
type Service struct {
	Deps

	cleaner *picture.Cleaner
}

// New builds the service.
func New(d Deps) *Service {
	return &Service{Deps: d, cleaner: picture.NewCleaner()}
}

// Picture is one that was read and not given to anybody yet; nil is none, which takes
// away the one that is there.
type Picture struct {
	content []byte
	name    string
}

// Read reads a picture from a file that has this name where it comes from. What is wrong with
// it is Invalid with a map.
func (s *Service) Read(name string, from io.Reader) (*Picture, error) {
	clean, err := s.cleaner.Clean(from, maxFile)
	var f errs.Fields
	switch {
	case errors.Is(err, picture.ErrTooBig):
		f.Add("avatar", "is too big (should be at most 200 KiB)")
		return nil, f.Err()
	case errors.Is(err, picture.ErrFormat):
		f.Add("avatar", "file format is not supported. Please try one of the following supported formats: "+strings.Join(picture.Formats, ", "))
		return nil, f.Err()
	case err != nil:
		return nil, err
	}
	return &Picture{content: clean.Content, name: clean.StoredName(name)}, nil
}

// FileName returns the name of the file in the stored name of a picture.
func FileName(stored string) string {
	_, file := picture.Split(stored)
	return file
}

// Version tells a picture from the others of its owner, by its stored name.
func Version(stored string) string {
	object, _ := picture.Split(stored)
	return object
}

// SetUser gives a user another picture: their own, or anybody's as an administrator.
func (s *Service) SetUser(ctx context.Context, as authz.Actor, id authz.UserID, p *Picture) (*account.User, error) {
	ability := authz.AdminUsers
	if as.Is(id) {
		ability = authz.UpdateOwnUser
	}
	if err := s.Policy.Require(ctx, as, ability, authz.Subject{}); err != nil {
		return nil, err
	}
	u, err := s.Accounts.Find(ctx, as, id)
	if err != nil {
		return nil, err
	}
	err = s.set(ctx, key{User, int64(id)}, u.Avatar, p, func(ctx context.Context, name string) error {
		if err := as.Unmodified(ctx, s.DB, "SELECT updated_at FROM users WHERE id = ?", id); err != nil {
			return err
		}
		u.Avatar = name
		return s.Accounts.SetAvatar(ctx, id, name)
	})
	return u, err
}

// SetGroup gives a group another picture. Its owners may.
func (s *Service) SetGroup(ctx context.Context, as authz.Actor, id namespace.ID, p *Picture) (*namespace.Group, error) {
	g, err := s.Namespaces.FindByID(ctx, as, id)
	if err != nil {
		return nil, err
	}
	if err := s.Policy.Require(ctx, as, authz.AdminGroup, g.Subject()); err != nil {
		return nil, err
	}
	err = s.set(ctx, key{Group, int64(id)}, g.Avatar, p, func(ctx context.Context, name string) error {
		g.Avatar = name
		return s.Namespaces.SetAvatar(ctx, id, name)
	})
	return g, err
}

// SetProject gives a project another picture. Its maintainers may.
func (s *Service) SetProject(ctx context.Context, as authz.Actor, id project.ID, p *Picture) (*project.Project, error) {
	found, err := s.Projects.FindByID(ctx, as, id)
	if err != nil {
		return nil, err
	}
	if err := s.Policy.Require(ctx, as, authz.AdminProject, found.Subject()); err != nil {
		return nil, err
	}
	err = s.set(ctx, key{Project, int64(id)}, found.Avatar, p, func(ctx context.Context, name string) error {
		found.Avatar = name
		return s.Projects.SetAvatar(ctx, id, name)
	})
	return found, err
}

// SetTopic gives a topic another picture. Administrators may.
func (s *Service) SetTopic(ctx context.Context, as authz.Actor, id project.TopicID, p *Picture) (*project.Topic, error) {
	if err := s.Policy.Require(ctx, as, authz.AdminTopics, authz.Subject{}); err != nil {
		return nil, err
	}
	t, err := s.Projects.FindTopic(ctx, as, id)
	if err != nil {
		return nil, err
	}
	err = s.set(ctx, key{Topic, int64(id)}, t.Avatar, p, func(ctx context.Context, name string) error {
		t.Avatar = name
		return s.Projects.SetTopicAvatar(ctx, id, name)
	})
	return t, err
}

// key says whose picture an object is.
type key struct {
	kind Kind
	id   int64
}

// object is where the picture with a stored name is kept.
func (k key) object(stored string) string {
	object, _ := picture.Split(stored)
	return fmt.Sprintf("avatar/%s/%d/%s", k.kind, k.id, object)
}

// set keeps a picture and writes down its name; the one that was there goes.
func (s *Service) set(ctx context.Context, of key, was string, p *Picture, write func(ctx context.Context, name string) error) error {
	name := ""
	if p != nil {
		name = p.name
		size := int64(len(p.content))
		if _, err := s.Objects.Put(ctx, of.object(name), strings.NewReader(string(p.content)), blob.Wanted{Size: &size}); err != nil {
			return err
		}
	}
	if err := s.DB.InTx(ctx, func(ctx context.Context) error {
		if was != "" && was != name {
			s.DB.AfterCommit(ctx, func() {
				if err := s.Objects.Delete(context.WithoutCancel(ctx), of.object(was)); err != nil {
					s.Log.Warn("remove avatar", "kind", of.kind, "id", of.id, "error", err)
				}
			})
		}
		return write(ctx, name)
	}); err != nil {
		return fmt.Errorf("set avatar: %w", err)
	}
	return nil
}

// Opened is a picture that is open for reading; close it.
type Opened struct {
	*blob.Object
	ContentType string
	Version     string // tells it from the other pictures of its owner
}

// Open opens the picture of a user, group, project or topic; file is the name of its file, ""
// is whatever there is. Pictures of users and topics are anybody's to see, those of groups and
// projects need the ability to see the group or project. Where there is none the answer is
// NotFound.
func (s *Service) Open(ctx context.Context, as authz.Actor, kind Kind, id int64, file string) (*Opened, error) {
	var name string
	switch kind {
	case User:
		users, err := s.Accounts.Load(ctx, []authz.UserID{authz.UserID(id)})
		if err != nil {
			return nil, err
		}
		if u := users[authz.UserID(id)]; u != nil {
			name = u.Avatar
		}
	case Group:
		g, err := s.Namespaces.FindByID(ctx, as, namespace.ID(id))
		if err != nil {
			return nil, err
		}
		name = g.Avatar
	case Project:
		p, err := s.Projects.FindByID(ctx, as, project.ID(id))
		if err != nil {
			return nil, err
		}
		name = p.Avatar
	case Topic:
		t, err := s.Projects.FindTopic(ctx, as, project.TopicID(id))
		if err != nil {
			return nil, err
		}
		name = t.Avatar
	}
	if name == "" || file != "" && file != FileName(name) {
		return nil, errs.Missing("Avatar")
	}
	o, err := s.Objects.Open(ctx, key{kind, id}.object(name))
	if errors.Is(err, blob.ErrNotFound) {
		return nil, errs.Missing("Avatar")
	}
	if err != nil {
		return nil, err
	}
	version := Version(name)
	return &Opened{Object: o, ContentType: picture.ContentType(version), Version: version}, nil
}

// Sweep is the periodic job that removes pictures which no user has any more.
type Sweep struct{}

// Kind names the job.
func (Sweep) Kind() string { return "avatar_sweep" }

// owners are the tables that say who has which picture.
var owners = map[Kind]string{
	User: "SELECT avatar FROM users WHERE id = ?", Group: "SELECT avatar FROM groups WHERE namespace_id = ?", Project: "SELECT avatar FROM projects WHERE id = ?",
	Topic: "SELECT avatar FROM topics WHERE id = ?",
}

// RegisterJobs has objects that no row names deleted each day.
func (s *Service) RegisterJobs(r *job.Registry) {
	job.Register(r, s.Sweep, job.On(job.Maintenance), job.Unique(), job.Low(), job.Timeout(time.Hour))
	job.Every(r, 24*time.Hour, Sweep{})
}

// Sweep removes the pictures of those who are gone, and what a crash left. Doing it twice
// is harmless.
func (s *Service) Sweep(ctx context.Context, _ Sweep) error {
	before := s.Now().Add(-24 * time.Hour)
	for info, err := range s.Objects.List(ctx, "avatar") {
		if err != nil {
			return err
		}
		fields := strings.Split(info.Key, "/")
		if len(fields) != 4 || !info.Modified.Before(before) {
			continue
		}
		id, err := strconv.ParseInt(fields[2], 10, 64)
		query, known := owners[Kind(fields[1])]
		if err != nil || !known {
			continue
		}
		name, err := db.Get[string](ctx, s.DB, query, id)
		if err != nil && !errors.Is(err, db.ErrNotFound) {
			return fmt.Errorf("look for avatar: %w", err)
		}
		if Version(name) == fields[3] {
			continue
		}
		if err := s.Objects.Delete(ctx, info.Key); err != nil {
			return err
		}
	}
	return nil
}
