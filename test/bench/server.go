package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// rootToken signs the administrator on.
const rootToken = "tenon-bench-root-token"

// server is a running binary.
type server struct {
	cmd    *exec.Cmd
	log    *os.File
	data   string
	url    string        // http://host:port
	answer time.Duration // from the start of the process to the first answer
}

// startServer runs the binary on a data folder until it has answered one request.
func startServer(ctx context.Context, o options, data string) (*server, error) {
	log, err := os.Create(data + ".log")
	if err != nil {
		return nil, err
	}
	args := []string{"serve", "--data", data, "--http", "127.0.0.1:0", "--ssh", "127.0.0.1:0"}
	if o.database != "" {
		args = append(args, "--database", o.database)
	}
	s := &server{cmd: exec.Command(o.binary, args...), log: log, data: data}
	s.cmd.Stderr = log
	s.cmd.Env = append(foreign(os.Environ()), "TENON_RATE_LIMITS=off", "TENON_ROOT_TOKEN="+rootToken, "TENON_ROOT_PASSWORD=only-for-measuring-1")
	began := time.Now()
	if err := s.cmd.Start(); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	if err := s.ready(ctx); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	if _, err := newAPI(s.url, rootToken).get(ctx, "/user"); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	s.answer = time.Since(began)
	return s, nil
}

// foreign leaves out what would configure the server.
func foreign(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(v string) bool { return strings.HasPrefix(v, "TENON_") })
}

// ready waits for the line that names the address.
func (s *server) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	const mark = "tenon: ready on "
	for {
		text, err := os.ReadFile(s.log.Name())
		if err != nil {
			return err
		}
		if _, after, ok := bytes.Cut(text, []byte(mark)); ok {
			if url, _, ok := bytes.Cut(after, []byte("\n")); ok {
				s.url = string(url)
				return nil
			}
		}
		if err := wait(ctx, time.Millisecond); err != nil {
			return fmt.Errorf("the server did not start: %w\n%s", err, text)
		}
	}
}

// stop asks the server to end and waits for it.
func (s *server) stop() error {
	defer s.log.Close()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	if err := s.cmd.Wait(); err != nil {
		return fmt.Errorf("the server ended with %w; its log is %s", err, s.log.Name())
	}
	return nil
}

// measureStart starts on empty folders and again, and leaves the last server running.
func measureStart(ctx context.Context, o options, folder string, out *report) (*server, error) {
	rounds := 5
	if o.quick || o.database != "" {
		rounds = 1 // one database can be empty once
	}
	var first, later []time.Duration
	for i := range rounds {
		data := filepath.Join(folder, fmt.Sprintf("data%d", i+1))
		s, err := startServer(ctx, o, data)
		if err != nil {
			return nil, err
		}
		first = append(first, s.answer)
		if err := s.stop(); err != nil {
			return nil, err
		}
		if s, err = startServer(ctx, o, data); err != nil {
			return nil, err
		}
		later = append(later, s.answer)
		if i == rounds-1 {
			out.start(median(first), median(later))
			return s, nil
		}
		if err := s.stop(); err != nil {
			return nil, err
		}
	}
	return nil, errors.New("no round of starts")
}

// median of a list that is not empty; the list is sorted.
func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}
