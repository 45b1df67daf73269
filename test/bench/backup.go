package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"time"
)

// What a backup is measured with: files that do not compress, and clients that read meanwhile.
const (
	backupFiles    = 10
	backupFileSize = 96 << 20 // bytes
	backupClients  = 4
	backupRounds   = 4
)

// mostSlower is by how much a backup may slow reads down.
const mostSlower = 0.20

// measureBackup measures how much reads slow down during a backup: clients that list issues,
// alone and during a backup, by turns. It returns the requests that failed.
func measureBackup(ctx context.Context, o options, folder string, l *loader, w *world, out *report) (failed int, err error) {
	files, rounds := backupFiles, backupRounds
	if o.quick {
		files, rounds = 1, 1
	}
	for i := range files {
		if err := w.upload(ctx, i); err != nil {
			return 0, fmt.Errorf("upload: %w", err)
		}
	}
	op := w.read("list 20 issues", goal{}, rows(20), func(int) string { return w.project + "/issues?per_page=20" })
	if err := l.probe(ctx, op, 0); err != nil {
		return 0, err
	}
	var next atomic.Int64
	l.run(ctx, op, &next, backupClients, l.length/4) // warms up
	out.backupHeader(backupClients, float64(files)*backupFileSize)
	var alone, beside float64
	for range rounds {
		before := l.run(ctx, op, &next, backupClients, l.length)
		during, took, cpu, err := l.besideBackup(ctx, o, filepath.Join(folder, "backup.tar.zst"), op, &next)
		if err != nil {
			return failed, err
		}
		if before.done == 0 || during.done == 0 {
			return failed, fmt.Errorf("no request was answered as it should be: %s%s", before.sample, during.sample)
		}
		failed += before.errors + during.errors
		alone, beside = alone+before.rate, beside+during.rate
		out.backup(before, during, took, cpu)
	}
	out.backupGoal(1 - beside/alone)
	return failed, ctx.Err()
}

// besideBackup lets clients read from the beginning of a backup to its end. cpu is the
// processor time of the command, without that of the server.
func (l *loader) besideBackup(ctx context.Context, o options, file string, op operation, next *atomic.Int64) (f figures, took, cpu time.Duration, err error) {
	args := []string{"admin", "backup", "create", file, "--quiet", "--data", l.server.data}
	if o.database != "" {
		args = append(args, "--database", o.database)
	}
	cmd := exec.CommandContext(ctx, o.binary, args...)
	cmd.Env = foreign(os.Environ())
	reading, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	began := time.Now()
	go func() { // ends with the command
		text, err := cmd.CombinedOutput()
		took = time.Since(began)
		if err != nil {
			err = fmt.Errorf("back up: %w: %s", err, text)
		}
		stop()
		ended <- err
	}()
	f = l.run(reading, op, next, backupClients, 10*time.Minute)
	stop()
	if err := <-ended; err != nil {
		return f, 0, 0, err
	}
	return f, took, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), os.Remove(file)
}

// upload attaches a file that does not compress to the project.
func (w *world) upload(ctx context.Context, i int) (err error) {
	from, to := io.Pipe()
	form := multipart.NewWriter(to)
	go func() { // ends with the request, which closes the pipe
		part, err := form.CreateFormFile("file", fmt.Sprintf("large%d.bin", i))
		if err == nil {
			_, err = io.CopyN(part, rand.NewChaCha8([32]byte{byte(i)}), backupFileSize)
		}
		to.CloseWithError(errors.Join(err, form.Close()))
	}()
	defer func() { err = errors.Join(err, from.Close()) }()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url+"/api/v4"+w.project+"/uploads", from)
	if err != nil {
		return err
	}
	req.Header.Set("Private-Token", rootToken)
	req.Header.Set("Content-Type", form.FormDataContentType())
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusCreated {
		err = fmt.Errorf("%s: %s", resp.Status, text)
	}
	return err
}

func (r *report) backupHeader(clients int, bytes float64) {
	r.line("\n| %d clients list 20 issues | alone | p50 / p95 / p99 ms | during a backup of %.1f GB | p50 / p95 / p99 ms | fewer | took | CPU of the command |", clients, bytes/(1<<30))
	r.line("|---|--:|--:|--:|--:|--:|--:|--:|")
}

func (r *report) backup(alone, during figures, took, cpu time.Duration) {
	r.line("| | %s | %s | %s | %s | %.0f %% | %.1f s | %.1f s |", perSecond(alone), percentiles(alone), perSecond(during), percentiles(during),
		100*(1-during.rate/alone.rate), took.Seconds(), cpu.Seconds())
}

func (r *report) backupGoal(slower float64) {
	r.line("\nReads during a backup: %.0f %% fewer, goal %s", 100*slower, met(slower < mostSlower, fmt.Sprintf("less than %.0f %%", 100*mostSlower)))
}
