package repo

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// maxDownloaders is how many users are counted at a time; beyond it new ones are not, until the counts of others expire.
const maxDownloaders = 100_000

// downloads remembers which repositories users downloaded lately.
type downloads struct {
	mu    sync.Mutex
	users map[authz.UserID]map[project.ID]time.Time
}

// excessive reports whether a user downloads more repositories within a time than most; of each the first download in that time counts.
func (d *downloads) excessive(user authz.UserID, of project.ID, now time.Time, most int, window time.Duration) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	seen := d.users[user]
	if seen == nil {
		if len(d.users) >= maxDownloaders {
			for other, of := range d.users {
				if forget(of, now, window); len(of) == 0 {
					delete(d.users, other)
				}
			}
		}
		if len(d.users) >= maxDownloaders {
			return false
		}
		if d.users == nil {
			d.users = map[authz.UserID]map[project.ID]time.Time{}
		}
		seen = map[project.ID]time.Time{}
		d.users[user] = seen
	}
	if at, known := seen[of]; known && now.Sub(at) < window {
		return false
	}
	delete(seen, of)
	if forget(seen, now, window); len(seen) >= most {
		return true
	}
	seen[of] = now
	return false
}

func forget(seen map[project.ID]time.Time, now time.Time, window time.Duration) {
	for of, at := range seen {
		if now.Sub(at) >= window {
			delete(seen, of)
		}
	}
}

// checkDownload bans a user who downloads one repository too many, where the settings say so, and refuses the download.
func (s *Service) checkDownload(ctx context.Context, as authz.Actor, p *project.Project) error {
	set := s.Settings.Current()
	most, window := set.MaxNumberOfRepositoryDownloads, time.Duration(set.MaxNumberOfRepositoryDownloadsWithinTimePeriod)*time.Second
	if most == 0 || window == 0 || !set.AutoBanUserOnExcessiveProjectsDownload || !as.SignedIn() || as.Job.ID != 0 ||
		slices.Contains(set.GitRateLimitUsersAllowlist, as.Username) || !s.downloads.excessive(as.UserID, p.ID, s.Now(), most, window) {
		return nil
	}
	s.Log.WarnContext(ctx, "user downloads too many repositories and is banned", "user_id", as.UserID, "project_id", p.ID, "most", most, "seconds", window.Seconds())
	if err := s.Accounts.Ban(ctx, authz.System(), as.UserID); err != nil {
		if _, refused := errors.AsType[*errs.Error](err); !refused {
			return err
		}
		s.Log.WarnContext(ctx, "user is not banned", "user_id", as.UserID, "error", err) // such as the last administrator
	}
	return errs.Denied("You are not allowed to download code from this project.")
}
