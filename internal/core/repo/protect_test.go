package repo_test

import (
	"fmt"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/protection"
	"tenon/internal/core/repo"
)

func role(l authz.Level) protection.LevelInput { return protection.LevelInput{Level: &l} }

func user(as authz.Actor) protection.LevelInput { return protection.LevelInput{UserID: &as.UserID} }

// shape writes the levels of a rule as "push:40 merge:user".
func shape(r *protection.Rule) string {
	var parts []string
	for _, l := range r.Levels {
		who := "user"
		switch {
		case l.GroupID != nil:
			who = "group"
		case l.Level != nil:
			who = itoa(int64(*l.Level))
		}
		parts = append(parts, l.Action+":"+who)
	}
	return strings.Join(parts, " ")
}

// Who may merge into a branch to be may create it through the API, of commits that
// stand in a protected branch already.
func TestService_Judge_newProtectedBranch(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.put("main", "a", "a\n")
		w.put("side", "b", "b\n")
		p := w.as(w.owner)
		_, err := w.protections.ProtectBranch(ctx, w.owner, p, protection.Input{Name: "r-*", Merge: []protection.LevelInput{role(30)}})
		check(t, err)
		_, err = w.protections.ProtectBranch(ctx, w.owner, p, protection.Input{Name: "m-*"})
		check(t, err)
		dev := w.as(w.developer)
		_, err = w.repos.CreateBranch(ctx, w.developer, dev, "m-1", "main")
		wants(t, err, errs.Invalid, "You are not allowed to create protected branches on this project.")
		_, err = w.repos.CreateBranch(ctx, w.developer, dev, "r-1", "side")
		wants(t, err, errs.Invalid, "You are not allowed to create protected branches on this project.")
		b, err := w.repos.CreateBranch(ctx, w.developer, dev, "r-1", "main")
		check(t, err)
		if !b.Protected || b.CanPush || !b.DevelopersCanMerge || b.DevelopersCanPush {
			t.Errorf("got %+v", b)
		}
		change := repo.RefChange{Ref: ref(t, "refs/heads/r-2"), New: b.Tip.ID}
		err = w.repos.Judge(ctx, w.developer, dev, repo.ByPush, w.open(), []repo.RefChange{change})
		wants(t, err, errs.Forbidden, "You can only create protected branches using the web interface and API.")
	})
}

func TestService_ProtectTag(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.put("main", "a", "a\n")
		tip := w.put("main", "b", "b\n").ID
		p := w.as(w.maintainer)
		_, err := w.protections.ProtectTag(ctx, w.developer, w.as(w.developer), "v*", nil)
		wants(t, err, errs.Forbidden, "")
		_, err = w.protections.ProtectedTags(ctx, w.developer, w.as(w.developer), page.Range{})
		wants(t, err, errs.Forbidden, "")
		rule, err := w.protections.ProtectTag(ctx, w.maintainer, p, "v*", nil)
		check(t, err)
		if got := shape(rule); got != "create:40" {
			t.Errorf("made %s", got)
		}
		_, err = w.protections.ProtectTag(ctx, w.maintainer, p, "v*", nil)
		wants(t, err, errs.Unprocessable, "Name has already been taken")
		_, err = w.protections.ProtectTag(ctx, w.maintainer, p, "vip", []protection.LevelInput{user(w.developer)})
		check(t, err)

		dev := w.as(w.developer)
		_, err = w.repos.CreateTag(ctx, w.developer, dev, "v1", "main", "")
		wants(t, err, errs.Invalid, "You are not allowed to create this tag as it is protected.")
		made, err := w.repos.CreateTag(ctx, w.developer, dev, "vip", "main", "")
		check(t, err)
		if !made.Protected {
			t.Error("a protected tag is shown as free")
		}
		_, err = w.repos.CreateTag(ctx, w.developer, dev, "free", "main", "")
		check(t, err)
		_, err = w.repos.CreateTag(ctx, w.maintainer, p, "v1", "main", "")
		check(t, err)

		zero, old := gitstore.ObjectID{}, w.put("main", "c", "c\n").ID
		for _, tt := range []struct {
			name     string
			who      authz.Actor
			source   repo.Source
			ref      string
			old, new gitstore.ObjectID
			want     string
		}{
			{"developer creates", w.developer, repo.ByPush, "v2", zero, tip, "You are not allowed to create this tag as it is protected."},
			{"maintainer creates", w.maintainer, repo.ByPush, "v2", zero, tip, ""},
			{"developer moves", w.developer, repo.ByPush, "v1", tip, old, "You are not allowed to change existing tags on this project."},
			{"maintainer moves", w.maintainer, repo.ByPush, "v1", tip, old, "Protected tags cannot be updated."},
			{"maintainer moves a free one", w.maintainer, repo.ByPush, "free", tip, old, ""},
			{"developer deletes by git", w.developer, repo.ByPush, "free", tip, zero, "You are not allowed to change existing tags on this project."},
			{"maintainer deletes by git", w.maintainer, repo.ByPush, "v1", tip, zero, "You can only delete protected tags using the web interface."},
			{
				"developer deletes by API", w.developer, repo.ByAPI, "v1", tip, zero,
				"You are not allowed to delete protected tags from this project. Only a project maintainer or owner can delete a protected tag.",
			},
			{"developer deletes a free one by API", w.developer, repo.ByAPI, "free", tip, zero, ""},
			{"maintainer deletes by API", w.maintainer, repo.ByAPI, "v1", tip, zero, ""},
		} {
			err := w.repos.Judge(ctx, tt.who, w.as(tt.who), tt.source, w.open(), []repo.RefChange{{Ref: ref(t, "refs/tags/"+tt.ref), Old: tt.old, New: tt.new}})
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || err.Error() != tt.want) {
				t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
			}
		}
		wants(t, w.repos.DeleteTag(ctx, w.developer, dev, "v1"), errs.Invalid, "")
		check(t, w.protections.UnprotectTag(ctx, w.maintainer, p, "v*"))
		wants(t, w.protections.UnprotectTag(ctx, w.maintainer, p, "v*"), errs.NotFound, "")
		check(t, w.repos.DeleteTag(ctx, w.developer, dev, "v1"))
	})
}

// The group's default protection goes before the instance's.
func TestService_defaultProtection(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		for want, set := range map[string]any{
			"": 0, "push:30 merge:40": 1, "push:40 merge:40": nil, "push:40 merge:30": 3,
		} {
			w.id = w.Project("group/p"+strings.NewReplacer(":", "-", " ", "-").Replace(want), authz.Private, w.as(w.owner).ParentID)
			w.Join(w.id, w.owner, authz.Owner)
			_, err := w.DB.Exec(ctx, "UPDATE groups SET default_branch_protection = ? WHERE namespace_id = ?", set, w.as(w.owner).ParentID)
			check(t, err)
			w.put("main", "a", "a\n")
			rules, err := w.protections.Rules(ctx, w.id)
			check(t, err)
			got := ""
			if len(rules) == 1 {
				got = shape(rules[0])
			}
			if got != want {
				t.Errorf("protection %v: got %q, want %q", set, got, want)
			}
		}
	})
}

// What a group says in detail goes before its number.
func TestService_defaultProtection_words(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		group := w.as(w.owner).ParentID
		content := "a"
		for i, tt := range []struct {
			words, want string
			developer   bool // may push first
			force       bool
		}{
			{`{}`, "push:40 merge:40", false, false},
			{`{"allowed_to_push":[{"access_level":30}],"allow_force_push":true,"allowed_to_merge":[{"access_level":30}]}`, "", true, false},
			{`{"allowed_to_push":[{"access_level":30}],"allow_force_push":true,"allowed_to_merge":[{"access_level":40}]}`, "push:30 merge:40", true, true},
			{`{"allowed_to_push":[{"access_level":0}],"allowed_to_merge":[{"access_level":30},{"access_level":60}]}`, "push:0 merge:30 merge:60", false, false},
			{`{"allowed_to_push":[],"developer_can_initial_push":true}`, "push:0 merge:0", true, false},
		} {
			w.id = w.Project(fmt.Sprintf("group/words-%d", i), authz.Private, group)
			w.Join(w.id, w.owner, authz.Owner)
			w.Join(w.id, w.developer, authz.Developer)
			_, err := w.DB.Exec(ctx, "UPDATE groups SET default_branch_protection = NULL, settings = ? WHERE namespace_id = ?",
				`{"default_branch_protection_defaults":`+tt.words+`}`, group)
			check(t, err)
			_, err = w.repos.Commit(ctx, w.developer, w.as(w.developer), repo.CommitInput{
				Branch: "main", Message: "First", Actions: []repo.Action{{Kind: repo.ActionCreate, Path: "a", Content: &content}},
			})
			if (err == nil) != tt.developer {
				t.Errorf("%s: a developer's first commit: %v", tt.words, err)
			}
			if err != nil {
				w.put("main", "a", "a")
			}
			rules, err := w.protections.Rules(ctx, w.id)
			check(t, err)
			got, force := "", false
			if len(rules) == 1 {
				got, force = shape(rules[0]), rules[0].AllowForcePush
			}
			if got != tt.want || force != tt.force {
				t.Errorf("%s: got %q, force %t, want %q, %t", tt.words, got, force, tt.want, tt.force)
			}
		}
	})
}

func TestService_ProtectOne(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.put("main", "a", "a\n")
		w.put("side", "b", "b\n")
		p := w.as(w.maintainer)
		_, err := w.repos.ProtectOne(ctx, w.maintainer, p, "none", nil, nil)
		wants(t, err, errs.NotFound, "Branch not found")
		_, err = w.repos.ProtectOne(ctx, w.developer, w.as(w.developer), "side", nil, nil)
		wants(t, err, errs.Forbidden, "")
		for _, tt := range []struct {
			push, merge *bool
			want        [2]bool
		}{
			{nil, nil, [2]bool{false, false}},
			{ptr(true), nil, [2]bool{true, false}},
			{nil, ptr(true), [2]bool{true, true}},
			{ptr(false), nil, [2]bool{false, true}},
		} {
			b, err := w.repos.ProtectOne(ctx, w.maintainer, p, "side", tt.push, tt.merge)
			check(t, err)
			if got := [2]bool{b.DevelopersCanPush, b.DevelopersCanMerge}; !b.Protected || got != tt.want {
				t.Errorf("got %v of %+v, want %v", got, b, tt.want)
			}
		}
		for range 2 {
			b, err := w.repos.UnprotectOne(ctx, w.maintainer, p, "side")
			check(t, err)
			if b.Protected {
				t.Error("still protected")
			}
		}
		if n, err := db.Get[int](ctx, w.DB, "SELECT COUNT(*) FROM protected_branch_levels l JOIN protected_branches r ON r.id = l.protected_branch_id WHERE r.name = 'side'"); err != nil || n != 0 {
			t.Errorf("%d levels left, %v", n, err)
		}
	})
}
