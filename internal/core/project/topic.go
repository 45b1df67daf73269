package project

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
)

// TopicID identifies a topic.
type TopicID int64

// Topic is a word that projects are found by. Its name is unique without regard to case.
type Topic struct {
	ID          TopicID `db:"id"`
	Name        string  `db:"name" fold:"name_fold"`
	Title       string  `db:"title" fold:"title_fold"`
	Description *string `db:"description"`
	Avatar      string  `db:"avatar"`         // stored file name, "" for none
	AllProjects int64   `db:"projects_count"` // those that have it
	CreatedAt   db.Time `db:"created_at"`
	UpdatedAt   db.Time `db:"updated_at"`

	Projects int64 `db:"projects,readonly"` // those that the reader sees, page.MaxCounted + 1 where there are more
}

// TopicFilter selects from the list of topics.
type TopicFilter struct {
	Search          string // part of the name or title
	WithoutProjects bool   // only those of no project at all
	page.Range
}

// TopicChanges are the attributes of a topic that a call sets; nil leaves one alone.
type TopicChanges struct {
	Name, Title, Description *string
}

// topicColumns are those of Topic over the alias t; projects counts those which the actor
// sees, and no further than to page.MaxCounted + 1.
func (s *Service) topicColumns(as authz.Actor) (string, []any) {
	seen, args := s.Policy.VisibleProjectsSQL(as, "n")
	return db.Columns[Topic]("t") + `, (SELECT COUNT(*) FROM (SELECT 1 FROM project_topics l
		JOIN projects p ON p.id = l.project_id JOIN namespaces n ON n.id = p.namespace_id
		WHERE l.topic_id = t.id AND NOT p.pending_delete AND ` + seen + ` LIMIT ?) x) AS projects`, append(args, page.MaxCounted+1)
}

// ListTopics returns a page of the topics, those of most projects first. Projects are counted
// for the page only.
func (s *Service) ListTopics(ctx context.Context, as authz.Actor, f TopicFilter) (page.Page[Topic], error) {
	if err := s.Policy.Require(ctx, as, authz.ReadTopic, authz.Subject{}); err != nil {
		return page.Page[Topic]{}, err
	}
	var w db.Where
	if f.Search != "" {
		pattern := "%" + db.LikePattern(db.Fold(f.Search)) + "%"
		w.And(`(t.name_fold LIKE ? ESCAPE '\' OR t.title_fold LIKE ? ESCAPE '\')`, pattern, pattern)
	}
	if f.WithoutProjects {
		w.Raw("t.projects_count = 0")
	}
	columns, args := s.topicColumns(as)
	list, err := page.Select[Topic](ctx, s.DB, page.Query{
		Columns: columns, ColumnArgs: args, From: "topics t", Where: w, Key: "t.id", Narrow: "topics t",
		Order: page.Order{page.Int("projects", "t.projects_count").Desc(), page.ID("t.id")},
	}, f.Range)
	if err != nil {
		return list, fmt.Errorf("list topics: %w", err)
	}
	return list, nil
}

// FindTopic returns a topic by its number.
func (s *Service) FindTopic(ctx context.Context, as authz.Actor, id TopicID) (*Topic, error) {
	if err := s.Policy.Require(ctx, as, authz.ReadTopic, authz.Subject{}); err != nil {
		return nil, err
	}
	return s.findTopic(ctx, as, id)
}

func (s *Service) findTopic(ctx context.Context, as authz.Actor, id TopicID) (*Topic, error) {
	columns, args := s.topicColumns(as)
	t, err := db.Get[Topic](ctx, s.DB, "SELECT "+columns+" FROM topics t WHERE t.id = ?", append(args, id)...)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.Missing("Topic")
	}
	if err != nil {
		return nil, fmt.Errorf("find topic: %w", err)
	}
	return &t, nil
}

func (c TopicChanges) apply(t *Topic) {
	if c.Name != nil {
		t.Name = strings.TrimSpace(*c.Name)
	}
	if c.Title != nil {
		t.Title = *c.Title
	}
	if c.Description != nil {
		t.Description = c.Description
	}
}

func (t *Topic) check() error {
	var f errs.Fields
	f.Check(t.Name != "", "name", namespace.MessageBlank)
	f.Check(utf8.RuneCountInString(t.Name) <= namespace.MaxName, "name", namespace.MessageLongName)
	f.Check(!strings.ContainsAny(t.Name, "\n\r"), "name", "has characters that are not allowed")
	f.Check(strings.TrimSpace(t.Title) != "", "title", namespace.MessageBlank)
	f.Check(utf8.RuneCountInString(t.Title) <= namespace.MaxName, "title", namespace.MessageLongName)
	if t.Description != nil {
		f.Check(utf8.RuneCountInString(*t.Description) <= 1024, "description", "is too long (maximum is 1024 characters)")
	}
	return f.Err()
}

func topicTaken() error {
	var f errs.Fields
	f.Add("name", namespace.MessageTaken)
	return f.Err()
}

// CreateTopic makes a topic.
func (s *Service) CreateTopic(ctx context.Context, as authz.Actor, c TopicChanges) (*Topic, error) {
	if err := s.Policy.Require(ctx, as, authz.AdminTopics, authz.Subject{}); err != nil {
		return nil, err
	}
	now := db.At(s.Now())
	t := Topic{CreatedAt: now, UpdatedAt: now}
	c.apply(&t)
	if err := t.check(); err != nil {
		return nil, err
	}
	err := db.Create(ctx, s.DB, "topics", &t)
	if db.Duplicate(err, "topics") {
		return nil, topicTaken()
	}
	if err != nil {
		return nil, fmt.Errorf("create topic: %w", err)
	}
	return s.findTopic(ctx, as, t.ID)
}

// UpdateTopic changes a topic; its projects show another name at once.
func (s *Service) UpdateTopic(ctx context.Context, as authz.Actor, id TopicID, c TopicChanges) (*Topic, error) {
	if err := s.Policy.Require(ctx, as, authz.AdminTopics, authz.Subject{}); err != nil {
		return nil, err
	}
	t, err := s.findTopic(ctx, as, id)
	if err != nil {
		return nil, err
	}
	var out db.Change[Topic]
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		var err error
		out, err = db.Update(ctx, s.DB, s.topicRow(id).Provided(as.UnmodifiedAt), func(_ context.Context, t *Topic) error {
			c.apply(t)
			return t.check()
		})
		if err != nil || !out.Has("name") {
			return err
		}
		return s.renameTopic(ctx, id, out.Before.Name, out.After.Name)
	})
	switch {
	case db.Duplicate(err, "topics"):
		return nil, topicTaken()
	case err != nil:
		return nil, errs.Wrap(err, "update topic")
	}
	out.After.Projects = t.Projects
	return &out.After, nil
}

// DeleteTopic removes a topic from the instance and from every project.
func (s *Service) DeleteTopic(ctx context.Context, as authz.Actor, id TopicID) error {
	if err := s.Policy.Require(ctx, as, authz.AdminTopics, authz.Subject{}); err != nil {
		return err
	}
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		_, err := db.Delete(ctx, s.DB, s.topicRow(id).Provided(as.UnmodifiedAt), func(ctx context.Context, t *Topic) error {
			return s.dropTopic(ctx, t.Name, "SELECT project_id FROM project_topics WHERE topic_id = ?", id)
		})
		return errs.Wrap(err, "delete topic")
	})
}

// MergeTopics returns the projects of one topic another one and removes the first.
func (s *Service) MergeTopics(ctx context.Context, as authz.Actor, from, into TopicID) (*Topic, error) {
	if err := s.Policy.Require(ctx, as, authz.AdminTopics, authz.Subject{}); err != nil {
		return nil, err
	}
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		source, err := s.lockTopic(ctx, from)
		if err != nil {
			return err
		}
		target, err := s.lockTopic(ctx, into)
		if err != nil {
			return err
		}
		if from == into {
			return errs.Bad("The source topic and the target topic are identical.")
		}
		const both = "SELECT a.project_id FROM project_topics a JOIN project_topics b ON b.project_id = a.project_id WHERE a.topic_id = ? AND b.topic_id = ?"
		if err := s.dropTopic(ctx, source.Name, both, from, into); err != nil {
			return err
		}
		if err := s.renameTopic(ctx, from, source.Name, target.Name); err != nil {
			return err
		}
		_, err = s.DB.Exec(ctx, `INSERT INTO project_topics (project_id, topic_id)
			SELECT project_id, CAST(? AS BIGINT) FROM project_topics WHERE topic_id = ? ON CONFLICT DO NOTHING`, into, from)
		if err != nil {
			return err
		}
		_, err = s.DB.Exec(ctx, "UPDATE topics SET projects_count = (SELECT COUNT(*) FROM project_topics l WHERE l.topic_id = topics.id) WHERE id = ?", into)
		if err != nil {
			return err
		}
		_, err = db.Drop(ctx, s.DB, s.topicRow(from))
		return err
	})
	if err != nil {
		return nil, errs.Wrap(err, "merge topics")
	}
	return s.findTopic(ctx, as, into)
}

// A project keeps the names of its topics as a JSON array, too. Those of all projects are
// changed by one statement: inside of a name each quote has a backslash before it, so that
// a quote after a bracket or comma always begins a name.

// renameTopic changes the name that the projects of a topic show.
func (s *Service) renameTopic(ctx context.Context, id TopicID, old, name string) error {
	was, err := json.Marshal(old)
	if err != nil {
		return fmt.Errorf("encode topic: %w", err)
	}
	is, err := json.Marshal(name)
	if err != nil {
		return fmt.Errorf("encode topic: %w", err)
	}
	_, err = s.DB.Exec(ctx, `UPDATE projects SET topics = REPLACE(REPLACE(topics, CAST(? AS TEXT), CAST(? AS TEXT)), CAST(? AS TEXT), CAST(? AS TEXT))
		WHERE id IN (SELECT project_id FROM project_topics WHERE topic_id = ?)`,
		"["+string(was), "["+string(is), ","+string(was), ","+string(is), id)
	if err != nil {
		return fmt.Errorf("change topics: %w", err)
	}
	return nil
}

// dropTopic takes a name from what some projects show; which is a query for their numbers.
func (s *Service) dropTopic(ctx context.Context, name, which string, args ...any) error {
	text, err := json.Marshal(name)
	if err != nil {
		return fmt.Errorf("encode topic: %w", err)
	}
	first, later, only := "["+string(text)+",", ","+string(text), "["+string(text)+"]"
	_, err = s.DB.Exec(ctx, `UPDATE projects SET topics =
		REPLACE(REPLACE(REPLACE(topics, CAST(? AS TEXT), '['), CAST(? AS TEXT), ''), CAST(? AS TEXT), '[]') WHERE id IN (`+which+")",
		append([]any{first, later, only}, args...)...)
	if err != nil {
		return fmt.Errorf("change topics: %w", err)
	}
	return nil
}

// spell finds the topics that a project names, makes those that are not there, and has the
// project show each as it is spelled already.
func (s *Service) spell(ctx context.Context, p *Project) ([]TopicID, error) {
	names := p.Topics()
	ids := make([]TopicID, len(names))
	for i, name := range names {
		t, err := s.namedTopic(ctx, name)
		if err != nil {
			return nil, err
		}
		names[i], ids[i] = t.Name, t.ID
	}
	text, err := json.Marshal(names)
	if err != nil {
		return nil, fmt.Errorf("encode topics: %w", err)
	}
	p.TopicsJSON = string(text)
	return ids, nil
}

// link ties a project to its topics, in the transaction that stores the project.
func (s *Service) link(ctx context.Context, project ID, now []TopicID) error {
	old, err := db.Select[TopicID](ctx, s.DB, "SELECT topic_id FROM project_topics WHERE project_id = ?", project)
	if err != nil {
		return fmt.Errorf("topics of project: %w", err)
	}
	for _, id := range old {
		if slices.Contains(now, id) {
			continue
		}
		if _, err := s.DB.Exec(ctx, "DELETE FROM project_topics WHERE project_id = ? AND topic_id = ?", project, id); err != nil {
			return fmt.Errorf("forget topic: %w", err)
		}
		if _, err := s.DB.Exec(ctx, "UPDATE topics SET projects_count = projects_count - 1 WHERE id = ?", id); err != nil {
			return fmt.Errorf("count projects of topic: %w", err)
		}
	}
	for _, id := range now {
		added, err := db.InsertRow(ctx, s.DB, "project_topics", db.Values{"project_id": project, "topic_id": id}, "ON CONFLICT DO NOTHING")
		if err != nil {
			return fmt.Errorf("link topic: %w", err)
		}
		if added == 0 {
			continue
		}
		if _, err := s.DB.Exec(ctx, "UPDATE topics SET projects_count = projects_count + 1 WHERE id = ?", id); err != nil {
			return fmt.Errorf("count projects of topic: %w", err)
		}
	}
	return nil
}

// namedTopic finds the topic of a name, or makes it.
func (s *Service) namedTopic(ctx context.Context, name string) (t Topic, err error) {
	now := db.At(s.Now())
	_, err = db.InsertRow(ctx, s.DB, "topics", db.Values{
		"name": name, "name_fold": db.Fold(name), "title": name, "title_fold": db.Fold(name), "avatar": "", "projects_count": 0,
		"created_at": now, "updated_at": now,
	}, "ON CONFLICT (name_fold) DO NOTHING")
	if err != nil {
		return t, fmt.Errorf("make topic: %w", err)
	}
	t, err = db.Get[Topic](ctx, s.DB, "SELECT "+db.Columns[Topic]("")+" FROM topics WHERE name_fold = ?"+s.DB.Dialect().ForUpdate(), db.Fold(name))
	if err != nil {
		return t, fmt.Errorf("find topic: %w", err)
	}
	return t, nil
}

// unlink has the topics of a project that goes count it no more, in the transaction of ctx.
func (s *Service) unlink(ctx context.Context, id ID) error {
	_, err := s.DB.Exec(ctx, "UPDATE topics SET projects_count = projects_count - 1 WHERE id IN (SELECT topic_id FROM project_topics WHERE project_id = ?)", id)
	if err != nil {
		return fmt.Errorf("count projects of topics: %w", err)
	}
	return nil
}

// SetTopicAvatar writes down the name of a topic's picture, "" for none, in the
// transaction of ctx. It asks for no permission.
func (s *Service) SetTopicAvatar(ctx context.Context, id TopicID, name string) error {
	_, err := db.Update(ctx, s.DB, s.topicRow(id), func(_ context.Context, t *Topic) error {
		t.Avatar = name
		return nil
	})
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		return fmt.Errorf("set avatar of topic: %w", err)
	}
	return nil
}

// lockTopic reads a topic and locks it until the transaction of ctx ends.
func (s *Service) lockTopic(ctx context.Context, id TopicID) (Topic, error) {
	t, err := db.ForUpdate[Topic](ctx, s.DB, s.topicRow(id))
	return t, errs.Wrap(err, "lock topic")
}

func (s *Service) topicRow(id TopicID) db.Row {
	return db.Row{Table: "topics", ID: id, Now: s.Now, Missing: errs.Missing("Topic")}
}
