package githttp

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"tenon/internal/core/authz"
	"tenon/internal/core/lfs"
)

type lfsLock struct {
	ID       string    `json:"id"`
	Path     string    `json:"path"`
	LockedAt time.Time `json:"locked_at"`
	Owner    *lfsOwner `json:"owner,omitempty"`
}

// lockEntities returns locks with the names of their owners.
func (x *lfsExchange) lockEntities(locks ...lfs.Lock) ([]lfsLock, error) {
	ids := make([]authz.UserID, len(locks))
	for i := range locks {
		ids[i] = locks[i].UserID
	}
	users, err := x.Accounts.ByIDs(x.r.Context(), ids)
	if err != nil {
		return nil, err
	}
	out := make([]lfsLock, len(locks))
	for i, l := range locks {
		out[i] = lfsLock{ID: strconv.FormatInt(l.ID, 10), Path: l.Path, LockedAt: l.LockedAt.Time, Owner: lfsNames(users, l.UserID)}
	}
	return out, nil
}

// answerLock answers with one lock.
func (x *lfsExchange) answerLock(status int, lock lfs.Lock, message string) {
	locks, err := x.lockEntities(lock)
	if err != nil {
		x.fault(err)
		return
	}
	body := map[string]any{"lock": locks[0]}
	if message != "" {
		body["message"] = message
	}
	lfsAnswer(x.w, status, body)
}

func (x *lfsExchange) createLock() {
	var in struct {
		Path string `json:"path"`
	}
	if !x.read(&in) || !x.may(lfs.Upload) {
		return
	}
	lock, err := x.LFS.Lock(x.r.Context(), x.as, x.p, in.Path)
	if taken, ok := errors.AsType[*lfs.LockExists](err); ok {
		x.answerLock(http.StatusConflict, taken.Lock, taken.Error())
		return
	}
	if err != nil {
		x.fault(err)
		return
	}
	x.answerLock(http.StatusCreated, *lock, "")
}

// lockFilter reads what a listing is to hold; a cursor is the id after which it begins.
func lockFilter(cursor string, limit int) (lfs.LockFilter, bool) {
	f := lfs.LockFilter{Limit: limit}
	if f.Limit <= 0 || f.Limit > lfs.MaxLocks {
		f.Limit = lfs.MaxLocks
	}
	if cursor == "" {
		return f, true
	}
	after, err := strconv.ParseInt(cursor, 10, 64)
	f.After = after
	return f, err == nil
}

// next is the cursor of the page after these locks, "" where there is none.
func next(f lfs.LockFilter, locks []lfs.Lock) string {
	if len(locks) < f.Limit {
		return ""
	}
	return strconv.FormatInt(locks[len(locks)-1].ID, 10)
}

func (x *lfsExchange) listLocks() {
	q := x.r.URL.Query()
	limit, _ := strconv.Atoi(q.Get("limit")) // what is no number is no limit
	f, ok := lockFilter(q.Get("cursor"), limit)
	f.Path = q.Get("path")
	if id := q.Get("id"); id != "" {
		var err error
		f.ID, err = strconv.ParseInt(id, 10, 64)
		ok = ok && err == nil && f.ID > 0
	}
	if !ok {
		lfsRefuse(x.w, http.StatusUnprocessableEntity, "Invalid filter")
		return
	}
	locks, err := x.LFS.Locks(x.r.Context(), x.as, x.p, f)
	x.answerLocks(f, locks, err, func(list []lfsLock) map[string]any { return map[string]any{"locks": list} })
}

// answerLocks answers with a page of locks, or with what kept it from being read.
func (x *lfsExchange) answerLocks(f lfs.LockFilter, locks []lfs.Lock, err error, body func([]lfsLock) map[string]any) {
	var list []lfsLock
	if err == nil {
		list, err = x.lockEntities(locks...)
	}
	if err != nil {
		x.fault(err)
		return
	}
	out := body(list)
	if cursor := next(f, locks); cursor != "" {
		out["next_cursor"] = cursor
	}
	lfsAnswer(x.w, http.StatusOK, out)
}

func (x *lfsExchange) verifyLocks() {
	var in struct {
		Cursor string `json:"cursor"`
		Limit  int    `json:"limit"`
	}
	if !x.read(&in) || !x.may(lfs.Upload) {
		return
	}
	f, ok := lockFilter(in.Cursor, in.Limit)
	if !ok {
		lfsRefuse(x.w, http.StatusUnprocessableEntity, "Invalid cursor")
		return
	}
	locks, err := x.LFS.VerifyLocks(x.r.Context(), x.as, x.p, f)
	x.answerLocks(f, locks, err, func(list []lfsLock) map[string]any {
		ours, theirs := []lfsLock{}, []lfsLock{}
		for i := range locks {
			if locks[i].UserID == x.as.UserID {
				ours = append(ours, list[i])
			} else {
				theirs = append(theirs, list[i])
			}
		}
		return map[string]any{"ours": ours, "theirs": theirs}
	})
}

func (x *lfsExchange) unlock() {
	var in struct {
		Force bool `json:"force"`
	}
	if !x.read(&in) || !x.may(lfs.Upload) {
		return
	}
	t, _ := parseLFS(x.r.URL.Path)
	id, err := strconv.ParseInt(t.parts[1], 10, 64)
	if err != nil || id <= 0 {
		lfsRefuse(x.w, http.StatusNotFound, "Not found.")
		return
	}
	lock, err := x.LFS.Unlock(x.r.Context(), x.as, x.p, id, lfs.Force(in.Force))
	if err != nil {
		x.fault(err)
		return
	}
	x.answerLock(http.StatusOK, *lock, "")
}
