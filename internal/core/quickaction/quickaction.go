package quickaction

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"tenon/internal/base/errs"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/award"
	"tenon/internal/core/board"
	"tenon/internal/core/epic"
	"tenon/internal/core/issue"
	"tenon/internal/core/iteration"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/milestone"
	"tenon/internal/core/namespace"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/reference"
	"tenon/internal/core/repo"
	"tenon/internal/core/subscription"
	"tenon/internal/core/timelog"
)

// Action is what commands of some names do.
type Action struct {
	Names []string // in lower case
	Kinds []noteable.Kind
	Issue authz.Ability // required of an issue; "" for what readers may do
	Merge authz.Ability // required of a merge request, likewise
	Epic  authz.Ability // required of an epic, likewise
	Run   func(ctx context.Context, c *Call) error
}

// Call is a command at work. It changes Issue, Request or Epic, or registers what is to be done
// after these changes.
type Call struct {
	As       authz.Actor
	Target   noteable.Target
	Place    authz.Place
	Project  *project.Project // of Place, nil for an epic
	Group    *namespace.Group // of Place, nil for all but epics
	Argument string
	HeadSHA  string // what the caller believes to be the head of the merge request

	Was        *issue.Issue               // the issue, nil for all else
	WasRequest *mergerequest.MergeRequest // the merge request, nil for all else
	WasEpic    *epic.Epic                 // the epic, nil for all else
	Issue      issue.Changes
	Request    mergerequest.Changes
	Epic       epic.Changes

	after  []func(ctx context.Context) error
	result *Result
}

// Say adds a sentence to the summary.
func (c *Call) Say(format string, args ...any) {
	c.result.Summary = append(c.result.Summary, fmt.Sprintf(format, args...))
}

// Set adds a change to those that are reported.
func (c *Call) Set(key string, value any) { c.result.Changes[key] = value }

// After registers what is done once the changes of all commands are stored.
func (c *Call) After(do func(ctx context.Context) error) { c.after = append(c.after, do) }

// Merge reports whether the command is on a merge request.
func (c *Call) Merge() bool { return c.Target.Kind == noteable.MergeRequest }

// On names what the command is on.
func (c *Call) On() subscription.On {
	on := subscription.On{Place: c.Place, Kind: c.Target.Kind, Key: noteable.Key{Number: c.Target.ID}}
	if c.Target.IID != nil {
		on.Key.Number = *c.Target.IID
	}
	return on
}

// place is where what the command is on stands.
func (c *Call) place() reference.Scope {
	if c.Group != nil {
		return reference.Scope{Group: c.Group.ID, GroupPath: c.Group.FullPath}
	}
	return reference.Of(c.Project)
}

// state is the one that the thing had before the commands.
func (c *Call) state() string {
	switch {
	case c.WasRequest != nil:
		return string(c.WasRequest.State)
	case c.WasEpic != nil:
		return string(c.WasEpic.State)
	}
	return string(c.Was.State)
}

// thing is what the command is on, in words.
func (c *Call) thing() string {
	switch c.Target.Kind {
	case noteable.MergeRequest:
		return "merge request"
	case noteable.Epic:
		return "epic"
	}
	return "issue"
}

// Result is what the commands of a text did.
type Result struct {
	Changes map[string]any // by the names of commands_changes
	Summary []string       // sentences
	Names   []string       // of the commands that the actor may use, in their order
	Refused []string       // why the commands did nothing; empty where they ran
}

// Text is what the commands of a text leave of it.
type Text struct {
	Rest     string
	Commands []Command
}

// Only reports whether a text has commands and nothing else.
func (t Text) Only() bool { return len(t.Commands) > 0 && strings.TrimSpace(t.Rest) == "" }

// Deps is what a Service is made of.
type Deps struct {
	Policy        *authz.Policy
	Accounts      *account.Service
	Projects      *project.Service
	Issues        *issue.Service
	MergeRequests *mergerequest.Service
	Epics         *epic.Service
	Milestones    *milestone.Service
	Iterations    *iteration.Service
	Boards        *board.Service
	References    *reference.Service
	Awards        *award.Service
	Subscriptions *subscription.Service
	Repos         *repo.Service
	Times         *timelog.Service
	Now           func() time.Time
}

// Service runs commands.
type Service struct {
	Deps

	actions map[string]Action
}

// New builds the service with the commands of issues, merge requests, epics and commits; others
// register theirs.
func New(d Deps) *Service {
	s := &Service{Deps: d, actions: map[string]Action{}}
	s.Register(s.planning()...)
	s.Register(s.people()...)
	s.Register(s.merging()...)
	s.Register(s.times()...)
	s.Register(s.relations()...)
	s.Register(s.hierarchy()...)
	s.Register(s.tracking()...)
	s.Register(s.code()...)
	return s
}

// Register adds actions. One of a name that is taken replaces the other.
func (s *Service) Register(actions ...Action) {
	for _, a := range actions {
		for _, name := range a.Names {
			s.actions[name] = a
		}
	}
}

// Names lists the commands for things of a kind.
func (s *Service) Names(kind noteable.Kind) []string {
	var out []string
	for name, a := range s.actions {
		if slices.Contains(a.Kinds, kind) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// Parse takes the commands out of the text of a thing of a kind, those for other kinds too: they
// are left out of the text and do nothing. Texts of snippets have none, and a nil service knows none.
func (s *Service) Parse(kind noteable.Kind, text string) Text {
	if s == nil || kind == noteable.Snippet {
		return Text{Rest: text}
	}
	rest, commands := parse(text, func(name string) bool { return s.actions[name].Run != nil })
	return Text{Rest: rest, Commands: commands}
}

// On is what commands are run on.
type On struct {
	Place   authz.Place
	Target  noteable.Target // an issue, a merge request, an epic or a commit that the actor may read
	HeadSHA string          // see Call
}

// errFailed is the answer where commands did nothing that can be told.
var errFailed = errs.New(errs.BadRequest, "Failed to apply commands.")

// Alone is Run for a text that has nothing but commands: where none of them did anything it
// fails.
func (s *Service) Alone(ctx context.Context, as authz.Actor, on On, commands []Command) (*Result, error) {
	out, err := s.Run(ctx, as, on, commands)
	if err == nil && len(out.Summary) == 0 && len(out.Changes) == 0 {
		return nil, errFailed
	}
	return out, err
}

// Done is Run for a text that has more than commands: what they cannot do does not undo the
// text, and is left out of the result.
func (s *Service) Done(ctx context.Context, as authz.Actor, on On, commands []Command) (*Result, error) {
	out, err := s.Run(ctx, as, on, commands)
	var refused *errs.Error
	if errors.As(err, &refused) && refused.Kind != errs.Internal {
		return &Result{Changes: map[string]any{}, Summary: []string{}, Refused: []string{refused.Error()}}, nil
	}
	return out, err
}

// Run runs commands in their order with the rights of the actor: those that the actor may
// not use do nothing. What they change of the thing is one update.
func (s *Service) Run(ctx context.Context, as authz.Actor, on On, commands []Command) (*Result, error) {
	out := &Result{Changes: map[string]any{}, Summary: []string{}}
	c := &Call{As: as, Target: on.Target, Place: on.Place, Project: project.Of(on.Place), Group: namespace.Of(on.Place), HeadSHA: on.HeadSHA, result: out}
	known, err := s.find(ctx, c)
	if err != nil || !known {
		return out, err
	}
	for _, command := range commands {
		a, ok := s.actions[command.Name]
		if !ok || !slices.Contains(a.Kinds, on.Target.Kind) {
			continue
		}
		if ability := a.ability(on.Target.Kind); ability != "" {
			may, err := s.Policy.Can(ctx, as, ability, on.Target.Subject)
			if err != nil {
				return nil, err
			}
			if !may {
				continue
			}
		}
		c.Argument = command.Argument
		out.Names = append(out.Names, command.Name)
		if err := a.Run(ctx, c); err != nil {
			return nil, err
		}
	}
	if err := s.store(ctx, c); err != nil {
		return nil, err
	}
	return out, nil
}

// find reads what the commands are on. It reports whether there are commands for that.
func (s *Service) find(ctx context.Context, c *Call) (known bool, err error) {
	t := &c.Target
	switch {
	case t.Kind == noteable.Epic && c.Group != nil:
		found, err := s.Epics.ByIDs(ctx, c.As, []epic.ID{epic.ID(t.ID)})
		c.WasEpic = found[epic.ID(t.ID)]
		return c.WasEpic != nil, err
	case c.Project == nil:
		return false, nil
	case t.Kind == noteable.Commit:
		return true, nil
	case t.IID == nil:
		return false, nil
	case t.Kind == noteable.Issue:
		c.Was, err = s.Issues.Find(ctx, c.As, c.Project, issue.IID(*t.IID))
	case t.Kind == noteable.MergeRequest:
		c.WasRequest, err = s.MergeRequests.Find(ctx, c.As, c.Project, mergerequest.IID(*t.IID))
	}
	return c.Was != nil || c.WasRequest != nil, err
}

// ability is what the action requires of things of a kind.
func (a *Action) ability(kind noteable.Kind) authz.Ability {
	switch kind {
	case noteable.MergeRequest:
		return a.Merge
	case noteable.Epic:
		return a.Epic
	}
	return a.Issue
}

// store makes the changes, and then what comes after them.
func (s *Service) store(ctx context.Context, c *Call) error {
	var err error
	switch {
	case c.WasEpic != nil && asked(c.Epic):
		_, err = s.Epics.Update(ctx, c.As, c.Group, c.WasEpic.IID, c.Epic)
	case c.WasRequest != nil && asked(c.Request):
		_, err = s.MergeRequests.Update(ctx, c.As, c.Project, c.WasRequest.IID, c.Request)
	case c.Was != nil && asked(c.Issue):
		_, err = s.Issues.Update(ctx, c.As, c.Project, c.Was.IID, c.Issue)
	}
	if err != nil {
		return err
	}
	var all []error
	for _, do := range c.after {
		all = append(all, do(ctx))
	}
	return errors.Join(all...)
}

// asked reports whether commands ask for changes: those that leave everything alone are zero.
func asked(changes any) bool { return !reflect.ValueOf(changes).IsZero() }
