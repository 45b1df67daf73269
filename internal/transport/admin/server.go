// Package admin carries the commands of "tenon admin" to a running server, over a unix
// socket that only its own user can reach.
package admin

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"

	"tenon/internal/base/errs"
)

// Handler runs one command. What it tells is shown at once; a refusal is an errs.Error.
type Handler func(ctx context.Context, args json.RawMessage, tell func(line string)) (result any, err error)

// Streamer is a Handler that writes bytes to the client while it runs.
type Streamer func(ctx context.Context, args json.RawMessage, out io.Writer, tell func(line string)) (result any, err error)

// call is what a client sends: one line.
type call struct {
	Command string          `json:"command"`
	Args    json.RawMessage `json:"args"`
}

// reply is one line of the answer; the last one is done.
type reply struct {
	Bytes  int             `json:"bytes,omitempty"` // that follow the line as they are
	Line   string          `json:"line,omitempty"`
	Done   bool            `json:"done,omitempty"`
	Error  string          `json:"error,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
}

// Server answers commands.
type Server struct {
	handlers map[string]Handler
	streams  map[string]Streamer
	log      *slog.Logger
	listener *net.UnixListener
	left     []string      // files and folders to remove in the end
	done     chan struct{} // closed when the server ends
	wg       sync.WaitGroup
}

// Names in the folder of what runs: the socket, and the file that says where it is.
const (
	socketName = "admin.sock"
	placeName  = "admin"
	maxSocket  = 100     // bytes of a socket's path; the kernel takes 107
	maxCall    = 1 << 20 // bytes
)

// Listen opens the socket in the folder run, or where that has too long a path in one
// below the system's folder for temporary files, and notes in run where it is. No other
// server may use run.
func Listen(run string, handlers map[string]Handler, streams map[string]Streamer, log *slog.Logger) (*Server, error) {
	s := &Server{handlers: handlers, streams: streams, log: log, done: make(chan struct{})}
	if err := s.listen(run); err != nil {
		return nil, errors.Join(fmt.Errorf("listen for admin commands: %w", err), s.sweep())
	}
	return s, nil
}

func (s *Server) listen(run string) error {
	if err := os.MkdirAll(run, 0o700); err != nil {
		return err
	}
	socket := filepath.Join(run, socketName)
	if len(socket) > maxSocket {
		dir, err := os.MkdirTemp("", "tenon-admin-")
		if err != nil {
			return err
		}
		s.left = append(s.left, dir)
		socket = filepath.Join(dir, "s")
	}
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) { // of a server that was killed
		return err
	}
	var err error
	if s.listener, err = net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"}); err != nil {
		return err
	}
	if err := os.Chmod(socket, 0o600); err != nil {
		return errors.Join(err, s.listener.Close())
	}
	place := filepath.Join(run, placeName)
	s.left = append(s.left, place)
	if err := os.WriteFile(place, []byte(socket+"\n"), 0o600); err != nil {
		return errors.Join(err, s.listener.Close())
	}
	return nil
}

func (s *Server) sweep() error {
	var all []error
	for _, path := range s.left {
		all = append(all, os.RemoveAll(path))
	}
	return errors.Join(all...)
}

// Serve answers commands until Close.
func (s *Server) Serve(ctx context.Context) error {
	for {
		conn, err := s.listener.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("accept admin command: %w", err)
		}
		s.wg.Go(func() { s.answer(ctx, conn) })
	}
}

// Close stops listening, ends commands in progress and removes the socket.
func (s *Server) Close() error {
	close(s.done)
	err := s.listener.Close()
	s.wg.Wait()
	return errors.Join(err, s.sweep())
}

func (s *Server) answer(ctx context.Context, conn *net.UnixConn) {
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	in := bufio.NewReader(io.LimitReader(conn, maxCall))
	text, err := in.ReadBytes('\n')
	var c call
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil {
		s.log.Warn("admin command cannot be read", "error", err)
		return
	}
	go func() { // ends with the command
		select {
		case <-s.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	go func() { // ends when the client, or this function, closes the connection
		_, _ = io.Copy(io.Discard, conn)
		cancel()
	}()
	var mu sync.Mutex
	write := func(r reply, content []byte) error {
		mu.Lock()
		defer mu.Unlock()
		line, err := json.Marshal(r)
		if err == nil {
			_, err = conn.Write(append(line, '\n'))
		}
		if err == nil && len(content) > 0 {
			_, err = conn.Write(content)
		}
		if err != nil {
			cancel() // no caller listens any more
		}
		return err
	}
	send := func(r reply) { _ = write(r, nil) }
	out := bufio.NewWriterSize(writerFunc(func(p []byte) (int, error) { return len(p), write(reply{Bytes: len(p)}, p) }), streamBuffer)
	s.log.Info("admin command", "command", c.Command)
	result, err := s.run(ctx, c, out, func(line string) { send(reply{Line: line}) })
	if flushed := out.Flush(); err == nil {
		err = flushed
	}
	last := reply{Done: true}
	if err == nil {
		last.Result, err = json.Marshal(result)
	}
	if err != nil {
		last.Error, last.Result = err.Error(), nil
		if errs.KindOf(err) == errs.Internal {
			s.log.Error("admin command failed", "command", c.Command, "error", err)
		}
	}
	send(last)
}

// streamBuffer is how many bytes of a stream go out at a time.
const streamBuffer = 256 << 10

type writerFunc func(p []byte) (int, error)

// Write calls f.
func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func (s *Server) run(ctx context.Context, c call, out io.Writer, tell func(string)) (result any, err error) {
	defer func() {
		if caught := recover(); caught != nil {
			s.log.Error("panic in admin command", "command", c.Command, "error", fmt.Sprint(caught), "stack", string(debug.Stack()))
			err = errors.New("the server could not finish this (see its log)")
		}
	}()
	if stream, ok := s.streams[c.Command]; ok {
		return stream(ctx, c.Args, out, tell)
	}
	h, ok := s.handlers[c.Command]
	if !ok {
		return nil, fmt.Errorf("the server does not know the command %q (it is of another version than this program)", c.Command)
	}
	return h(ctx, c.Args, tell)
}
