package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/secret"
)

// Authenticate returns the runner with an authentication token. One that is unknown or expired
// is Forbidden.
func (s *Service) Authenticate(ctx context.Context, token string) (*Runner, error) {
	if token == "" || len(token) > secret.MaxToken {
		return nil, errs.Denied("")
	}
	r, err := db.Get[Runner](ctx, s.DB, "SELECT "+db.Columns[Runner]("r")+" FROM runners r WHERE r.digest = ?", secret.Digest(token))
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.Denied("")
	}
	if err != nil {
		return nil, fmt.Errorf("find runner by token: %w", err)
	}
	if r.TokenExpiresAt != nil && !r.TokenExpiresAt.After(s.Now()) {
		return nil, errs.Denied("")
	}
	s.refresh(&r)
	return &r, nil
}

// refresh adds what is not written down yet.
func (s *Service) refresh(r *Runner) {
	if at, ok := s.contacts.Last(r.ID); ok && (r.ContactedAt == nil || at.After(r.ContactedAt.Time)) {
		t := db.At(at)
		r.ContactedAt = &t
	}
}

// LegacySystemID stands for the machine of programs that send no id of theirs.
const LegacySystemID = "<legacy>"

const (
	maxSystemID = 64
	maxInfo     = 255

	// maxManagers is how many machines use one runner.
	maxManagers = 1000

	// writeAfter is how long after the last contact the next one is written at once, so that
	// lists that select by status are never wrong by more than a minute.
	writeAfter = time.Hour
)

// Contact notes that the program of a runner asked for something. It writes rows where the
// machine is new or says something new of itself, and the time of the contact once a minute.
// An empty system id is LegacySystemID.
func (s *Service) Contact(ctx context.Context, r *Runner, systemID string, info Info, ip string) (*Manager, error) {
	if systemID == "" {
		systemID = LegacySystemID
	}
	systemID, now := cut(systemID, maxSystemID), s.Now()
	info, address := info.clean(), said(&ip)
	const query = " FROM runner_managers m WHERE m.runner_id = ? AND m.system_id = ?"
	m, err := db.Get[Manager](ctx, s.DB, "SELECT "+db.Columns[Manager]("m")+query, r.ID, systemID)
	known := err == nil
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		return nil, fmt.Errorf("find runner manager: %w", err)
	}
	late := r.ContactedAt == nil || now.Sub(r.ContactedAt.Time) > writeAfter
	if known && !late && info.over(m.Info).same(m.Info) && equal(m.IPAddress, address) {
		s.contacts.Note(r.ID, now)
		s.machines.Note(m.ID, now)
		m.ContactedAt = db.At(now)
		return &m, nil
	}
	m = Manager{RunnerID: r.ID, SystemID: systemID, Info: info, IPAddress: address, CreatedAt: db.At(now), ContactedAt: db.At(now)}
	err = s.DB.InTx(ctx, func(ctx context.Context) error { return s.writeContact(ctx, r.ID, &m) })
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.Denied("")
	}
	if err != nil {
		return nil, errs.Wrap(err, "write down contact of runner")
	}
	r.ContactedAt, r.Info, r.IPAddress = &m.ContactedAt, info.over(r.Info), address
	return &m, nil
}

// writeContact locks the runner, so that two requests make one manager.
func (s *Service) writeContact(ctx context.Context, id ID, m *Manager) error {
	_, err := db.Update(ctx, s.DB, db.Row{Table: "runners", ID: id}, func(_ context.Context, r *Runner) error {
		r.Info, r.IPAddress, r.ContactedAt = m.Info.over(r.Info), m.IPAddress, &m.ContactedAt
		return nil
	})
	if err != nil {
		return err
	}
	var is db.Where
	is.And("runner_id = ?", id)
	out, err := db.Update(ctx, s.DB, db.Row{Table: "runner_managers", Key: "system_id", ID: m.SystemID, And: is}, func(_ context.Context, row *Manager) error {
		row.Info, row.IPAddress, row.ContactedAt = m.Info.over(row.Info), m.IPAddress, m.ContactedAt
		return nil
	})
	if err == nil {
		*m = out.After
		return nil
	}
	if !errors.Is(err, db.ErrNotFound) {
		return err
	}
	if err := s.room(ctx, id); err != nil {
		return err
	}
	return db.Create(ctx, s.DB, "runner_managers", m)
}

// room drops the machines of a runner that have not been there for three months, and refuses
// one more where there are too many.
func (s *Service) room(ctx context.Context, id ID) error {
	if _, err := s.DB.Exec(ctx, "DELETE FROM runner_managers WHERE runner_id = ? AND contacted_at < ?", id, db.At(staleBefore(s.Now()))); err != nil {
		return err
	}
	n, err := db.Get[int](ctx, s.DB, "SELECT COUNT(*) FROM runner_managers WHERE runner_id = ?", id)
	if err == nil && n >= maxManagers {
		return errs.Plain(fmt.Sprintf("Too many machines use this runner (maximum is %d)", maxManagers))
	}
	return err
}

// Start begins to write down once a minute when runners were in contact. Stop ends it.
func (s *Service) Start() { s.flushing.Write(s.Log, "write down contacts of runners", s.Flush) }

// Stop ends what Start began and writes down the rest.
func (s *Service) Stop(ctx context.Context) error { return s.flushing.Finish(ctx, s.Flush) }

// Flush writes down when runners were in contact.
func (s *Service) Flush(ctx context.Context) error {
	err := s.contacts.Flush(ctx, s.DB, func(ctx context.Context, id ID, at time.Time) error {
		_, err := s.DB.Exec(ctx, "UPDATE runners SET contacted_at = ? WHERE id = ? AND (contacted_at IS NULL OR contacted_at < ?)", db.At(at), id, db.At(at))
		return err
	})
	if err == nil {
		err = s.machines.Flush(ctx, s.DB, func(ctx context.Context, id ManagerID, at time.Time) error {
			_, err := s.DB.Exec(ctx, "UPDATE runner_managers SET contacted_at = ? WHERE id = ? AND contacted_at < ?", db.At(at), id, db.At(at))
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("flush contacts of runners: %w", err)
	}
	return nil
}

// clean cuts what a program says of itself to what is kept.
func (i Info) clean() Info {
	return Info{Name: said(i.Name), Version: said(i.Version), Revision: said(i.Revision), Platform: said(i.Platform), Architecture: said(i.Architecture)}
}

func said(text *string) *string {
	if text == nil || *text == "" {
		return nil
	}
	short := cut(*text, maxInfo)
	return &short
}

// cut keeps the first characters of a text, without any that no database takes.
func cut(text string, most int) string {
	if utf8.ValidString(text) && len(text) <= most && !slices.Contains([]byte(text), 0) {
		return text
	}
	out := make([]rune, 0, most)
	for _, r := range text {
		if len(out) == most {
			break
		}
		if r != 0 {
			out = append(out, r)
		}
	}
	return string(out)
}

// over is the info with what was known where it says nothing.
func (i Info) over(was Info) Info {
	return Info{
		Name: or(i.Name, was.Name), Version: or(i.Version, was.Version), Revision: or(i.Revision, was.Revision),
		Platform: or(i.Platform, was.Platform), Architecture: or(i.Architecture, was.Architecture),
	}
}

func (i Info) same(b Info) bool {
	return equal(i.Name, b.Name) && equal(i.Version, b.Version) && equal(i.Revision, b.Revision) &&
		equal(i.Platform, b.Platform) && equal(i.Architecture, b.Architecture)
}

func or(a, b *string) *string {
	if a != nil {
		return a
	}
	return b
}

func equal(a, b *string) bool { return a == nil && b == nil || a != nil && b != nil && *a == *b }
