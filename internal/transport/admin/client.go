package admin

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// ErrNotRunning says that no server answers at a folder.
var ErrNotRunning = errors.New("no server is running")

// Call has the server whose folder of what runs is run carry out a command, and decodes
// the result. Where there is none it is ErrNotRunning.
func Call(ctx context.Context, run, command string, args, result any, tell func(line string)) error {
	return Stream(ctx, run, Command{Name: command, Args: args, Result: result, Out: io.Discard, Tell: tell})
}

// Command is what is asked for, and where what comes back goes.
type Command struct {
	Name   string
	Args   any
	Result any               // a pointer
	Out    io.Writer         // of the bytes that some commands give
	Tell   func(line string) // of progress
}

// Stream is Call for a command that returns bytes besides its result.
func Stream(ctx context.Context, run string, c Command) error {
	place, err := os.ReadFile(filepath.Join(run, placeName))
	if errors.Is(err, os.ErrNotExist) {
		return ErrNotRunning
	}
	if err != nil {
		return fmt.Errorf("look for the server: %w", err)
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", strings.TrimSpace(string(place)))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) { // it was killed
		return ErrNotRunning
	}
	if err != nil {
		return fmt.Errorf("reach the server: %w (run this as the user that the server runs as)", err)
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if err := ask(conn, c); err != nil {
		return errors.Join(ctx.Err(), err)
	}
	return nil
}

func ask(conn io.ReadWriter, c Command) error {
	text, err := json.Marshal(c.Args)
	if err != nil {
		return fmt.Errorf("encode command: %w", err)
	}
	if text, err = json.Marshal(call{Command: c.Name, Args: text}); err != nil {
		return fmt.Errorf("encode command: %w", err)
	}
	if _, err := conn.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("the server ended before it answered: %w", err)
	}
	from := &source{Reader: conn}
	in := bufio.NewReaderSize(from, streamBuffer)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return from.ended()
		}
		var r reply
		if err := json.Unmarshal(line, &r); err != nil {
			return fmt.Errorf("read answer: %w", err)
		}
		switch {
		case r.Bytes > 0:
			if _, err := io.CopyN(c.Out, in, int64(r.Bytes)); err != nil {
				if from.err != nil {
					return from.ended()
				}
				return fmt.Errorf("take what the server sends: %w", err)
			}
		case !r.Done:
			c.Tell(r.Line)
		case r.Error != "":
			return errors.New(r.Error)
		default:
			if err := json.Unmarshal(r.Result, c.Result); err != nil {
				return fmt.Errorf("read answer: %w", err)
			}
			return nil
		}
	}
}

// source remembers how reading from a server ended, apart from how writing elsewhere did.
type source struct {
	io.Reader
	err error
}

// Read reads.
func (s *source) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil {
		s.err = err
	}
	return n, err
}

func (s *source) ended() error {
	return fmt.Errorf("the server ended before it answered: %w", s.err)
}
