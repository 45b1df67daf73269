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
	if err := ask(conn, command, args, result, tell); err != nil {
		return errors.Join(ctx.Err(), err)
	}
	return nil
}

func ask(conn io.ReadWriter, command string, args, result any, tell func(line string)) error {
	text, err := json.Marshal(args)
	if err != nil {
		return fmt.Errorf("encode command: %w", err)
	}
	if text, err = json.Marshal(call{Command: command, Args: text}); err != nil {
		return fmt.Errorf("encode command: %w", err)
	}
	if _, err := conn.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("send command: %w", err)
	}
	in := bufio.NewReader(conn)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return fmt.Errorf("the server ended before it answered: %w", err)
		}
		var r reply
		if err := json.Unmarshal(line, &r); err != nil {
			return fmt.Errorf("read answer: %w", err)
		}
		switch {
		case !r.Done:
			tell(r.Line)
		case r.Error != "":
			return errors.New(r.Error)
		default:
			if err := json.Unmarshal(r.Result, result); err != nil {
				return fmt.Errorf("read answer: %w", err)
			}
			return nil
		}
	}
}
