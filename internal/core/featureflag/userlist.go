package featureflag

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
)

// ListID identifies a user list.
type ListID int64

// UserList names users of an application, for strategies.
type UserList struct {
	ID        ListID     `db:"id"`
	ProjectID project.ID `db:"project_id"`
	IID       int64      `db:"iid"`
	Name      string     `db:"name" fold:"name_fold"`
	UserXIDs  string     `db:"user_xids"` // with commas between them
	CreatedAt db.Time    `db:"created_at"`
	UpdatedAt db.Time    `db:"updated_at"`
}

const (
	maxLists    = 500 // of a project
	maxListName = 255
	maxUserID   = 256     // characters of the id of one user
	maxUserIDs  = 1 << 16 // bytes of a list
)

var listColumns = db.Columns[UserList]("l")

// ListChanges are the attributes of a user list that a call sets; nil leaves one alone.
type ListChanges struct{ Name, UserXIDs *string }

func (c ListChanges) apply(l *UserList) error {
	if c.Name != nil {
		l.Name = *c.Name
	}
	if c.UserXIDs != nil {
		l.UserXIDs = *c.UserXIDs
	}
	var problems []string
	if strings.TrimSpace(l.Name) == "" {
		problems = append(problems, "Name can't be blank")
	}
	if utf8.RuneCountInString(l.Name) > maxListName {
		problems = append(problems, fmt.Sprintf("Name is too long (maximum is %d characters)", maxListName))
	}
	if l.UserXIDs == "" {
		problems = append(problems, "User xids can't be blank")
	} else if !userIDs(l.UserXIDs) {
		problems = append(problems, "User xids "+wrongIDs("user_xids"))
	}
	return broken(problems)
}

var errNameTaken = errs.Sentences(errs.Invalid, "Name has already been taken")

// broken is the error of what is wrong, nil for nothing.
func broken(problems []string) error {
	if len(problems) == 0 {
		return nil
	}
	return errs.Sentences(errs.Invalid, problems...)
}

// userIDs reports whether a text is a list of different ids.
func userIDs(text string) bool {
	if len(text) > maxUserIDs {
		return false
	}
	seen := map[string]bool{}
	for id := range strings.SplitSeq(text, ",") {
		id = strings.TrimSpace(id)
		if id == "" || utf8.RuneCountInString(id) > maxUserID || seen[id] {
			return false
		}
		seen[id] = true
	}
	return true
}

func wrongIDs(name string) string {
	return name + " must be a string of unique comma separated values each " + strconv.Itoa(maxUserID) + " characters or less"
}

// ListFilter selects from the user lists of a project.
type ListFilter struct {
	Search string // in the name; "" is any
	page.Range
}

// UserLists returns a page of the user lists of a project by number.
func (s *Service) UserLists(ctx context.Context, as authz.Actor, p *project.Project, f ListFilter) (page.Page[UserList], error) {
	if err := s.require(ctx, as, authz.ReadFeatureFlag, p); err != nil {
		return page.Page[UserList]{}, err
	}
	var w db.Where
	w.And("l.project_id = ?", p.ID)
	if f.Search != "" {
		w.And(`l.name_fold LIKE ? ESCAPE '\'`, "%"+db.LikePattern(db.Fold(f.Search))+"%")
	}
	list, err := page.Select[UserList](ctx, s.DB, page.Query{
		Columns: listColumns, From: "feature_flag_user_lists l", Where: w, Order: page.Order{page.ID("l.iid")},
	}, f.Range)
	return list, errs.Wrap(err, "list user lists")
}

// UserList returns a user list of a project.
func (s *Service) UserList(ctx context.Context, as authz.Actor, p *project.Project, iid int64) (*UserList, error) {
	if err := s.require(ctx, as, authz.ReadFeatureFlag, p); err != nil {
		return nil, err
	}
	return s.findList(ctx, p, iid)
}

func (s *Service) findList(ctx context.Context, p *project.Project, iid int64) (*UserList, error) {
	l, err := db.Get[UserList](ctx, s.DB, "SELECT "+listColumns+" FROM feature_flag_user_lists l WHERE l.project_id = ? AND l.iid = ?", p.ID, iid)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.Missing("")
	}
	return &l, errs.Wrap(err, "find user list")
}

// CreateUserList adds a user list to a project.
func (s *Service) CreateUserList(ctx context.Context, as authz.Actor, p *project.Project, c ListChanges) (*UserList, error) {
	if err := s.require(ctx, as, authz.AdminFeatureFlag, p); err != nil {
		return nil, err
	}
	now := db.At(s.Now())
	l := UserList{ProjectID: p.ID, CreatedAt: now, UpdatedAt: now}
	if err := c.apply(&l); err != nil {
		return nil, err
	}
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		var err error
		if l.IID, err = namespace.NextIID(ctx, s.DB, p.NamespaceID, namespace.KindUserList); err != nil {
			return err
		}
		most := db.Bound{Table: "feature_flag_user_lists", Most: maxLists, Full: errs.Sentences(errs.Invalid, fmt.Sprintf("Maximum number of user lists (%d) exceeded", maxLists))}
		most.Of.And("project_id = ?", p.ID)
		return db.Create(ctx, s.DB, "feature_flag_user_lists", &l, most)
	})
	return &l, listErr(err, "create user list")
}

func listErr(err error, words string) error {
	if db.Duplicate(err, "feature_flag_user_lists") {
		return errNameTaken
	}
	return errs.Wrap(err, words)
}

func (s *Service) listRow(as authz.Actor, l *UserList) db.Row {
	return db.Row{Table: "feature_flag_user_lists", ID: l.ID, Now: s.Now, If: as.UnmodifiedAt, Missing: errs.Missing("")}
}

// UpdateUserList changes a user list.
func (s *Service) UpdateUserList(ctx context.Context, as authz.Actor, p *project.Project, iid int64, c ListChanges) (*UserList, error) {
	if err := s.require(ctx, as, authz.AdminFeatureFlag, p); err != nil {
		return nil, err
	}
	l, err := s.findList(ctx, p, iid)
	if err != nil {
		return nil, err
	}
	out, err := db.Update(ctx, s.DB, s.listRow(as, l), func(_ context.Context, l *UserList) error { return c.apply(l) })
	if err != nil {
		return nil, listErr(err, "update user list")
	}
	return &out.After, nil
}

// DeleteUserList deletes a user list that no strategy names.
func (s *Service) DeleteUserList(ctx context.Context, as authz.Actor, p *project.Project, iid int64) error {
	if err := s.require(ctx, as, authz.AdminFeatureFlag, p); err != nil {
		return err
	}
	l, err := s.findList(ctx, p, iid)
	if err != nil {
		return err
	}
	_, err = db.Delete(ctx, s.DB, s.listRow(as, l), func(ctx context.Context, l *UserList) error {
		used, err := db.Get[bool](ctx, s.DB, "SELECT EXISTS (SELECT 1 FROM feature_flag_strategies t WHERE t.user_list_id = ?)", l.ID)
		if err == nil && used {
			err = errs.Sentences(errs.Conflict, "User list is associated with a strategy")
		}
		return err
	})
	return errs.Wrap(err, "delete user list")
}
