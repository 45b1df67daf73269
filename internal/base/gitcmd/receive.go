package gitcmd

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"tenon/internal/base/gitstore"
)

// Receive is one push as its client sends it.
type Receive struct {
	Advertise bool     // list the references only, as a first HTTP request wants
	Stateless bool     // one request and its answer, as HTTP does it: nothing is listed before
	Protocol  string   // the client's Git-Protocol
	Hidden    []string // prefixes of references that are not listed, such as "refs/keep-around/"
	MaxInput  int64    // bytes that a pack may have; 0 is no bound
	TooLarge  string   // the message to the client where the pack has more; "" sends the message of git alone
	Judge     Judge    // not asked where references are listed only
	Refuse    Refuse   // nil refuses no reference
	Stdin     io.Reader
	Stdout    io.Writer
}

// Refuse returns the reason why no push may make a change, "" where one may. Such changes are refused in the
// report, and the others are made, unless the client asks for all or none.
type Refuse func(change gitstore.RefUpdate) string

// Judge decides what becomes of a push. Names of references come as the client wrote them.
type Judge interface {
	// Check looks at the whole push while view alone sees its objects. A refusal is shown
	// to the client that pushes; "" is none. The reasons are those of single references in the
	// report; nil, and "" for one of them, is the usual one.
	Check(ctx context.Context, view *Repo, changes []gitstore.RefUpdate, options []string) (refusal string, reasons []string)
	// Apply moves the references once the objects are part of the repository. It says for
	// each of them why it did not move, "" where it did, and what the client that pushes should know.
	Apply(ctx context.Context, changes []gitstore.RefUpdate) (reasons []string, message string)
	// Failed is called with the reason why the server could not take the push; the client learns only that
	// it could not.
	Failed(err error)
}

// ErrProtocol means that a client does not speak git's protocol.
var ErrProtocol = errors.New("protocol error")

// ReceivePack takes a push. Its objects go to a quarantine, where git checks them and that
// nothing they need is missing; the judge decides, and only then they become part of the
// repository, durably. Two processes do this for a push that brings objects. What is
// refused is reported to the client and is no error.
func (r *Repo) ReceivePack(ctx context.Context, p Receive) error {
	if !r.Exists() {
		return fmt.Errorf("repository: %w", gitstore.ErrNotFound)
	}
	if p.Advertise || !p.Stateless {
		if err := r.advertise(ctx, p); err != nil || p.Advertise {
			return err
		}
	}
	in := bufio.NewReaderSize(p.Stdin, 64<<10)
	req, err := readPush(ctx, in)
	if err != nil || req == nil {
		return err
	}
	out := newPushAnswer(p.Stdout, req)
	defer out.rest()
	t := &taking{repo: r, push: p, req: req, in: in, out: out}
	if t.quarantine, err = r.Quarantine(ctx); err != nil {
		return err
	}
	defer func() { _ = t.quarantine.Discard() }() // housekeeping removes what is left
	unpacked, reasons, err := t.take(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return err
	case err != nil:
		p.Judge.Failed(err)
		unpacked, reasons = "", t.all("internal server error")
	}
	return out.report(unpacked, reasons)
}

// taking is a push under way.
type taking struct {
	repo       *Repo
	push       Receive
	req        *pushRequest
	in         *bufio.Reader
	out        *pushAnswer
	quarantine *Quarantine
	changes    []gitstore.RefUpdate // those that Refuse lets through
	refused    []string             // reasons of Refuse for all changes of the client
}

// sort divides the changes of the client by Refuse.
func (t *taking) sort() {
	t.refused = make([]string, len(t.req.changes))
	for i, c := range t.req.changes {
		if t.push.Refuse != nil {
			t.refused[i] = t.push.Refuse(c)
		}
		if t.refused[i] == "" {
			t.changes = append(t.changes, c)
		}
	}
	if t.req.atomic && len(t.changes) < len(t.req.changes) {
		t.refused, t.changes = t.all("atomic push failure"), nil
	}
}

// take returns what the report says: of the pack, "" for all is well, and of each reference.
func (t *taking) take(ctx context.Context) (unpacked string, reasons []string, err error) {
	t.sort()
	brought := false
	if len(tipsOf(t.req.changes)) > 0 {
		brought, err = t.unpack(ctx)
		switch failed, ofGit := errors.AsType[*Error](err); {
		case ofGit && ctx.Err() == nil:
			if strings.Contains(failed.Stderr, "pack exceeds maximum allowed size") {
				t.out.say(t.push.TooLarge)
			}
			return failed.Command + " abnormal exit", t.all("unpacker error"), nil
		case errors.Is(err, ErrProtocol):
			return strings.TrimPrefix(err.Error(), "unpack: "), t.all("unpacker error"), nil
		case err != nil:
			return "", nil, err
		}
		t.out.keepAlive()
		connected, err := t.connected(ctx, tipsOf(t.changes))
		if err != nil {
			return "", nil, err
		}
		if !connected && len(t.req.shallow) > 0 {
			return "", t.all("shallow update not allowed"), nil
		}
		if !connected {
			return "", t.all("missing necessary objects"), nil
		}
	}
	if len(t.changes) == 0 {
		return "", t.refused, nil
	}
	view := t.repo
	if brought {
		view = t.quarantine.Repo
		defer view.CloseView()
	}
	if refusal, why := t.push.Judge.Check(ctx, view, t.changes, t.req.options); refusal != "" {
		t.out.say(refusal)
		reasons = make([]string, len(t.changes))
		for i := range reasons {
			reasons[i] = "pre-receive hook declined" // the words that clients know
			if i < len(why) {
				reasons[i] = cmp.Or(why[i], reasons[i])
			}
		}
		return "", t.report(reasons), nil
	}
	if brought {
		if err := t.quarantine.Commit(ctx); err != nil {
			return "", nil, err
		}
	}
	reasons, message := t.push.Judge.Apply(ctx, t.changes)
	t.out.say(message)
	return "", t.report(reasons), nil
}

// report returns the reasons for all changes of the client from those for the changes that were let through.
func (t *taking) report(reasons []string) []string {
	out := slices.Clone(t.refused)
	for i := range out {
		if out[i] == "" {
			out[i], reasons = reasons[0], reasons[1:]
		}
	}
	return out
}

// all returns one reason for every reference without one of its own.
func (t *taking) all(reason string) []string {
	reasons := make([]string, len(t.req.changes))
	for i := range reasons {
		reasons[i] = reason
		if i < len(t.refused) {
			reasons[i] = cmp.Or(t.refused[i], reason)
		}
	}
	return reasons
}

// unpack stores the pack that follows in the quarantine, checked, and reports whether
// there was anything in it. A few objects become files of their own.
func (t *taking) unpack(ctx context.Context) (bool, error) {
	head, err := peek(ctx, t.in, 12) // "PACK", version, number of objects
	switch {
	case err != nil && ctx.Err() != nil:
		return false, fmt.Errorf("unpack: %w", err)
	case err != nil:
		return false, fmt.Errorf("unpack: %w: eof before pack header was fully read", ErrProtocol)
	case string(head[:4]) != "PACK":
		return false, fmt.Errorf("unpack: %w (bad pack signature)", ErrProtocol)
	}
	number := binary.BigEndian.Uint32(head[8:])
	if number == 0 { // and there is nothing to check but itself
		return false, t.skipEmpty(ctx)
	}
	c := call{
		// A delta of a few bytes can stand for gigabytes; files that are sent whole are not
		// held in memory. What is in quarantine is made durable when it leaves it.
		repo: t.quarantine.Repo, config: []string{"core.fsync=none"}, env: []string{"GIT_ALLOC_LIMIT=1g"},
		stdin: t.in, stdout: io.Discard, stderr: t.out.progress(), load: pushing,
	}
	if len(t.req.shallow) > 0 {
		name, err := t.grafts()
		if err != nil {
			return false, err
		}
		defer func() { _ = os.Remove(name) }() // a small file among temporary ones
		c.env = append(c.env, "GIT_SHALLOW_FILE="+name)
	}
	switch {
	case number < looseUpTo:
		c.args = []string{"unpack-objects", "--strict"}
		if t.req.quiet || !t.req.sideband {
			c.args = append(c.args, "-q")
		}
	default:
		c.args = []string{"index-pack", "--stdin", "--fix-thin", "--strict"}
		if t.req.sideband {
			c.args = append(c.args, "--report-end-of-input")
		}
		if !t.req.quiet && t.req.sideband {
			c.args = append(c.args, "--show-resolving-progress")
		}
	}
	if t.push.MaxInput > 0 {
		c.args = append(c.args, "--max-input-size="+strconv.FormatInt(t.push.MaxInput, 10))
	}
	return true, t.repo.git.run(ctx, c)
}

// skipEmpty reads over a pack that holds nothing: its head and its sum.
func (t *taking) skipEmpty(ctx context.Context) error {
	const head, sum = 12, 20
	if _, err := peek(ctx, t.in, head+sum); err != nil {
		return fmt.Errorf("unpack: %w: early EOF", ErrProtocol)
	}
	_, err := t.in.Discard(head + sum)
	return err
}

// grafts writes down where the history ends that the client has, for git to expect no
// parents there.
func (t *taking) grafts() (string, error) {
	f, err := os.CreateTemp("", "shallow-*")
	if err != nil {
		return "", fmt.Errorf("unpack: %w", err)
	}
	for _, id := range t.req.shallow {
		if _, err = f.WriteString(id.String() + "\n"); err != nil {
			break
		}
	}
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(f.Name())
		return "", fmt.Errorf("unpack: %w", err)
	}
	return f.Name(), nil
}

// connected reports whether the repository and the quarantine hold all that the tips need.
// What a reference names already is whole.
func (t *taking) connected(ctx context.Context, tips []gitstore.ObjectID) (bool, error) {
	refs, err := t.repo.RefNames(ctx, "refs/")
	if err != nil {
		return false, err
	}
	held := make(map[gitstore.ObjectID]bool, len(refs))
	for _, ref := range refs {
		held[ref.ID] = true
	}
	var in strings.Builder
	for _, id := range tips {
		if !held[id] {
			in.WriteString(id.String() + "\n")
		}
	}
	if in.Len() == 0 {
		return true, nil
	}
	err = t.repo.git.run(ctx, call{
		repo: t.quarantine.Repo, args: []string{"rev-list", "--objects", "--stdin", "--quiet", "--not", "--all"},
		stdin: strings.NewReader(in.String()), stdout: io.Discard, load: long,
	})
	if exitCode(err) > 0 && ctx.Err() == nil {
		return false, nil
	}
	return err == nil, err
}
