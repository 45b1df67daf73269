package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/instance"
	"tenon/internal/core"
	"tenon/internal/core/repo"
	"tenon/internal/core/setting"
	"tenon/migrations"
)

// Diagnosis is what a running server says of itself.
type Diagnosis struct {
	PID      int    `json:"pid"`
	Version  string `json:"version"`
	Revision string `json:"revision"`
	Instance string `json:"instance"`
	HTTP     string `json:"http"` // address listened on
	SSH      string `json:"ssh"`  // likewise, "" where it is off
	Database string `json:"database"`
	Trouble  string `json:"trouble"` // why the database does not answer, "" where it does

	MilliSeconds int64        `json:"database_ms"`          // that the database took to answer
	ClockSeconds float64      `json:"database_clock_ahead"` // how far its clock is ahead of ours
	Missing      repo.Missing `json:"missing"`

	Unenforced []core.UnenforcedUse `json:"unenforced"` // restrictions that are stored and not obeyed
	Settings   []setting.Broken     `json:"settings"`   // stored values that are not in force
	Pending    []string             `json:"pending"`    // settings that were changed and are not in force yet
	Conflicts  []Conflict           `json:"conflicts"`  // of settings with each other or the configuration
}

// adminDoctor answers for the running server.
func (a *App) adminDoctor(ctx context.Context, _ struct{}, _ func(string)) (Diagnosis, error) {
	out := Diagnosis{
		PID: a.self.PID, Version: a.build.Version, Revision: a.build.Revision, Instance: a.id, SSH: a.SSHAddress(), Database: a.db.Place(),
	}
	if a.listener != nil {
		out.HTTP = a.listener.Addr().String()
	}
	began := time.Now()
	err := a.db.Ping(ctx)
	out.MilliSeconds = time.Since(began).Milliseconds()
	if err == nil {
		out.ClockSeconds, err = clockAhead(ctx, a.db)
	}
	if err == nil {
		out.Missing, err = a.core.Repos.Missing(ctx)
	}
	if err == nil {
		out.Unenforced, err = core.UnenforcedUses(ctx, a.db)
	}
	out.Settings, out.Pending = a.core.Settings.Current().Broken(), a.core.Settings.Current().Unheeded()
	out.Conflicts = conflicts(a.core.Settings.Current(), a.config)
	if err != nil {
		out.Trouble = err.Error()
	}
	return out, nil
}

// clockAhead is how many seconds the clock of PostgreSQL is ahead of ours.
func clockAhead(ctx context.Context, d *db.DB) (float64, error) {
	if d.Dialect() != db.Postgres {
		return 0, nil
	}
	theirs, err := db.Get[db.Time](ctx, d, "SELECT clock_timestamp()")
	if err != nil {
		return 0, fmt.Errorf("read clock of the database: %w", err)
	}
	return time.Until(theirs.Time).Seconds(), nil
}

// database looks at the database and the repositories, through the running server where there
// is one.
func (d *doctor) database(ctx context.Context, folder bool, git *gitcmd.Git) {
	const name = "database"
	if r := d.running; r != nil {
		if r.Trouble != "" {
			d.fail(name, "look at the log of the server and of the database", "%s: %s", r.Database, r.Trouble)
			return
		}
		d.ok(name, "%s answers in %d ms", r.Database, r.MilliSeconds)
		d.databaseClock(r.ClockSeconds)
		d.repositories(r.Missing, nil)
		d.unenforced(r.Unenforced)
		d.settings(r.Settings, r.Pending, r.Conflicts)
		return
	}
	if path, own := strings.CutPrefix(d.config.Database, "sqlite:"); own {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			d.ok(name, "SQLite database %s is not there yet; the first start makes it", path)
			return
		}
	}
	base, err := db.Open(ctx, db.Config{URL: d.config.Database, Logger: d.log, Readers: 2})
	if err != nil {
		d.fail(name, "", "%v", err)
		return
	}
	defer func() { _ = base.Close() }() // nothing was written
	pending, err := base.Pending(ctx, migrations.FS)
	if err != nil {
		d.fail(name, "", "%s: %v", base.Place(), base.Explain(err))
		return
	}
	users, err := countUsers(ctx, base)
	if err != nil {
		d.fail(name, "", "%s: %v", base.Place(), base.Explain(err))
		return
	}
	switch {
	case users == 0:
		d.ok(name, "%s answers; it has no users yet", base.Place())
	case len(pending) > 0:
		d.warn(name, "make a backup before the next start brings it up to date", "%s is %d migrations behind this program", base.Place(), len(pending))
	default:
		d.ok(name, "%s answers and is up to date", base.Place())
	}
	if ahead, err := clockAhead(ctx, base); err == nil {
		d.databaseClock(ahead)
	}
	if uses, err := core.UnenforcedUses(ctx, base); err == nil && len(pending) == 0 {
		d.unenforced(uses)
		d.storedSettings(ctx, base)
	}
	if folder {
		f, err := facts(ctx, base, d.config.Data)
		if err == nil {
			err = instance.Match(ctx, base, f)
		}
		if err != nil {
			d.fail("instance", "", "%v", err)
		}
	}
	if users > 0 && git != nil {
		missing, err := repo.FindMissing(ctx, base, git)
		d.repositories(missing, err)
	}
}

// clockSlack is how far two clocks may be apart, in seconds.
const clockSlack = 2

func (d *doctor) databaseClock(ahead float64) {
	if ahead > clockSlack || ahead < -clockSlack {
		d.warn("database clock", "run NTP clients on both machines", "it is %.1f s ahead of the clock here", ahead)
	}
}

// storedSettings looks at the settings in the database, but for secrets.
func (d *doctor) storedSettings(ctx context.Context, base *db.DB) {
	store := setting.New(base, time.Now)
	if err := store.Open(ctx); err != nil {
		d.warn("settings", "", "%v", err)
		return
	}
	set := store.Current()
	broken := slices.DeleteFunc(slices.Clone(set.Broken()), func(b setting.Broken) bool { return setting.Lookup(b.Name).Secret })
	d.settings(broken, set.Unheeded(), conflicts(set, d.config))
}

// settings warns of settings that are not in force, though they were changed, and of those that contradict something.
func (d *doctor) settings(broken []setting.Broken, pending []string, against []Conflict) {
	for _, b := range broken {
		d.warn("settings", "give it another value: tenon admin settings set "+b.Name+" VALUE", "the stored value of %s is not in force: it %s", b.Name, b.Reason)
	}
	for _, name := range pending {
		d.warn("settings", "see docs/settings.md", "%s was changed and is not in force: %s", name, setting.Lookup(name).Because())
	}
	for _, c := range against {
		d.warn("settings", c.Advice, "%s", c.Text)
	}
}

// unenforced warns of restrictions that are stored and that nothing obeys.
func (d *doctor) unenforced(uses []core.UnenforcedUse) {
	for _, u := range uses {
		d.warn("restrictions", "see docs/restrictions.md", "%s of %d %ss is stored and not in force: %s", u.Name, u.Count, u.Of, u.Reason)
	}
}

func (d *doctor) repositories(m repo.Missing, err error) {
	const name = "repositories"
	switch {
	case err != nil:
		d.fail(name, "", "%v", err)
	case m.Count > 0:
		d.fail(name, "mount the disk that has them, or restore them from a backup; tenon admin repo check lists all",
			"%d of %d projects have none: %s", m.Count, m.Projects, strings.Join(m.Paths, ", "))
	default:
		d.ok(name, "all %d projects have one", m.Projects)
	}
}
