// Package hookevent records what other servers are notified of, in the transaction of the change, and afterwards hands it with its
// body to the recipients that notify them: hooks and integrations.
package hookevent

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"tenon/internal/base/db"
	"tenon/internal/base/event"
	"tenon/internal/base/job"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/payload"
	"tenon/internal/core/project"
	"tenon/internal/core/setting"
)

// Event is an event that is recorded.
type Event struct {
	ID        int64             `db:"id"`
	TreeID    authz.NamespaceID `db:"tree_id"` // top-level group or personal namespace; zero for the instance
	Kind      string            `db:"kind"`
	Head      string            `db:"head"`
	Data      string            `db:"data"`
	Attempts  int               `db:"attempts"`
	CreatedAt db.Time           `db:"created_at"`
}

// head is what every event says. It is stored as JSON.
type head struct {
	Trigger   payload.Trigger
	Namespace authz.NamespaceID // of the project or group; zero for the instance
	Project   project.ID        `json:",omitzero"`
	At        time.Time
	By        authz.UserID
	Chain     string
}

// source is what a kind of event records beside, and makes the body of. It is stored as JSON.
type source interface {
	// kind names it for good.
	kind() string

	// fill puts into a message what the event is about, and its body. It returns errDeleted where that no longer exists.
	// It is called outside of transactions.
	fill(ctx context.Context, s *Service, m *payload.Message) error
}

// candidate is an event that a recipient may listen to, and what makes its source where a recipient does.
type candidate struct {
	trigger payload.Trigger
	source  func() source
}

// Deps is what a Service is made of.
type Deps struct {
	DB       *db.DB
	Settings *setting.Store
	Accounts *account.Service
	Projects *project.Service
	Payloads *payload.Service
	Jobs     job.Enqueuer
	Log      *slog.Logger
	Now      func() time.Time
}

// Above is what a Service needs of those above it.
type Above struct {
	Recipients []payload.Recipient `wire:"optional"` // without any nothing is recorded
}

// Service records events and hands them on. It is safe for concurrent use.
type Service struct {
	Deps
	Above
}

// New builds the service.
func New(d Deps) *Service {
	return &Service{Deps: d}
}

// Connect sets the recipients of events.
func (s *Service) Connect(above Above) { s.Above = above }

// Subscribe registers what is recorded.
func (s *Service) Subscribe(b *event.Bus) {
	s.subscribePushes(b)
	s.subscribeRequests(b)
	s.subscribeIssues(b)
	s.subscribeNotes(b)
	s.subscribeMilestones(b)
	s.subscribeWikis(b)
	s.subscribePipelines(b)
	s.subscribeDelivery(b)
	s.subscribePeople(b)
	s.subscribePlaces(b)
}

// on registers what is recorded of events of type E.
func on[E event.Event](b *event.Bus, fn func(ctx context.Context, e E) error) {
	event.On(b, "hooks", fn)
}

// sources are all kinds of events, empty.
func sources() []source {
	return []source{
		new(push), new(update), new(request), new(about), new(comment), new(emoji), new(goal), new(wikiPage), new(pipeline), new(build), new(deployment), new(published), new(flag), new(member), new(user), new(key), new(projectEvent), new(groupEvent), new(expiring),
	}
}

// record writes down those of some events that a recipient listens to, and has them handed on after the commit. One statement finds
// out which. Nothing is recorded while nothing may leave the server, and not later either.
func (s *Service) record(ctx context.Context, in authz.Place, stamp authz.Stamp, candidates ...candidate) error {
	if s.Settings.Current().SilentModeEnabled || len(candidates) == 0 {
		return nil
	}
	h := head{Namespace: in.Namespace, At: stamp.At, By: stamp.By.UserID, Chain: stamp.By.Chain}
	if !in.Group && !in.IsInstance() {
		h.Project = project.ID(in.ID)
	}
	wanted, tree, err := s.wanted(ctx, h, candidates)
	if err != nil || len(wanted) == 0 {
		return err
	}
	if h.Chain == "" {
		h.Chain = uuid.NewString()
	}
	for _, c := range wanted {
		h.Trigger = c.trigger
		if err := s.insert(ctx, tree, h, c.source()); err != nil {
			return err
		}
	}
	_, err = db.Once(ctx, s.DB, handOver{}, func(ctx context.Context) (bool, error) { return true, s.Jobs.Enqueue(ctx, handOver{}) })
	return err
}

func (s *Service) insert(ctx context.Context, tree authz.NamespaceID, h head, of source) error {
	first, err := json.Marshal(h)
	if err != nil {
		return fmt.Errorf("record event for hooks: %w", err)
	}
	data, err := json.Marshal(of)
	if err != nil {
		return fmt.Errorf("record event for hooks: %w", err)
	}
	return db.Create(ctx, s.DB, "hook_events", &Event{TreeID: tree, Kind: of.kind(), Head: string(first), Data: string(data), CreatedAt: db.At(s.Now())})
}

// treeSQL is the top-level group or personal namespace that a place is in, zero for the instance.
const treeSQL = `COALESCE((SELECT a.ancestor_id FROM namespace_ancestors a JOIN namespaces t ON t.id = a.ancestor_id
	WHERE a.namespace_id = ? AND t.parent_id IS NULL), 0)`

// question is what a transaction asks once: which of some triggers, in one text, a recipient listens to in a place.
type question struct {
	namespace authz.NamespaceID
	project   project.ID
	triggers  string
}

// listeners are the triggers that a recipient listens to in a place, and the tree that the place is in.
type listeners struct {
	triggers []payload.Trigger
	tree     authz.NamespaceID
}

// ofPipelines are the triggers of a pipeline and of its jobs: a transaction that changes many of them asks about both at once.
var ofPipelines = []payload.Trigger{payload.Pipeline, payload.Job}

// wanted returns those candidates that a recipient listens to, and the tree that they are in. A transaction asks about each trigger once.
func (s *Service) wanted(ctx context.Context, h head, candidates []candidate) (wanted []candidate, tree authz.NamespaceID, err error) {
	var triggers []payload.Trigger
	for _, c := range candidates {
		if !slices.Contains(triggers, c.trigger) {
			triggers = append(triggers, c.trigger)
		}
	}
	if len(triggers) == 1 && slices.Contains(ofPipelines, triggers[0]) {
		triggers = ofPipelines
	}
	key := question{h.Namespace, h.Project, fmt.Sprint(triggers)}
	found, err := db.Once(ctx, s.DB, key, func(ctx context.Context) (listeners, error) { return s.ask(ctx, h, triggers) })
	if err != nil || len(found.triggers) == 0 {
		return nil, 0, err
	}
	return slices.DeleteFunc(slices.Clone(candidates), func(c candidate) bool { return !slices.Contains(found.triggers, c.trigger) }), found.tree, nil
}

// ask finds out which of some triggers a recipient listens to.
func (s *Service) ask(ctx context.Context, h head, triggers []payload.Trigger) (listeners, error) {
	query, args := s.listening(h, triggers)
	if query == "" {
		return listeners{}, nil
	}
	type row struct {
		N    int               `db:"n"`
		Tree authz.NamespaceID `db:"tree"`
	}
	found, err := db.Select[row](ctx, s.DB, "SELECT w.n, "+treeSQL+" AS tree FROM ("+query+") w ORDER BY w.n", append([]any{h.Namespace}, args...)...)
	if err != nil {
		return listeners{}, fmt.Errorf("find out who listens to an event: %w", err)
	}
	var out listeners
	for _, r := range found {
		out.triggers, out.tree = append(out.triggers, triggers[r.N]), r.Tree
	}
	return out, nil
}

// listening is a query with its arguments that returns the indexes, as n, of those triggers that a recipient listens to in a place. It is
// empty where no recipient wants any.
func (s *Service) listening(h head, triggers []payload.Trigger) (query string, args []any) {
	var parts []string
	for n, trigger := range triggers {
		var each []string
		for _, r := range s.Recipients {
			query, more := r.Listening(payload.Audience{Trigger: trigger, Namespace: h.Namespace, Project: h.Project})
			if query != "" {
				each, args = append(each, "EXISTS ("+query+")"), append(args, more...)
			}
		}
		if len(each) > 0 {
			parts = append(parts, fmt.Sprintf("SELECT %d AS n WHERE %s", n, strings.Join(each, " OR ")))
		}
	}
	return strings.Join(parts, " UNION ALL "), args
}
