package repo

import (
	"context"
	"fmt"
	"sync"
	"time"

	"tenon/internal/base/gitcmd"
	"tenon/internal/core/project"
	"tenon/internal/core/quota"
)

// What people read where a repository has no room. The second is for packs that git stops
// to read before it is known how large they are.
const (
	textFull = "The repository would take %s with this, over its limit of %s (repository_size_limit). " +
		"Leave large files out of the commits, or ask an administrator to raise the limit."
	textNoRoom = "The repository has no room for this push: it takes %s, and its limit is %s (repository_size_limit). " +
		"Leave large files out of the commits, or ask an administrator to raise the limit."
	textLargePush = "This push is larger than %s, which is the most that this server takes at once (receive_max_input_size). " +
		"Push fewer commits at a time."
	textLargeAttached = "This push is larger than %s, which is the most that its repository takes at once."
)

// goodFor is how long a measurement is good enough to refuse a push by it. Without that a
// repository that was packed since would be taken for larger than it is.
const goodFor = time.Minute

// maxPassed is how many quarantines that passed are remembered before those that are gone are
// looked for.
const maxPassed = 1000

// sizes are those of repositories that have a limit, as far as this process knows them.
// Between two measurements what comes in is added up, so that pushes at the same moment
// count each other. The zero value is ready.
type sizes struct {
	mu    sync.Mutex
	known map[project.ID]*size
}

type size struct {
	turn     chan struct{} // holds one value while locked
	bytes    int64
	known    bool            // that is, measured since the process was started
	measured time.Time       // zero while other pushes are under way
	added    int64           // since the process was started
	passed   map[string]bool // quarantines whose bytes count, by folder; some may be gone
}

func (s *sizes) of(id project.ID) *size {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known = map[project.ID]*size{}
	}
	if s.known[id] == nil {
		s.known[id] = &size{turn: make(chan struct{}, 1)}
	}
	return s.known[id]
}

// lock waits for the size, which is held while it is measured, until ctx ends.
func (z *size) lock(ctx context.Context) error {
	select {
	case z.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the size of the repository: %w", context.Cause(ctx))
	}
}

func (z *size) unlock() { <-z.turn }

func (s *sizes) forget(id project.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, id)
}

// begin returns what a measurement that begins now needs when it ends.
func (s *sizes) begin(ctx context.Context, id project.ID) (added int64, known bool, err error) {
	s.mu.Lock()
	z := s.known[id]
	s.mu.Unlock()
	if z == nil {
		return 0, false, nil
	}
	if err := z.lock(ctx); err != nil {
		return 0, false, err
	}
	defer z.unlock()
	return z.added, true, nil
}

// end notes what a measurement of a size that is known found; what was added while it
// lasted may be in it or not, and is counted.
func (s *sizes) end(ctx context.Context, id project.ID, bytes, added int64, now time.Time) error {
	z := s.of(id)
	if err := z.lock(ctx); err != nil {
		return err
	}
	defer z.unlock()
	z.bytes, z.known, z.measured = bytes+z.added-added, true, now
	return nil
}

// room returns how many bytes of objects a repository may still get, what it takes now, and
// its limit; 0 is none. It is measured at first, and once in a while if there seems to be no
// room for more bytes. The bytes are those of a quarantine, and count from then on if there
// is room for them; without one nothing counts.
func (s *Service) room(ctx context.Context, p *project.Project, inside *gitcmd.Repo, more int64) (left, taken, limit int64, err error) {
	limit, err = s.Quota.RepositoryLimit(ctx, p.ID)
	if err != nil || limit <= 0 {
		return 0, 0, 0, err
	}
	z := s.sizes.of(p.ID)
	if err := z.lock(ctx); err != nil {
		return 0, 0, 0, err
	}
	defer z.unlock()
	large, err := s.Quota.Large(ctx, p.ID)
	if err != nil {
		return 0, 0, 0, err
	}
	// What is recorded may lack the pushes of a process that was killed.
	if !z.known || z.bytes+large+more > limit && s.Now().Sub(z.measured) > goodFor {
		r, err := s.Open(ctx, p)
		if err != nil {
			return 0, 0, 0, err
		}
		// What others bring at this moment counts where it was judged already. It comes first:
		// what becomes part of the repository meanwhile counts twice rather than not at all.
		others, err := z.arriving(ctx, r)
		if err != nil {
			return 0, 0, 0, fmt.Errorf("measure: %w", err)
		}
		bytes, err := r.Size(ctx)
		if err != nil {
			return 0, 0, 0, fmt.Errorf("measure: %w", err)
		}
		z.bytes, z.known = bytes+others, true
		if others == 0 { // else some of them may be given up
			z.measured = s.Now()
		}
	}
	taken = z.bytes + large
	if inside != nil && taken+more <= limit {
		z.bytes, z.added = z.bytes+more, z.added+more
		if len(z.passed) >= maxPassed {
			if _, err := z.arriving(ctx, inside); err != nil {
				return 0, 0, 0, fmt.Errorf("measure: %w", err)
			}
		}
		if z.passed == nil {
			z.passed = map[string]bool{}
		}
		z.passed[inside.NewObjects()] = true
	}
	return limit - taken, taken, limit, nil
}

// arriving returns the bytes of the quarantines that passed and are not part of the repository
// yet, and forgets those that are gone. z is locked.
func (z *size) arriving(ctx context.Context, r *gitcmd.Repo) (int64, error) {
	on, err := r.ArrivingBytes(ctx)
	if err != nil {
		return 0, err
	}
	sum := int64(0)
	for dir := range z.passed {
		bytes, there := on[dir]
		if !there {
			delete(z.passed, dir)
		}
		sum += bytes
	}
	return sum, nil
}

// judgeSize refuses objects in a quarantine that the repository has no room for. Those that
// pass count from then on.
func (s *Service) judgeSize(ctx context.Context, p *project.Project, inside *gitcmd.Repo) error {
	more, err := inside.ArrivedBytes()
	if err != nil || more == 0 {
		return err
	}
	left, taken, limit, err := s.room(ctx, p, inside, more)
	if err != nil || limit == 0 || more <= left {
		return err
	}
	return refuse("", fmt.Sprintf(textFull, quota.Bytes(taken+more), quota.Bytes(limit)))
}

// mostInput returns how many bytes a pack may have, 0 for any number, and what people read
// whose pack has more.
func (p *Push) mostInput(ctx context.Context) (most int64, text string, err error) {
	if set := p.service.Settings.Current().ReceiveMaxInputSize; set != nil {
		most = int64(*set) << 20
		text = fmt.Sprintf(textLargePush, quota.Bytes(most))
	}
	if p.attached == nil {
		return p.service.mostInput(ctx, p.project, most, text)
	}
	if limit := p.attached.MaxBytes; limit > 0 && (most == 0 || limit < most) {
		return limit, fmt.Sprintf(textLargeAttached, quota.Bytes(limit)), nil
	}
	return most, text, nil
}

// mostInput returns the smaller of a bound that everybody has and the room of the project.
func (s *Service) mostInput(ctx context.Context, p *project.Project, most int64, text string) (int64, string, error) {
	left, taken, limit, err := s.room(ctx, p, nil, 1)
	if err != nil || limit == 0 || most > 0 && most <= left {
		return most, text, err
	}
	return max(left, 1), fmt.Sprintf(textNoRoom, quota.Bytes(taken), quota.Bytes(limit)), nil
}

// remeasure records the size of a repository that was packed.
func (s *Service) remeasure(ctx context.Context, id project.ID, r *gitcmd.Repo) error {
	added, limited, err := s.sizes.begin(ctx, id)
	if err != nil {
		return err
	}
	bytes, err := r.Size(ctx)
	if err != nil {
		return fmt.Errorf("measure: %w", err)
	}
	if limited {
		if err := s.sizes.end(ctx, id, bytes, added, s.Now()); err != nil {
			return err
		}
	}
	return s.Projects.RecordSize(ctx, id, bytes)
}
