package project_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
)

func TestService_List(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ctx, ann, bob := t.Context(), f.user("ann", 10), f.user("bob", 10)
		g := f.group(ann, "team", authz.Public)
		sub, err := f.spaces.Create(ctx, ann, namespace.GroupInput{ParentID: &g.ID, GroupChanges: namespace.GroupChanges{
			Name: ptr("sub"), Path: ptr("sub"), Visibility: ptr(authz.Public),
		}})
		if err != nil {
			t.Fatal(err)
		}
		f.add(ann, sub, bob, authz.Developer)
		one, two := f.project(ann, "one", g, authz.Public), f.project(ann, "two", sub, authz.Private)
		three, four := f.project(bob, "three", nil, authz.Public), f.project(ann, "four", nil, authz.Internal)
		topics := make([]string, 1500)
		for i := range topics {
			topics[i] = fmt.Sprint("t", i)
		}
		if _, err := f.Update(ctx, ann, fmt.Sprint(one.ID), project.Changes{Attributes: project.Attributes{Description: ptr("Über alles")}, Topics: &[]string{"go", "web"}, Features: map[string]string{"issues": "private"}}); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Archive(ctx, bob, fmt.Sprint(three.ID)); err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			name   string
			as     authz.Actor
			filter project.Filter
			want   []*project.Project
		}{
			{"newest first", bob, project.Filter{}, []*project.Project{four, three, two, one}},
			{"by name", bob, project.Filter{OrderBy: "name", Asc: true}, []*project.Project{four, one, three, two}},
			{"membership", bob, project.Filter{Membership: true}, []*project.Project{three, two}},
			{"owned", bob, project.Filter{Owned: true}, []*project.Project{three}},
			{"least level", ann, project.Filter{MinLevel: authz.Maintainer}, []*project.Project{four, two, one}},
			{"group", ann, project.Filter{Parent: &g.ID}, []*project.Project{one}},
			{"group and below", ann, project.Filter{Parent: &g.ID, Subgroups: true}, []*project.Project{two, one}},
			{"subgroup and above", ann, project.Filter{Parent: &sub.ID, Ancestors: true}, []*project.Project{two, one}},
			{"archived", ann, project.Filter{Archived: ptr(true)}, []*project.Project{three}},
			{"active", ann, project.Filter{Active: ptr(true)}, []*project.Project{four, two, one}},
			{"visibility", ann, project.Filter{Visibility: ptr(authz.Private)}, []*project.Project{two}},
			{"topics", ann, project.Filter{Topics: []string{"go", "web"}}, []*project.Project{one}},
			{"a topic twice", ann, project.Filter{Topics: []string{"go", "GO", "web", "go"}}, []*project.Project{one}},
			{"topics without end", ann, project.Filter{Topics: topics}, nil},
			{"another topic", ann, project.Filter{Topics: []string{"go", "eb"}}, nil},
			{"search in the description", ann, project.Filter{Search: "ÜBER"}, []*project.Project{one}},
			{"search in namespaces", ann, project.Filter{Search: "team/", SearchNamespaces: true}, []*project.Project{two, one}},
			{"no wildcards", ann, project.Filter{Search: "%"}, nil},
			{"issues for a stranger", bob, project.Filter{Issues: true}, []*project.Project{four, three, two}},
			{"issues for a member", ann, project.Filter{Issues: true, Parent: &g.ID}, []*project.Project{one}},
			{"after an id", ann, project.Filter{IDAfter: two.ID}, []*project.Project{four, three}},
			{"before an id", ann, project.Filter{IDBefore: two.ID}, []*project.Project{one}},
			{"used at a time or later", ann, project.Filter{ActiveAfter: &f.today}, []*project.Project{four, three, two, one}},
			{"used at a time or earlier", ann, project.Filter{ActiveBefore: &f.today}, []*project.Project{four, three, two, one}},
			{"used before", ann, project.Filter{ActiveBefore: ptr(f.today.Add(-time.Hour))}, nil},
		} {
			tt.filter.Limit = 10
			found, err := f.List(ctx, tt.as, tt.filter)
			list, total := found.Items, found.Total
			var got, want []string
			for _, p := range list {
				got = append(got, p.Path)
			}
			for _, p := range tt.want {
				want = append(want, p.Path)
			}
			if err != nil || total != len(want) || !slices.Equal(got, want) {
				t.Errorf("%s: got %v of %d, %v, want %v", tt.name, got, total, err, want)
			}
		}
		_, err = f.List(ctx, ann, project.Filter{UpdatedAfter: &f.today, Range: page.Range{Limit: 1}})
		wantError(t, err, errs.BadRequest, "a list narrowed by the last change is sorted by it too")
		for _, part := range []struct{ limit, offset, rows int }{{1, 0, 1}, {1, 1, 1}, {1, 2, 0}} {
			found, err := f.List(ctx, bob, project.Filter{Membership: true, Range: page.Range{Limit: part.limit, Offset: part.offset}})
			list, total := found.Items, found.Total
			if err != nil || len(list) != part.rows || total != 2 {
				t.Errorf("own projects from %d: got %d of %d, %v, want %d of 2", part.offset, len(list), total, err, part.rows)
			}
		}
		for _, count := range []struct {
			filter project.Filter
			want   int
		}{{project.Filter{Range: page.Range{Limit: 1}}, 2}, {project.Filter{Range: page.Range{Limit: 10}}, 2}, {project.Filter{Membership: true, Range: page.Range{Limit: 10}}, 1}} {
			if n := dbtest.Count(t, f.db, func() { _, _ = f.List(ctx, bob, count.filter) }); n != count.want {
				t.Errorf("List of %+v takes %d statements, want %d", count.filter, n, count.want)
			}
		}
	})
}

// TestService_List_short looks for less than three letters, which are no part of a longer text.
func TestService_List_short(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ann := f.user("ann", 10)
		g := f.group(ann, "ab", authz.Public)
		short, long := f.project(ann, "ab", nil, authz.Public), f.project(ann, "cabs", nil, authz.Public)
		described := f.project(ann, "other", g, authz.Public)
		if _, err := f.Update(t.Context(), ann, fmt.Sprint(described.ID), project.Changes{Attributes: project.Attributes{Description: ptr("\u00c4B")}}); err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			filter project.Filter
			want   []project.ID
		}{
			{project.Filter{Search: "AB"}, []project.ID{short.ID}},
			{project.Filter{Search: " b "}, nil},
			{project.Filter{Search: "\u00e4b"}, []project.ID{described.ID}},
			{project.Filter{Search: "cab"}, []project.ID{long.ID}},
			{project.Filter{Search: "ab", SearchNamespaces: true}, []project.ID{short.ID}},
			{project.Filter{Search: "ab/", SearchNamespaces: true}, []project.ID{described.ID}},
		} {
			tt.filter.Limit = 10
			found, err := f.List(t.Context(), ann, tt.filter)
			var got []project.ID
			for _, p := range found.Items {
				got = append(got, p.ID)
			}
			if err != nil || !slices.Equal(got, tt.want) {
				t.Errorf("%+v: got %v, %v, want %v", tt.filter, got, err, tt.want)
			}
		}
	})
}
