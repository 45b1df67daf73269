package graphql

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"tenon/internal/base/errs"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
	"tenon/internal/core/todo"
	"tenon/internal/transport/graphql/exec"
)

// todos binds the to-do items of the caller.
func (b *binder) todos() {
	exec.Root(b.Schema, "todo", func(ctx context.Context, c *exec.Call[struct{ ID globalID }]) (*todo.Todo, error) {
		return byID(ctx, c.As, c.Args.ID, b.Todos.ByIDs)
	})
	value(b, "Todo.id", func(t *todo.Todo) string { return gid("Todo", t.ID) })
	value(b, "Todo.targetType", func(t *todo.Todo) string { return strings.ToUpper(string(t.Kind)) })
	one(b, "Todo.author", "users", func(t *todo.Todo) authz.UserID { return t.AuthorID }, b.usersByIDs)
	one(b, "Todo.project", "projects", func(t *todo.Todo) project.ID { return zeroOr(t.ProjectID) }, b.Projects.ByIDs)
	one(b, "Todo.group", "groups", (*todo.Todo).InGroup, b.Namespaces.ByIDs)
	b.todoTargets()
	exec.Struct[*todo.Todo](b.Schema, "Todo")
	exec.Connection[*todo.Todo](b.Schema, "Todo")
	b.todoLists()
	b.todoMutations()
}

// todoTargets binds what to-do items are about.
func (b *binder) todoTargets() {
	exec.Batch(b.Schema, "Todo.target", func(ctx context.Context, c *exec.Call[exec.None], of []*todo.Todo) ([]any, error) {
		found, err := exec.LoadEach(ctx, c, "targets", of, (*todo.Todo).Target, func(ctx context.Context, refs []noteable.Ref) (map[noteable.Ref]*target, error) {
			return b.targets(ctx, c.As, refs)
		})
		if err != nil {
			return nil, err
		}
		places, err := b.todoPlaces(ctx, c, of)
		if err != nil {
			return nil, err
		}
		commits, err := exec.LoadEach(ctx, c, "commits of to-do items", of, func(t *todo.Todo) noteable.Ref {
			if t.Kind != noteable.Commit {
				return noteable.Ref{}
			}
			return t.Target()
		}, func(ctx context.Context, refs []noteable.Ref) (map[noteable.Ref]*commit, error) {
			return b.todoCommits(ctx, c.As, refs)
		})
		out := make([]any, len(of))
		for i := range of {
			switch out[i] = places[i]; {
			case found[i] != nil:
				out[i] = found[i].value
			case commits[i] != nil:
				out[i] = exec.As("Commit", commits[i])
			}
		}
		return out, err
	}, exec.ReadsGit)
	exec.Batch(b.Schema, "Todo.note", func(ctx context.Context, c *exec.Call[exec.None], of []*todo.Todo) ([]*comment, error) {
		targets, err := exec.LoadEach(ctx, c, "targets", of, (*todo.Todo).Target, func(ctx context.Context, refs []noteable.Ref) (map[noteable.Ref]*target, error) {
			return b.targets(ctx, c.As, refs)
		})
		if err != nil {
			return nil, err
		}
		notes, err := exec.LoadEach(ctx, c, "notes", of, func(t *todo.Todo) note.ID { return note.ID(zeroOr(t.NoteID)) }, func(ctx context.Context, ids []note.ID) (map[note.ID]*note.Note, error) {
			return b.Notes.ByIDs(ctx, c.As, ids)
		})
		if err != nil {
			return nil, err
		}
		out := make([]*comment, len(of))
		var found []*comment
		for i, n := range notes {
			if t := targets[i]; n != nil && t != nil {
				out[i] = &comment{note.View{Note: *n}, t.spot}
				found = append(found, out[i])
			}
		}
		_, err = b.comments(ctx, found)
		return out, err
	})
}

// todoPlaces returns the projects and groups that users ask for access to, nil for to-do items about anything else.
func (b *binder) todoPlaces(ctx context.Context, c *exec.Call[exec.None], of []*todo.Todo) ([]any, error) {
	projects, err := exec.LoadEach(ctx, c, "projects", of, todoPlace[project.ID](todo.OfProject), func(ctx context.Context, ids []project.ID) (map[project.ID]*project.Project, error) {
		return b.Projects.ByIDs(ctx, c.As, ids)
	})
	if err != nil {
		return nil, err
	}
	groups, err := exec.LoadEach(ctx, c, "groups", of, todoPlace[namespace.ID](todo.OfGroup), func(ctx context.Context, ids []namespace.ID) (map[namespace.ID]*namespace.Group, error) {
		return b.Namespaces.ByIDs(ctx, c.As, ids)
	})
	out := make([]any, len(of))
	for i := range of {
		switch {
		case projects[i] != nil:
			out[i] = exec.As("Project", projects[i])
		case groups[i] != nil:
			out[i] = exec.As("Group", groups[i])
		}
	}
	return out, err
}

// todoCommits reads the commits that to-do items are about, where the caller may read the code.
func (b *binder) todoCommits(ctx context.Context, as authz.Actor, refs []noteable.Ref) (map[noteable.Ref]*commit, error) {
	ids := make([]repo.CommitID, 0, len(refs))
	var places []project.ID
	for _, ref := range refs {
		id, err := gitstore.ParseObjectID(ref.Commit)
		if err != nil {
			return nil, err
		}
		ids, places = append(ids, repo.CommitID{Project: project.ID(ref.Project), ID: id}), append(places, project.ID(ref.Project))
	}
	found, err := b.Repos.CommitsByIDs(ctx, as, ids)
	if err != nil {
		return nil, err
	}
	projects, err := b.Projects.ByIDs(ctx, as, places)
	out := make(map[noteable.Ref]*commit, len(refs))
	for i, ref := range refs {
		if c, p := found[ids[i]], projects[ids[i].Project]; c != nil && p != nil {
			out[ref] = &commit{c, p}
		}
	}
	return out, err
}

// todoPlace returns the id of what a to-do item is about, 0 where that is of another kind.
func todoPlace[T ~int64](kind noteable.Kind) func(t *todo.Todo) T {
	return func(t *todo.Todo) T {
		if t.Kind != kind {
			return 0
		}
		return T(t.TargetID)
	}
}

// todoFilter is the arguments of the list of all to-do items.
type todoFilter struct {
	paging
	Action, State, Type          []string
	AuthorID, GroupID, ProjectID []string
}

func (a todoFilter) filter(kinds map[string]noteable.Kind) (todo.Filter, error) {
	f := todo.Filter{Actions: lower[todo.Action](a.Action)}
	if len(a.State) == 1 {
		f.State = todo.State(a.State[0])
	}
	for _, t := range a.Type {
		f.Kinds = append(f.Kinds, kinds[t])
	}
	var err error
	if f.Authors, err = idsOf[authz.UserID]("User", a.AuthorID); err != nil {
		return f, err
	}
	if f.Groups, err = idsOf[authz.NamespaceID]("Group", a.GroupID); err != nil {
		return f, err
	}
	f.Projects, err = idsOf[project.ID]("Project", a.ProjectID)
	return f, err
}

// todoKinds are the kinds of what to-do items are about, by the enum. Nothing is about work items:
// they are issues.
func (b *binder) todoKinds() map[string]noteable.Kind {
	out := map[string]noteable.Kind{"COMMIT": noteable.Commit, "NAMESPACE": todo.OfGroup, "PROJECT": todo.OfProject, "WORKITEM": "WorkItem"}
	for _, kind := range b.targetKinds {
		out[kind.enum] = kind.kind
	}
	return out
}

func (b *binder) todoLists() {
	exec.Batch(b.Schema, "User.todos", func(ctx context.Context, c *exec.Call[todoFilter], of []*user) ([]*exec.Page[*todo.Todo], error) {
		f, err := c.Args.filter(b.todoKinds())
		if err != nil {
			return nil, err
		}
		return lists(ctx, part(b, c, c.Args.paging, maxPage), of, func(ctx context.Context, u *user, r page.Range) (page.Page[*todo.Todo], error) {
			f := f
			f.UserID, f.Range = u.ID, r
			found, err := b.Todos.List(ctx, c.As, f)
			return page.Pointers(found), err
		}, same)
	})
	todosOn(b, "MergeRequest", requestRef)
	todosOn(b, "Epic", epicRefOf)
}

// todosOn binds the to-do items of the caller about things of one type.
func todosOn[P any](b *binder, typ string, ref func(thing P) noteable.Ref) {
	exec.Batch(b.Schema, typ+".currentUserTodos", func(ctx context.Context, c *exec.Call[struct {
		paging
		State *string
	}], of []P,
	) ([]*exec.Page[*todo.Todo], error) {
		refs := make([]noteable.Ref, len(of))
		for i, thing := range of {
			refs[i] = ref(thing)
		}
		found, err := b.Todos.On(ctx, c.As, refs, todo.State(zeroOr(c.Args.State)))
		if err = hidden(err); err != nil {
			return nil, err
		}
		out := make([]*exec.Page[*todo.Todo], len(of))
		for i, r := range refs {
			if out[i], err = listOf(c.Args.paging, maxPage, found[r]); err != nil {
				return nil, err
			}
		}
		return out, nil
	})
}

// maxTodos is how many to-do items one request restores, or shows of those that it marks.
const maxTodos = 100

const errTooManyTodos argumentError = "Too many to-do items requested."

// todoList is the payload of mutations of several to-do items.
type todoList struct{ Todos []*todo.Todo }

func (b *binder) todoMutations() {
	type payload struct{ Todo *todo.Todo }
	exec.Mutation(b.Schema, "todoCreate", func(ctx context.Context, c *exec.Call[struct{ TargetID globalID }]) (payload, error) {
		t, ref, err := b.targetOf(ctx, c.As, c.Args.TargetID)
		if err != nil {
			return payload{}, err
		}
		made, err := b.Todos.Add(ctx, c.As, t.On())
		if errs.Is(err, errs.NotModified) { // it waits already
			var waiting page.Page[todo.Todo]
			waiting, err = b.Todos.List(ctx, c.As, todo.Filter{On: ref, State: todo.Pending, Range: page.Range{Limit: 1, Uncounted: true}})
			if len(waiting.Items) > 0 {
				made = &waiting.Items[0]
			}
		}
		return payload{made}, err
	})
	exec.Mutation(b.Schema, "todoMarkDone", func(ctx context.Context, c *exec.Call[struct{ ID globalID }]) (payload, error) {
		t, err := b.Todos.MarkDone(ctx, c.As, todo.ID(c.Args.ID.ID))
		return payload{t}, err
	})
	exec.Mutation(b.Schema, "todoRestore", func(ctx context.Context, c *exec.Call[struct{ ID globalID }]) (payload, error) {
		restored, err := b.Todos.Restore(ctx, c.As, numbers[todo.ID]([]globalID{c.Args.ID}))
		if err != nil || len(restored) == 0 {
			return payload{}, missingOr(err)
		}
		if restored[0].State != todo.Pending {
			err = errs.Sentences(errs.Conflict, "Another to-do item about the same target is pending")
		}
		return payload{restored[0]}, err
	})
	exec.Mutation(b.Schema, "todoRestoreMany", func(ctx context.Context, c *exec.Call[struct{ IDs []globalID }]) (todoList, error) {
		if len(c.Args.IDs) > maxTodos {
			return todoList{}, errTooManyTodos
		}
		restored, err := b.Todos.Restore(ctx, c.As, numbers[todo.ID](c.Args.IDs))
		return todoList{restored}, err
	})
	exec.Mutation(b.Schema, "todosMarkAllDone", func(ctx context.Context, c *exec.Call[struct{ TargetID *globalID }]) (todoList, error) {
		var on noteable.Ref
		if c.Args.TargetID != nil {
			var err error
			if _, on, err = b.targetOf(ctx, c.As, *c.Args.TargetID); err != nil {
				return todoList{}, err
			}
		}
		ids, err := b.Todos.MarkDoneOn(ctx, c.As, on)
		if err != nil {
			return todoList{}, err
		}
		return b.doneTodos(ctx, c.As, ids)
	})
}

// doneTodos returns the latest of to-do items that were marked.
func (b *binder) doneTodos(ctx context.Context, as authz.Actor, ids []todo.ID) (todoList, error) {
	slices.SortFunc(ids, func(a, b todo.ID) int { return cmp.Compare(b, a) })
	ids = ids[:min(len(ids), maxTodos)]
	found, err := b.Todos.ByIDs(ctx, as, ids)
	out := todoList{Todos: []*todo.Todo{}}
	for _, id := range ids {
		if t := found[id]; t != nil {
			out.Todos = append(out.Todos, t)
		}
	}
	return out, err
}
