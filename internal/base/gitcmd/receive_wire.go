package gitcmd

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"tenon/internal/base/gitstore"
)

// What a push may say before its pack.
const (
	maxPushRefs    = 50_000
	maxPushOptions = 1000
	maxPushWords   = 16 << 20 // bytes of all lines together
	maxPushName    = 4096     // bytes of the name of a reference
)

const maxPacket = 65520 // bytes of a packet line, its length included

// pushCapabilities is what the server can do for a push.
const pushCapabilities = "report-status report-status-v2 delete-refs side-band-64k quiet atomic ofs-delta push-options object-format=sha1 agent=tenon"

// advertise lists what is in the repository.
func (r *Repo) advertise(ctx context.Context, p Receive) error {
	refs, err := r.RefNames(ctx, "refs/")
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if ProtocolVersion(p.Protocol) == 1 {
		out.WriteString(Packet("version 1\n"))
	}
	words := "\x00" + pushCapabilities
	for _, ref := range refs {
		if !ref.Name.Below(p.Hidden) {
			out.WriteString(Packet(ref.ID.String() + " " + string(ref.Name) + words + "\n"))
			words = ""
		}
	}
	if words != "" {
		out.WriteString(Packet(gitstore.ObjectID{}.String() + " capabilities^{}" + words + "\n"))
	}
	out.WriteString("0000")
	_, err = p.Stdout.Write(out.Bytes())
	return err
}

// pushRequest is what a client says before its pack.
type pushRequest struct {
	changes  []gitstore.RefUpdate
	options  []string
	shallow  []gitstore.ObjectID // commits whose parents the client does not have
	report   bool                // it wants a report about each reference
	sideband bool
	quiet    bool
	atomic   bool // it wants all of its changes or none
}

// tipsOf returns the objects that references are to name.
func tipsOf(changes []gitstore.RefUpdate) []gitstore.ObjectID {
	var ids []gitstore.ObjectID
	seen := make(map[gitstore.ObjectID]bool)
	for _, c := range changes {
		if !c.New.IsZero() && !seen[c.New] {
			seen[c.New] = true
			ids = append(ids, c.New)
		}
	}
	return ids
}

// readPush reads commands and options; nil for a client that wants nothing.
func readPush(ctx context.Context, in *bufio.Reader) (*pushRequest, error) {
	var q pushRequest
	options := false
	left := maxPushWords
	err := interruptible(ctx, func() error {
		err := readSection(in, &left, func(line string) error {
			if digits, ok := strings.CutPrefix(line, "shallow "); ok {
				id, err := gitstore.ParseObjectID(digits)
				if err != nil {
					return fmt.Errorf("command %q: %w", clip(line), ErrProtocol)
				}
				q.shallow = append(q.shallow, id)
				return nil
			}
			line, words, first := strings.Cut(line, "\x00")
			if first && len(q.changes) == 0 {
				for word := range strings.FieldsSeq(words) {
					switch word {
					case "report-status", "report-status-v2":
						q.report = true
					case "side-band-64k":
						q.sideband = true
					case "quiet":
						q.quiet = true
					case "atomic":
						q.atomic = true
					case "push-options":
						options = true
					default:
						if format, ok := strings.CutPrefix(word, "object-format="); ok && format != "sha1" {
							return fmt.Errorf("object format %q: %w", clip(format), ErrProtocol)
						}
					}
				}
			}
			if len(q.changes) == maxPushRefs {
				return fmt.Errorf("more than %d references in one push: %w", maxPushRefs, gitstore.ErrTooLarge)
			}
			change, err := parseCommand(line)
			q.changes = append(q.changes, change)
			return err
		})
		if err != nil || !options {
			return err
		}
		return readSection(in, &left, func(line string) error {
			if len(q.options) == maxPushOptions {
				return fmt.Errorf("more than %d options in one push: %w", maxPushOptions, gitstore.ErrTooLarge)
			}
			q.options = append(q.options, line)
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read push: %w", err)
	}
	if len(q.changes) == 0 {
		return nil, nil
	}
	return &q, nil
}

// parseCommand reads "<old> <new> <reference>".
func parseCommand(line string) (gitstore.RefUpdate, error) {
	parts := strings.SplitN(line, " ", 3)
	if len(parts) != 3 || len(parts[2]) > maxPushName {
		return gitstore.RefUpdate{}, fmt.Errorf("command %q: %w", clip(line), ErrProtocol)
	}
	before, err1 := gitstore.ParseObjectID(parts[0])
	after, err2 := gitstore.ParseObjectID(parts[1])
	if err1 != nil || err2 != nil {
		return gitstore.RefUpdate{}, fmt.Errorf("command %q: %w", clip(line), ErrProtocol)
	}
	return gitstore.RefUpdate{Ref: gitstore.RefName(parts[2]), Old: before, New: after}, nil
}

// readSection hands the lines up to a flush to fn, without their ends. left is what may
// still come, in bytes.
func readSection(in *bufio.Reader, left *int, fn func(line string) error) error {
	for {
		head, n, err := packetLength(in)
		switch {
		case errors.Is(err, gitstore.ErrMalformed), err == nil && n != 0 && n < len(head), n > maxPacket:
			return fmt.Errorf("line of length %q: %w", head[:], ErrProtocol)
		case err != nil:
			return hungUp(err)
		case n == 0:
			return nil
		}
		if *left -= n; *left < 0 {
			return fmt.Errorf("commands of more than %d bytes: %w", maxPushWords, gitstore.ErrTooLarge)
		}
		line := make([]byte, n-4)
		if _, err := io.ReadFull(in, line); err != nil {
			return hungUp(err)
		}
		if err := fn(string(bytes.TrimSuffix(line, []byte("\n")))); err != nil {
			return err
		}
	}
}

// hungUp types an input that ends too early.
func hungUp(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the other side hung up: %w", ErrProtocol)
	}
	return err
}

// peek looks at the next bytes of the input.
func peek(ctx context.Context, in *bufio.Reader, n int) (head []byte, err error) {
	err = interruptible(ctx, func() error {
		var err error
		head, err = in.Peek(n)
		return err
	})
	if err != nil {
		return nil, err
	}
	return head, nil
}

// interruptible waits for fn, which reads from a client, or for the end of ctx. fn itself
// ends when the input does, as feed.
func interruptible(ctx context.Context, fn func() error) error {
	done := make(chan error, 1)
	go func() { done <- fn() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// pushAnswer writes what a client reads of its push. It is safe for concurrent use.
type pushAnswer struct {
	request *pushRequest
	mu      sync.Mutex
	out     io.Writer
	err     error         // of the first write that failed
	alive   chan struct{} // closed to end the signs of life; nil where there are none
	beating sync.WaitGroup
}

func newPushAnswer(out io.Writer, q *pushRequest) *pushAnswer {
	return &pushAnswer{request: q, out: out}
}

// The bands of an answer.
const (
	bandData     = 1
	bandProgress = 2
)

// signOfLife is how often a client that waits hears from us.
const signOfLife = 5 * time.Second

// keepAlive sends something now and then from now on, so that no proxy on the way takes the
// connection for dead.
func (a *pushAnswer) keepAlive() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.alive != nil || !a.request.sideband {
		return
	}
	alive := make(chan struct{})
	a.alive = alive
	a.beating.Go(func() {
		tick := time.NewTicker(signOfLife)
		defer tick.Stop()
		for {
			select {
			case <-alive:
				return
			case <-tick.C:
				a.mu.Lock()
				a.write([]byte("0005\x01"))
				a.mu.Unlock()
			}
		}
	})
}

// rest ends the signs of life and waits for the last one.
func (a *pushAnswer) rest() {
	a.mu.Lock()
	if a.alive != nil {
		close(a.alive)
		a.alive = nil
	}
	a.mu.Unlock()
	a.beating.Wait()
}

// write sends on; a.mu is held.
func (a *pushAnswer) write(p []byte) {
	if a.err == nil {
		_, a.err = a.out.Write(p)
	}
}

// band appends content as packets of one band.
func band(to *bytes.Buffer, number byte, content []byte) {
	for len(content) > 0 {
		n := min(len(content), maxPacket-5)
		to.WriteString(Packet(string(number) + string(content[:n])))
		content = content[n:]
	}
}

// say shows a text to the client that pushes, where the client has an ear for it.
func (a *pushAnswer) say(text string) {
	if text == "" {
		return
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	a.tell([]byte(text))
}

func (a *pushAnswer) tell(text []byte) {
	if !a.request.sideband || len(text) == 0 {
		return
	}
	var out bytes.Buffer
	band(&out, bandProgress, text)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.write(out.Bytes())
}

// progress is where git writes messages for the client that pushes. A NUL in it says that the pack
// has come in whole.
func (a *pushAnswer) progress() io.Writer { return progressWriter{a} }

type progressWriter struct{ answer *pushAnswer }

// Write never fails: git is not to stop because nothing reads its output.
func (w progressWriter) Write(p []byte) (int, error) {
	text := p
	if bytes.IndexByte(p, 0) >= 0 {
		text = bytes.ReplaceAll(p, []byte{0}, nil)
		w.answer.keepAlive()
	}
	w.answer.tell(text)
	return len(p), nil
}

// report says what became of the pack, "" for all is well, and of each reference.
func (a *pushAnswer) report(unpacked string, reasons []string) error {
	a.rest()
	var lines, out bytes.Buffer
	if a.request.report {
		if unpacked == "" {
			unpacked = "ok"
		}
		lines.WriteString(Packet("unpack " + oneLine(unpacked) + "\n"))
		for i, c := range a.request.changes {
			if reasons[i] == "" {
				lines.WriteString(Packet("ok " + string(c.Ref) + "\n"))
			} else {
				lines.WriteString(Packet("ng " + string(c.Ref) + " " + oneLine(reasons[i]) + "\n"))
			}
		}
		lines.WriteString("0000")
	}
	if a.request.sideband {
		band(&out, bandData, lines.Bytes())
		out.WriteString("0000")
	} else {
		out = lines
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.write(out.Bytes())
	return a.err
}

func oneLine(text string) string { return clip(strings.ReplaceAll(text, "\n", " ")) }
