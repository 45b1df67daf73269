package account_test

import (
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/account"
	"tenon/internal/core/account/accounttest"
	"tenon/internal/core/authz"
)

func TestService_Follow(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := accounttest.New(t, d)
		ctx := t.Context()
		ann, asAnn := h.User("ann")
		bob, asBob := h.User("bob")
		private, asPrivate := h.User("cleo", func(in *account.Input) { in.PrivateProfile = new(true) })
		follow := func(as authz.Actor, id authz.UserID) {
			t.Helper()
			if _, err := h.Follow(ctx, as, id); err != nil {
				t.Fatalf("follow: %v", err)
			}
		}
		follow(asAnn, bob.ID)
		follow(asBob, ann.ID)
		follow(h.Root, ann.ID)
		follow(asPrivate, ann.ID)
		follow(asAnn, private.ID)
		for _, c := range []struct {
			name string
			err  error
			kind errs.Kind
			text string
		}{
			{"twice", second(h.Follow(ctx, asAnn, bob.ID)), errs.NotModified, "not modified"},
			{"oneself", second(h.Follow(ctx, asAnn, ann.ID)), errs.NotModified, "not modified"},
			{"nobody", second(h.Follow(ctx, asAnn, 999)), errs.NotFound, "User not found"},
			{"without a name", second(h.Follow(ctx, authz.Actor{}, ann.ID)), errs.Unauthorized, "unauthorized"},
			{"not followed", second(h.Unfollow(ctx, asBob, bob.ID)), errs.NotModified, "not modified"},
			{"a closed profile", second(h.Followers(ctx, asBob, private.ID, page.Range{})), errs.NotFound, "User not found"},
			{"asked by nobody", second(h.Following(ctx, authz.Actor{}, ann.ID, page.Range{})), errs.Forbidden, "Not authorized!"},
		} {
			t.Run(c.name, func(t *testing.T) { accounttest.WantError(t, c.err, c.kind, c.text) })
		}
		list, err := h.Followers(ctx, asBob, ann.ID, page.Range{Limit: 2, Offset: 1})
		if err != nil || list.Total != 3 {
			t.Fatalf("followers: got %+v, %v, want three", list, err)
		}
		accounttest.SameList(t, "followers", usernames(list.Items), []string{"bob", "cleo"})
		if _, err := h.Block(ctx, h.Root, bob.ID); err != nil {
			t.Fatal(err)
		}
		if list, err = h.Following(ctx, asAnn, ann.ID, page.Range{}); err != nil {
			t.Fatal(err)
		}
		accounttest.SameList(t, "following, without the blocked", usernames(list.Items), []string{"cleo"})
		counts, err := h.CountFollows(ctx, h.Root, []authz.UserID{ann.ID, private.ID, 999})
		if err != nil || counts[ann.ID] != (account.Follows{UserID: ann.ID, Followers: 2, Following: 1, Followed: true}) ||
			counts[private.ID] != (account.Follows{UserID: private.ID, Followers: 1, Following: 1}) || len(counts) != 2 {
			t.Errorf("counts: got %+v, %v", counts, err)
		}
		if _, err := h.Unfollow(ctx, asAnn, private.ID); err != nil {
			t.Fatal(err)
		}
		if list, err = h.Following(ctx, asAnn, ann.ID, page.Range{}); err != nil || list.Total != 0 {
			t.Errorf("following: got %+v, %v, want nobody", list, err)
		}
	})
}

func TestService_Follow_limit(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := accounttest.New(t, d)
		ann, asAnn := h.User("ann")
		bob, _ := h.User("bob")
		if _, err := d.Exec(t.Context(), `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)
			INSERT INTO users (username, username_fold, name, name_fold, state, user_type, admin, auditor, external, private_profile,
				password_hash, password_expired, avatar, bio, public_email, commit_email, skype, linkedin, twitter, discord, website_url,
				organization, job_title, time_zone, theme_id, color_scheme_id, projects_limit, can_create_group, view_diffs_file_by_file,
				show_whitespace_in_diffs, pass_user_identities_to_ci_jwt, sign_in_count, failed_attempts, created_at, updated_at)
			SELECT 'u' || i, 'u' || i, '', '', 'active', 'human', false, false, false, false, '', false, '', '', '', '', '', '', '', '', '',
				'', '', '', 1, 1, 0, false, false, true, false, 0, 0, u.created_at, u.updated_at FROM n, users u WHERE u.id = 1`); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Exec(t.Context(), `INSERT INTO follows (follower_id, followee_id, created_at)
			SELECT CAST(? AS BIGINT), id, created_at FROM users WHERE username LIKE 'u%'`, ann.ID); err != nil {
			t.Fatal(err)
		}
		_, err := h.Follow(t.Context(), asAnn, bob.ID)
		accounttest.WantError(t, err, errs.Invalid, "You can't follow more than 300 users. To follow more users, unfollow some others.")
		if counts, err := h.CountFollows(t.Context(), asAnn, []authz.UserID{ann.ID}); err != nil || counts[ann.ID].Following != 300 {
			t.Errorf("got %+v, %v, want 300 followed", counts, err)
		}
	})
}

// second is the error of a call.
func second[T any](_ T, err error) error { return err }
