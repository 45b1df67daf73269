package gitcmd

import (
	"bytes"
	"context"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"

	"tenon/internal/base/charset"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/lru"
)

// Order is the order of a list of commits.
type Order int

// The orders. All of them begin with the newest.
const (
	OrderDefault Order = iota // by date of commit as found from the tips, git's own default
	OrderTopo                 // no parent before all of its children, lines of development kept together
	OrderDate                 // no parent before all of its children, otherwise by date
)

// LogOptions selects commits: those reachable from From and not from Not.
type LogOptions struct {
	From        []gitstore.ObjectID // commits or annotated tags
	Not         []gitstore.ObjectID
	All         bool   // from every branch and tag as well
	Path        string // only commits that change this file or folder
	Author      string // only commits whose author line contains this text, in any case
	Message     string // only commits whose message contains this text, in any case
	Since       time.Time
	Until       time.Time
	FirstParent bool
	NoMerges    bool
	Order       Order
	Reverse     bool // oldest first, after Skip and Limit
	Skip        int
	Limit       int // 0: no limit
}

// maxWalk bounds how many commits are walked in process; beyond it git does it.
const maxWalk = 1000

// maxIDs bounds the output of a list of commits: about three million.
const maxIDs = 128 << 20

// Log returns the ids of the selected commits. Repeats of a call start no process, nor
// does a plain walk of the first thousand commits or along a short line of them. The slice is shared: do not change it.
func (r *Repo) Log(ctx context.Context, o LogOptions) ([]gitstore.ObjectID, error) {
	o, err := r.complete(ctx, o)
	if err != nil || len(o.From) == 0 {
		return nil, err
	}
	if o.simple() && o.Skip+o.Limit <= maxWalk {
		return r.walkCommits(ctx, o)
	}
	if ids, ok := r.line(ctx, o); ok {
		return ids, nil
	}
	key := resultKey{r.Path(), "log", o.fingerprint()}
	if ids, ok := lru.Get[[]gitstore.ObjectID](r.git.results, key); ok {
		return ids, nil
	}
	out, err := r.revList(ctx, o, nil, maxIDs)
	if err != nil {
		return nil, err
	}
	ids, err := parseIDs(out)
	if err != nil {
		return nil, err
	}
	r.remember(r.git.results, key, ids, 20*len(ids)+len(o.Path)+len(o.Author))
	return ids, nil
}

// LogCommits is Log with the commits read.
func (r *Repo) LogCommits(ctx context.Context, o LogOptions) ([]*gitstore.Commit, error) {
	ids, err := r.Log(ctx, o)
	if err != nil {
		return nil, err
	}
	return r.Commits(ctx, ids)
}

// Count returns the number of selected commits; Skip, Limit and Order are ignored.
func (r *Repo) Count(ctx context.Context, o LogOptions) (int, error) {
	o.Skip, o.Limit, o.Order, o.Reverse = 0, 0, OrderDefault, false
	o, err := r.complete(ctx, o)
	if err != nil || len(o.From) == 0 {
		return 0, err
	}
	if ids, ok := r.line(ctx, o); ok {
		return len(ids), nil
	}
	key := resultKey{r.Path(), "count", o.fingerprint()}
	if n, ok := lru.Get[int](r.git.results, key); ok {
		return n, nil
	}
	out, err := r.revList(ctx, o, []string{"--count"}, 1<<10)
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		return 0, fmt.Errorf("count commits: %w", err)
	}
	r.remember(r.git.results, key, n, 50+len(o.Path)+len(o.Author))
	return n, nil
}

// resultKey names the answer of a process; args hold the object ids and options that determine it.
type resultKey struct{ path, what, args string }

// complete adds the tips of All, checks the texts and drops what repeats.
func (r *Repo) complete(ctx context.Context, o LogOptions) (LogOptions, error) {
	if strings.ContainsAny(o.Author+o.Message, "\n\x00") || strings.IndexByte(o.Path, 0) >= 0 {
		return o, fmt.Errorf("list commits: control character: %w", gitstore.ErrBadName)
	}
	if o.Skip < 0 || o.Limit < 0 {
		return o, fmt.Errorf("list commits: skip %d, limit %d: %w", o.Skip, o.Limit, gitstore.ErrBadName)
	}
	o.Path = gitstore.CleanPath(o.Path)
	if !o.All {
		return o, nil
	}
	o.From = append([]gitstore.ObjectID(nil), o.From...)
	seen := make(map[gitstore.ObjectID]bool)
	for _, prefix := range []string{gitstore.Branches, gitstore.Tags} {
		refs, err := r.Refs(ctx, prefix)
		if err != nil {
			return o, err
		}
		for _, ref := range refs {
			if !seen[ref.Peeled] {
				seen[ref.Peeled] = true
				o.From = append(o.From, ref.Peeled)
			}
		}
	}
	return o, nil
}

// simple reports whether a walk in process gives git's own answer.
func (o LogOptions) simple() bool {
	return len(o.Not) == 0 && o.Path == "" && o.Author == "" && o.Message == "" && o.Since.IsZero() && o.Until.IsZero() &&
		!o.NoMerges && o.Order == OrderDefault && o.Limit > 0
}

func (o LogOptions) fingerprint() string {
	return fmt.Sprintf("%x|%x|%q|%q|%q|%d|%d|%t|%t|%d|%t|%d|%d", o.From, o.Not, o.Path, o.Author, o.Message,
		o.Since.Unix(), o.Until.Unix(), o.FirstParent, o.NoMerges, o.Order, o.Reverse, o.Skip, o.Limit)
}

func (r *Repo) revList(ctx context.Context, o LogOptions, extra []string, limit int) ([]byte, error) {
	args := append([]string{"rev-list"}, extra...)
	add := func(on bool, flag string) {
		if on {
			args = append(args, flag)
		}
	}
	add(o.FirstParent, "--first-parent")
	add(o.NoMerges, "--no-merges")
	add(o.Order == OrderTopo, "--topo-order")
	add(o.Order == OrderDate, "--date-order")
	add(o.Reverse, "--reverse")
	add(o.Skip > 0, "--skip="+strconv.Itoa(o.Skip))
	add(o.Limit > 0, "--max-count="+strconv.Itoa(o.Limit))
	add(!o.Since.IsZero(), "--max-age="+strconv.FormatInt(max(o.Since.Unix(), 0), 10))
	add(!o.Until.IsZero(), "--min-age="+strconv.FormatInt(max(o.Until.Unix(), 0), 10))
	add(o.Author != "" || o.Message != "", "--fixed-strings")
	add(o.Author != "" || o.Message != "", "--regexp-ignore-case")
	find := func(flag, text string) {
		add(text != "", flag+text)
		for _, form := range charset.Forms(text) { // git reads commits that name no encoding as they are
			add(true, flag+form)
		}
	}
	find("--author=", o.Author)
	find("--grep=", o.Message)
	add(true, "--stdin")
	add(true, "--")
	add(o.Path != "", o.Path)
	var in strings.Builder
	for _, id := range o.From {
		in.WriteString(id.String() + "\n")
	}
	for _, id := range o.Not {
		in.WriteString("^" + id.String() + "\n")
	}
	c := call{repo: r, args: args, stdin: strings.NewReader(in.String())}
	if o.Message != "" {
		c.load = searching
	}
	out, err := r.git.output(ctx, c, limit)
	return out, missing(err)
}

// missing types the complaint about an object that is not there.
func missing(err error) error {
	if err == nil {
		return nil
	}
	for _, text := range []string{"bad object", "Not a valid", "not a tree object", "not something we can merge", "unable to read tree"} {
		if strings.Contains(err.Error(), text) {
			return fmt.Errorf("%w: %w", gitstore.ErrNotFound, err)
		}
	}
	return err
}

func parseIDs(out []byte) ([]gitstore.ObjectID, error) {
	ids := make([]gitstore.ObjectID, 0, len(out)/41)
	for line := range bytes.Lines(out) {
		id, err := gitstore.ParseObjectID(string(bytes.TrimSpace(line)))
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// walkCommits is git's default walk: always the newest of the commits found so far,
// and of equal ones the one found first.
func (r *Repo) walkCommits(ctx context.Context, o LogOptions) ([]gitstore.ObjectID, error) {
	var queue []*gitstore.Commit
	seen := make(map[gitstore.ObjectID]bool)
	push := func(id gitstore.ObjectID) error {
		if seen[id] {
			return nil
		}
		seen[id] = true
		c, err := r.ShortCommit(ctx, id)
		if err != nil {
			return err
		}
		when := c.Committer.When.Unix()
		at := sort.Search(len(queue), func(i int) bool { return queue[i].Committer.When.Unix() < when })
		queue = append(queue, nil)
		copy(queue[at+1:], queue[at:])
		queue[at] = c
		return nil
	}
	for _, id := range o.From {
		info, err := r.Peel(ctx, id)
		if err != nil {
			return nil, err
		}
		if info.Kind != gitstore.KindCommit {
			continue
		}
		if err := push(info.ID); err != nil {
			return nil, err
		}
	}
	var out []gitstore.ObjectID
	for n := 0; len(queue) > 0 && n < o.Skip+o.Limit; n++ {
		c := queue[0]
		queue = queue[1:]
		if n >= o.Skip {
			out = append(out, c.ID)
		}
		parents := c.Parents
		if o.FirstParent && len(parents) > 1 {
			parents = parents[:1]
		}
		for _, p := range parents {
			if err := push(p); err != nil {
				return nil, err
			}
		}
	}
	if o.Reverse {
		for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
			out[i], out[j] = out[j], out[i]
		}
	}
	return out, nil
}
