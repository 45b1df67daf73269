package account

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
)

// maxFollowed is how many users one may follow.
const maxFollowed = 300

// Follow lets the actor follow a user. NotModified is the answer to a user who does already,
// and where the user is the actor.
func (s *Service) Follow(ctx context.Context, as authz.Actor, id authz.UserID) (*User, error) {
	if err := s.Policy.Require(ctx, as, authz.FollowUser, authz.Subject{}); err != nil {
		return nil, err
	}
	u, err := s.load(ctx, "u.id = ?", id)
	switch {
	case err != nil:
		return nil, err
	case as.Is(u.ID):
		return nil, errs.New(errs.NotModified, "")
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		n, err := db.InsertRow(ctx, s.DB, "follows", db.Values{"follower_id": as.UserID, "followee_id": u.ID, "created_at": s.Now()}, "ON CONFLICT DO NOTHING")
		if err != nil {
			return err
		}
		if n == 0 {
			return errs.New(errs.NotModified, "")
		}
		full := errs.Plain(fmt.Sprintf("You can't follow more than %d users. To follow more users, unfollow some others.", maxFollowed))
		most := db.Bound{Table: "follows", Most: maxFollowed, Full: full}
		most.Of.And("follower_id = ?", as.UserID)
		return s.DB.Room(ctx, most, 0)
	})
	if err != nil {
		return nil, fmt.Errorf("follow user: %w", err)
	}
	return u, nil
}

// Unfollow ends what Follow began; NotModified where it did not begin.
func (s *Service) Unfollow(ctx context.Context, as authz.Actor, id authz.UserID) (*User, error) {
	if err := s.Policy.Require(ctx, as, authz.FollowUser, authz.Subject{}); err != nil {
		return nil, err
	}
	u, err := s.load(ctx, "u.id = ?", id)
	if err != nil {
		return nil, err
	}
	n, err := s.DB.Exec(ctx, "DELETE FROM follows WHERE follower_id = ? AND followee_id = ?", as.UserID, u.ID)
	if err != nil {
		return nil, fmt.Errorf("unfollow user: %w", err)
	}
	if n == 0 {
		return nil, errs.New(errs.NotModified, "")
	}
	return u, nil
}

// Followers returns the active users who follow a user, by their ids. Closed profiles are
// NotFound.
func (s *Service) Followers(ctx context.Context, as authz.Actor, id authz.UserID, r page.Range) (page.Page[*User], error) {
	return s.follows(ctx, as, id, "SELECT follower_id FROM follows WHERE followee_id = ?", r)
}

// Following returns the active users that a user follows, by their ids. Closed profiles are
// NotFound.
func (s *Service) Following(ctx context.Context, as authz.Actor, id authz.UserID, r page.Range) (page.Page[*User], error) {
	return s.follows(ctx, as, id, "SELECT followee_id FROM follows WHERE follower_id = ?", r)
}

func (s *Service) follows(ctx context.Context, as authz.Actor, id authz.UserID, others string, r page.Range) (page.Page[*User], error) {
	none := page.Page[*User]{}
	if err := s.mayRead(ctx, as); err != nil {
		return none, err
	}
	u, err := s.load(ctx, "u.id = ?", id)
	if err != nil {
		return none, err
	}
	if !s.openTo(as, u) {
		return none, errs.Missing("User")
	}
	q := page.Query{Columns: summaryColumns, From: usersTables, Order: page.Order{page.ID("u.id")}}
	q.Where.And("u.state = 'active' AND u.id IN ("+others+")", id)
	list, err := page.Select[User](ctx, s.DB, q, r)
	if err != nil {
		return none, fmt.Errorf("list follows: %w", err)
	}
	return page.Pointers(list), nil
}

// Follows is how many active users follow a user and are followed by them.
type Follows struct {
	UserID    authz.UserID `db:"id"`
	Followers int          `db:"followers"`
	Following int          `db:"following"`
	Followed  bool         `db:"followed"` // by the actor
}

// CountFollows counts for some users in one statement. It asks for no permission: a user who
// shows the figures looks at OpenTo.
func (s *Service) CountFollows(ctx context.Context, as authz.Actor, ids []authz.UserID) (map[authz.UserID]Follows, error) {
	out := make(map[authz.UserID]Follows, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	marks, args := db.Marks(ids)
	rows, err := db.Select[Follows](ctx, s.DB, `SELECT u.id,
		(SELECT COUNT(*) FROM follows f JOIN users o ON o.id = f.follower_id WHERE f.followee_id = u.id AND o.state = 'active') AS followers,
		(SELECT COUNT(*) FROM follows f JOIN users o ON o.id = f.followee_id WHERE f.follower_id = u.id AND o.state = 'active') AS following,
		EXISTS (SELECT 1 FROM follows f WHERE f.followee_id = u.id AND f.follower_id = ?) AS followed
		FROM users u WHERE u.id IN (`+marks+")", append([]any{as.UserID}, args...)...)
	if err != nil {
		return nil, fmt.Errorf("count follows: %w", err)
	}
	for _, f := range rows {
		out[f.UserID] = f
	}
	return out, nil
}
