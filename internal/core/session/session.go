// Package session keeps people signed on in their browsers.
package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/lastuse"
	"tenon/internal/base/secret"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/setting"
)

// How long a session lives since the sign-on, and how many a user has: the oldest ends where
// there would be more. The setting session_expire_delay says how long a session lives since it
// was last used, or, with session_expire_from_init, since the sign-on; one that is longer than MaxLife replaces it.
const (
	MaxLife = 30 * 24 * time.Hour
	Most    = 50
)

const (
	prefix    = "tnse-" // opens the secrets, so that a scanner of logs and texts knows them
	maxSecret = 64      // bytes of a secret that is looked up
	maxAgent  = 255     // characters of a User-Agent that are kept
)

// ID identifies a session.
type ID int64

// Session is one browser in which a person signed on.
type Session struct {
	ID         ID           `db:"id"`
	UserID     authz.UserID `db:"user_id"`
	Address    string       `db:"address"` // where the sign-on came from
	Agent      string       `db:"agent"`   // User-Agent, at most 255 characters
	CreatedAt  db.Time      `db:"created_at"`
	LastUsedAt db.Time      `db:"last_used_at"`
}

// row is a session as the table has it.
type row struct {
	Session
	Digest string `db:"digest"`
}

// Deps is what a Service is made of.
type Deps struct {
	DB       *db.DB
	Policy   *authz.Policy
	Accounts *account.Service
	Settings *setting.Store
	Now      func() time.Time
	Log      *slog.Logger
}

// Service keeps sessions. It is safe for concurrent use.
type Service struct {
	Deps

	used     lastuse.Times[ID]
	flushing lastuse.Loop
}

// New builds the service. Call Start to have the use of sessions written down.
func New(d Deps) *Service {
	return &Service{Deps: d}
}

// Client is the browser that signs on.
type Client struct {
	Address string // remote address
	Agent   string // User-Agent
}

// SignOn begins a session for the person with this name and password, who is judged as
// [account.Service.SignOn] does. The secret is shown once and not kept. It is new at each
// sign-on: nothing that the browser had before is taken over.
func (s *Service) SignOn(ctx context.Context, login, password string, c Client) (key string, as authz.Actor, err error) {
	key = secret.NewToken(prefix)
	now := db.At(s.Now())
	idle, most := s.lives()
	err = s.Accounts.SignOn(ctx, login, password, c.Address, func(ctx context.Context, who authz.Actor) error {
		if err := s.mayBegin(who); err != nil {
			return err
		}
		// Lapsed ones go here, so that they need no work of their own.
		if _, err := s.DB.Exec(ctx, "DELETE FROM sessions WHERE user_id = ? AND (last_used_at <= ? OR created_at <= ?)",
			who.UserID, now.Add(-idle), now.Add(-most)); err != nil {
			return err
		}
		if _, err := s.DB.Exec(ctx, `DELETE FROM sessions WHERE user_id = ? AND id NOT IN
			(SELECT id FROM sessions WHERE user_id = ? ORDER BY id DESC LIMIT ?)`, who.UserID, who.UserID, Most-1); err != nil {
			return err
		}
		made := row{
			Session{UserID: who.UserID, Address: c.Address, Agent: CutAgent(c.Agent), CreatedAt: now, LastUsedAt: now}, secret.Digest(key),
		}
		err := db.Create(ctx, s.DB, "sessions", &made)
		as = who
		as.Session = int64(made.ID)
		return err
	})
	if err != nil {
		return "", authz.Actor{}, err
	}
	return key, as, nil
}

// mayBegin refuses sessions that the settings do not allow: in maintenance mode administrators
// alone sign in.
func (s *Service) mayBegin(who authz.Actor) error {
	switch {
	case !s.Settings.Current().PasswordAuthenticationEnabledForWeb:
		return errs.Denied("Signing in with a password is disabled")
	case who.Admin:
		return nil
	}
	return s.Settings.Writable()
}

// CutAgent shortens a User-Agent to what is kept, and to valid text.
func CutAgent(agent string) string {
	runes := []rune(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, strings.ToValidUTF8(agent, "")))
	return string(runes[:min(len(runes), maxAgent)])
}

// Authenticate returns the actor of a session's secret, with every right of the account. A
// session that is unknown, ended or lapsed is Unauthorized; a user who may not act is
// Forbidden with the reason.
func (s *Service) Authenticate(ctx context.Context, key string) (authz.Actor, error) {
	if key == "" || len(key) > maxSecret {
		return authz.Actor{}, errs.New(errs.Unauthorized, "")
	}
	found, err := db.Get[Session](ctx, s.DB, "SELECT "+db.Columns[Session]("")+" FROM sessions WHERE digest = ?", secret.Digest(key))
	if errors.Is(err, db.ErrNotFound) {
		return authz.Actor{}, errs.New(errs.Unauthorized, "")
	}
	if err != nil {
		return authz.Actor{}, fmt.Errorf("read session: %w", err)
	}
	now := s.Now()
	if s.lapsed(&found, now) {
		return authz.Actor{}, errs.New(errs.Unauthorized, "")
	}
	as, err := s.Accounts.Admit(ctx, found.UserID)
	if errs.Is(err, errs.NotFound) {
		return authz.Actor{}, errs.New(errs.Unauthorized, "")
	}
	if err != nil {
		return authz.Actor{}, err
	}
	s.used.Note(found.ID, now)
	as.Session = int64(found.ID)
	return as, nil
}

// lapsed reports whether a session is too old, or was not used for too long. It fills in
// a use that is not written down yet.
func (s *Service) lapsed(x *Session, now time.Time) bool {
	if at, ok := s.used.Last(x.ID); ok {
		x.LastUsedAt = db.At(at)
	}
	idle, most := s.lives()
	return !now.Before(x.LastUsedAt.Add(idle)) || !now.Before(x.CreatedAt.Add(most))
}

// lives returns how long a session lives since its last use, and since the sign-on.
func (s *Service) lives() (idle, most time.Duration) {
	set := s.Settings.Current()
	idle = time.Duration(set.SessionExpireDelay) * time.Minute
	if set.SessionExpireFromInit {
		return idle, idle
	}
	return idle, max(idle, MaxLife)
}

// List returns the actor's own sessions that are good, the newest first: at most Most.
func (s *Service) List(ctx context.Context, as authz.Actor) ([]Session, error) {
	if err := s.Policy.Require(ctx, as, authz.ManageOwnSession, authz.Subject{}); err != nil {
		return nil, err
	}
	list, err := db.Select[Session](ctx, s.DB, "SELECT "+db.Columns[Session]("")+" FROM sessions WHERE user_id = ? ORDER BY id DESC LIMIT ?", as.UserID, Most)
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	out := list[:0]
	for _, x := range list {
		if !s.lapsed(&x, s.Now()) {
			out = append(out, x)
		}
	}
	return out, nil
}

// End ends one of the actor's own sessions. One that is not there is NotFound.
func (s *Service) End(ctx context.Context, as authz.Actor, id ID) error {
	if err := s.Policy.Require(ctx, as, authz.ManageOwnSession, authz.Subject{}); err != nil {
		return err
	}
	row := db.Row{Table: "sessions", ID: id, If: as.UnmodifiedAt, Missing: errs.Missing("Session")}
	row.And.And("user_id = ?", as.UserID)
	type session struct {
		CreatedAt db.Time `db:"created_at"`
	}
	_, err := db.Delete[session](ctx, s.DB, row, nil)
	return errs.Wrap(err, "end session")
}

// SignOff ends the session that the actor came with. One that ended before is no error.
func (s *Service) SignOff(ctx context.Context, as authz.Actor) error {
	err := s.End(ctx, as, ID(as.Session))
	if errs.Is(err, errs.NotFound) {
		return nil
	}
	return err
}

// Start begins to write down once a minute when sessions were used. Stop ends it.
func (s *Service) Start() { s.flushing.Write(s.Log, "write down the use of sessions", s.Flush) }

// Stop ends what Start began and writes down the rest.
func (s *Service) Stop(ctx context.Context) error { return s.flushing.Finish(ctx, s.Flush) }

// Flush writes down when sessions were used.
func (s *Service) Flush(ctx context.Context) error {
	err := s.used.Flush(ctx, s.DB, func(ctx context.Context, id ID, at time.Time) error {
		_, err := s.DB.Exec(ctx, "UPDATE sessions SET last_used_at = ? WHERE id = ?", at, id)
		return err
	})
	if err != nil {
		return fmt.Errorf("flush use of sessions: %w", err)
	}
	return nil
}
