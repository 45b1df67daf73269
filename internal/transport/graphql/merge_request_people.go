package graphql

import (
	"context"
	"slices"

	"tenon/internal/base/page"
	"tenon/internal/core/account"
	"tenon/internal/core/approval"
	"tenon/internal/core/authz"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/noteable"
	"tenon/internal/transport/graphql/exec"
)

// party is a user as the author, an assignee, a reviewer or a participant of a merge request.
type party struct {
	*user
	of *mergerequest.View
}

// parties makes such users of those that a merge request holds.
func parties(m *mergerequest.View, users []*account.Summary) []*party {
	out := make([]*party, len(users))
	for i, u := range users {
		out[i] = &party{u, m}
	}
	return out
}

// requestParties binds the types of users that have to do with a merge request. It comes before what
// users are in general.
func (b *binder) requestParties() {
	for _, typ := range []string{"MergeRequestAuthor", "MergeRequestAssignee", "MergeRequestReviewer", "MergeRequestParticipant"} {
		exec.Extend(b.Schema, typ, func(p *party) *user { return p.user })
		value(b, typ+".mergeRequestInteraction", func(p *party) *party { return p })
	}
	for _, typ := range []string{"MergeRequestAssignee", "MergeRequestReviewer", "MergeRequestParticipant"} {
		exec.Connection[*party](b.Schema, typ)
	}
	value(b, "MergeRequest.author", func(m *mergerequest.View) *party {
		if m.Author == nil {
			return nil
		}
		return &party{m.Author, m}
	})
	kept(b, "MergeRequest.assignees", func(m *mergerequest.View) []*party { return parties(m, m.Assignees) })
	kept(b, "MergeRequest.reviewers", func(m *mergerequest.View) []*party { return parties(m, m.Reviewers) })
	exec.Batch(b.Schema, "MergeRequest.participants", func(ctx context.Context, c *exec.Call[paging], of []*mergerequest.View) ([]*exec.Page[*party], error) {
		type row struct {
			id authz.UserID
			of *mergerequest.View
		}
		return lists(ctx, part(b, c, c.Args, maxPage), of, func(ctx context.Context, m *mergerequest.View, r page.Range) (page.Page[row], error) {
			found, err := b.Subscriptions.Participants(ctx, c.As, requestRef(m), m.Project.Subject(), r)
			return page.Map(found, func(id *authz.UserID) row { return row{*id, m} }), err
		}, func(ctx context.Context, rows []row) ([]*party, error) {
			ids := make([]authz.UserID, len(rows))
			for i, r := range rows {
				ids[i] = r.id
			}
			people, err := b.Accounts.ByIDs(ctx, ids)
			out := make([]*party, len(rows))
			for i, r := range rows {
				if u := people[r.id]; u != nil {
					out[i] = &party{u, r.of}
				}
			}
			return out, err
		})
	})
	b.interactions()
}

// interactions binds what a user may do with a merge request and has done.
func (b *binder) interactions() {
	may := func(field string, of func(p mergerequest.Party) bool) {
		exec.Batch(b.Schema, "UserMergeRequestInteraction."+field, func(ctx context.Context, c *exec.Call[exec.None], list []*party) ([]bool, error) {
			found, err := partiesOf(ctx, b, c, list)
			out := make([]bool, len(found))
			for i, p := range found {
				out[i] = of(p)
			}
			return out, err
		})
	}
	may("canMerge", func(p mergerequest.Party) bool { return p.Merge })
	may("canUpdate", func(p mergerequest.Party) bool { return p.Update })
	value(b, "UserMergeRequestInteraction.reviewState", func(p *party) *string { return text(p.of.Reviews[p.ID]) })
	value(b, "UserMergeRequestInteraction.reviewed", func(p *party) bool { return mergerequest.HasReviewed(p.of.Reviews[p.ID]) })
	exec.Batch(b.Schema, "UserMergeRequestInteraction.approved", func(ctx context.Context, c *exec.Call[exec.None], list []*party) ([]bool, error) {
		states, err := approvals(ctx, b, c, ofParties(list))
		out := make([]bool, len(list))
		for i, st := range states {
			out[i] = st.Approver(list[i].ID) != nil
		}
		return out, err
	})
	exec.Batch(b.Schema, "UserMergeRequestInteraction.applicableApprovalRules", func(ctx context.Context, c *exec.Call[exec.None], list []*party) ([][]*ruling, error) {
		states, err := approvals(ctx, b, c, ofParties(list))
		out := make([][]*ruling, len(list))
		for i, st := range states {
			out[i] = rulings(list[i].of, st, func(r *approval.RuleState) bool { return slices.Contains(r.Approvers, list[i].ID) })
		}
		return out, err
	})
}

func ofParties(list []*party) []*mergerequest.View {
	out := make([]*mergerequest.View, len(list))
	for i, p := range list {
		out[i] = p.of
	}
	return out
}

// partiesOf reads what users may do with merge requests, each pair of them once.
func partiesOf[A any](ctx context.Context, b *binder, c *exec.Call[A], list []*party) ([]mergerequest.Party, error) {
	type pair struct {
		request mergerequest.ID
		user    authz.UserID
	}
	key := func(p *party) pair { return pair{p.of.ID, p.ID} }
	byKey := make(map[pair]*party, len(list))
	for _, p := range list {
		byKey[key(p)] = p
	}
	return exec.LoadEach(ctx, c, "parties of merge requests", list, key, func(ctx context.Context, keys []pair) (map[pair]mergerequest.Party, error) {
		found := make([]mergerequest.Party, len(keys))
		err := b.Together(ctx, len(keys), func(ctx context.Context, i int) (err error) {
			found[i], err = b.MergeRequests.Party(ctx, byKey[keys[i]].of, keys[i].user)
			return err
		})
		out := make(map[pair]mergerequest.Party, len(keys))
		for i, k := range keys {
			out[k] = found[i]
		}
		return out, err
	})
}

// usersIn answers a connection of users: ids gives those of each parent.
func usersIn[P any](b *binder, field string, ids func(ctx context.Context, as authz.Actor, parents []P) ([][]authz.UserID, error)) {
	exec.Batch(b.Schema, field, func(ctx context.Context, c *exec.Call[paging], of []P) ([]*exec.Page[*user], error) {
		lists, err := ids(ctx, c.As, of)
		if err != nil {
			return nil, err
		}
		return b.userPages(ctx, c.Args, lists)
	})
}

// usersOf is usersIn for parents that hold the ids.
func usersOf[P any](b *binder, field string, ids func(parent P) []authz.UserID) {
	usersIn(b, field, func(_ context.Context, _ authz.Actor, parents []P) ([][]authz.UserID, error) {
		out := make([][]authz.UserID, len(parents))
		for i, p := range parents {
			out[i] = ids(p)
		}
		return out, nil
	})
}

// userPages returns the part of each list of users that a field asks for.
func (b *binder) userPages(ctx context.Context, p paging, lists [][]authz.UserID) ([]*exec.Page[*user], error) {
	people, err := b.peopleIn(ctx, lists)
	out := make([]*exec.Page[*user], len(lists))
	for i := range lists {
		if err == nil {
			out[i], err = listOf(p, maxPage, people[i])
		}
	}
	return out, err
}

// peopleIn returns the users of lists of ids, without those who are gone.
func (b *binder) peopleIn(ctx context.Context, lists [][]authz.UserID) ([][]*user, error) {
	people, err := b.Accounts.ByIDs(ctx, slices.Concat(lists...))
	out := make([][]*user, len(lists))
	for i, ids := range lists {
		out[i] = []*user{}
		for _, id := range ids {
			if u := people[id]; u != nil {
				out[i] = append(out[i], u)
			}
		}
	}
	return out, err
}

// commentersOf binds the users who commented on things of one type.
func commentersOf[P any](b *binder, typ string, ref func(thing P) noteable.Ref) {
	usersIn(b, typ+".commenters", func(ctx context.Context, as authz.Actor, things []P) ([][]authz.UserID, error) {
		refs := make([]noteable.Ref, len(things))
		for i, thing := range things {
			refs[i] = ref(thing)
		}
		found, err := b.Notes.Commenters(ctx, as, refs)
		out := make([][]authz.UserID, len(refs))
		for i, on := range refs {
			out[i] = found[on]
		}
		return out, err
	})
}
