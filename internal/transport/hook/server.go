package hook

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"time"
)

// push is a push in progress that hooks ask about.
type push interface {
	// Check judges the whole push while its objects are in quarantine. A non-empty
	// refusal turns it down and is shown to the person who pushes.
	Check(ctx context.Context, call Call) (refusal string, err error)
	// Apply moves the references and gives a verdict for each, with a message for the
	// person who pushes.
	Apply(ctx context.Context, changes []Change) (verdicts []Verdict, message string, err error)
}

// Server answers hooks on a unix socket.
type Server struct {
	log      *slog.Logger
	dir      string // private folder of the socket and the hook links
	listener *net.UnixListener
	wg       sync.WaitGroup

	mu     sync.Mutex
	pushes map[string]push
}

// maxParent is how long the path of the folder may be in which the private one is made:
// a unix socket's name holds 107 bytes.
const maxParent = 80

// Listen opens the socket in a private folder below parent, or below the system's folder
// for temporary files where parent's path is too long for a socket, and links program
// there under the hooks' names, so that git starts it directly, without a shell.
func Listen(program, parent string, log *slog.Logger) (*Server, error) {
	if len(parent) > maxParent {
		parent = os.TempDir()
	} else if err := os.MkdirAll(parent, 0o700); err != nil {
		return nil, fmt.Errorf("make hook folder: %w", err)
	}
	dir, err := os.MkdirTemp(parent, prefix)
	if err != nil {
		return nil, fmt.Errorf("make hook folder: %w", err)
	}
	s := &Server{log: log, dir: dir, pushes: map[string]push{}}
	if err := os.Mkdir(s.HooksDir(), 0o700); err != nil {
		return nil, errors.Join(fmt.Errorf("make hook folder: %w", err), os.RemoveAll(dir))
	}
	for _, name := range []string{PreReceive, ProcReceive} {
		if err := os.Symlink(program, filepath.Join(s.HooksDir(), name)); err != nil {
			return nil, errors.Join(fmt.Errorf("link hook: %w", err), os.RemoveAll(dir))
		}
	}
	s.listener, err = net.ListenUnix("unix", &net.UnixAddr{Name: s.Socket(), Net: "unix"})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("listen for hooks: %w", err), os.RemoveAll(dir))
	}
	return s, nil
}

// prefix begins the name of every private folder.
const prefix = "hook-"

// Sweep removes the private folders that servers before left below parent when they
// were killed. No other server may run on the same data.
func (s *Server) Sweep(parent string) error {
	left, err := filepath.Glob(filepath.Join(parent, prefix+"*"))
	if err != nil {
		return fmt.Errorf("look for hook folders: %w", err)
	}
	for _, dir := range left {
		if dir != s.dir {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}
	return err
}

// Socket is the path of the unix socket.
func (s *Server) Socket() string { return filepath.Join(s.dir, "s") }

// HooksDir is the folder for git's core.hooksPath.
func (s *Server) HooksDir() string { return filepath.Join(s.dir, "hooks") }

func (s *Server) register(p push) (env []string, release func()) {
	token := rand.Text()
	s.mu.Lock()
	s.pushes[token] = p
	s.mu.Unlock()
	return []string{EnvSocket + "=" + s.Socket(), EnvToken + "=" + token}, func() {
		s.mu.Lock()
		delete(s.pushes, token)
		s.mu.Unlock()
	}
}

// Serve answers calls until Close.
func (s *Server) Serve(ctx context.Context) error {
	for {
		conn, err := s.listener.AcceptUnix()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return nil
			}
			return fmt.Errorf("accept hook call: %w", err)
		}
		s.wg.Go(func() { s.answer(ctx, conn) })
	}
}

// Close stops listening, waits for calls in progress and removes the private folder.
func (s *Server) Close() error {
	err := s.listener.Close()
	s.wg.Wait()
	return errors.Join(err, os.RemoveAll(s.dir))
}

func (s *Server) answer(ctx context.Context, conn *net.UnixConn) {
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Minute)); err != nil {
		s.log.Error("hook call failed", "error", err)
		return
	}
	var call Call
	if err := readJSON(conn, &call); err != nil {
		s.log.Error("hook call failed", "error", err)
		return
	}
	s.mu.Lock()
	p, ok := s.pushes[call.Token]
	s.mu.Unlock()
	if !ok {
		s.log.Warn("hook call for an unknown push", "hook", call.Hook)
		return
	}
	reply, err := s.reply(ctx, p, call)
	if err != nil {
		s.log.Error("hook call failed", "hook", call.Hook, "error", err)
		return // the client sees the connection end and refuses the push
	}
	if err := writeJSON(conn, reply); err != nil {
		s.log.Error("hook call failed", "hook", call.Hook, "error", err)
	}
}

func (s *Server) reply(ctx context.Context, p push, call Call) (out Reply, err error) {
	defer func() {
		if caught := recover(); caught != nil {
			err = fmt.Errorf("panic: %v\n%s", caught, debug.Stack())
		}
	}()
	switch call.Hook {
	case PreReceive:
		refusal, err := p.Check(ctx, call)
		return Reply{Refused: refusal != "", Message: refusal}, err
	case ProcReceive:
		verdicts, message, err := p.Apply(ctx, call.Changes)
		return Reply{Verdicts: verdicts, Message: message}, err
	default:
		return Reply{}, fmt.Errorf("unknown hook %q", call.Hook)
	}
}
