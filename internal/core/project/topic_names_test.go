package project_test

import (
	"fmt"
	"slices"
	"testing"

	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// Topics are renamed, merged and deleted in what projects show, wherever they stand there
// and however much others look like them.
func TestService_UpdateTopic_changes_no_other(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ctx, ann := t.Context(), f.user("ann", 10)
		lookalikes := []string{`a"old`, `,"old"`, `["old"`, `old\`, `\`, `old,`, `"old",x`, `<old>`, `old"`, `]`, `,`}
		var places []*project.Project
		for at := range 3 {
			p := f.project(ann, fmt.Sprint("p", at), nil, authz.Public)
			names := slices.Insert(slices.Clone(lookalikes), []int{0, 5, len(lookalikes)}[at], "old")
			if _, err := f.Update(ctx, ann, fmt.Sprint(p.ID), project.Changes{Topics: &names}); err != nil {
				t.Fatal(err)
			}
			places = append(places, p)
		}
		alone := f.project(ann, "alone", nil, authz.Public)
		if _, err := f.Update(ctx, ann, fmt.Sprint(alone.ID), project.Changes{Topics: &[]string{"old"}}); err != nil {
			t.Fatal(err)
		}
		topic := func(name string) *project.Topic {
			t.Helper()
			found, err := f.ListTopics(ctx, ann, project.TopicFilter{Range: page.Range{Limit: 100}})
			list := found.Items
			if err != nil {
				t.Fatal(err)
			}
			for i := range list {
				if list[i].Name == name {
					return &list[i]
				}
			}
			t.Fatalf("there is no topic %q", name)
			return nil
		}
		shown := func(what, name string) {
			t.Helper()
			for at, p := range append(places, alone) {
				want, place := slices.Clone(lookalikes), []int{0, 5, len(lookalikes), 0}[at]
				if at == len(places) {
					want = []string{}
				}
				if name != "" {
					want = slices.Insert(want, place, name)
				}
				got, err := f.FindByID(ctx, ann, p.ID)
				if err != nil || !slices.Equal(got.Topics(), want) {
					t.Errorf("%s, project %d: got %q, %v, want %q", what, at, got.Topics(), err, want)
				}
			}
		}
		shown("at first", "old")
		if _, err := f.UpdateTopic(ctx, f.admin, topic("old").ID, project.TopicChanges{Name: ptr(`n"e\w`)}); err != nil {
			t.Fatal(err)
		}
		shown("renamed", `n"e\w`)
		other := f.project(ann, "other", nil, authz.Public)
		if _, err := f.Update(ctx, ann, fmt.Sprint(other.ID), project.Changes{Topics: &[]string{"x", `n"e\w`, "into"}}); err != nil {
			t.Fatal(err)
		}
		if _, err := f.MergeTopics(ctx, f.admin, topic(`n"e\w`).ID, topic("into").ID); err != nil {
			t.Fatal(err)
		}
		shown("merged", "into")
		if got, err := f.FindByID(ctx, ann, other.ID); err != nil || !slices.Equal(got.Topics(), []string{"x", "into"}) {
			t.Errorf("who had both: %q, %v", got.Topics(), err)
		}
		if err := f.DeleteTopic(ctx, f.admin, topic("into").ID); err != nil {
			t.Fatal(err)
		}
		shown("deleted", "")
	})
}
