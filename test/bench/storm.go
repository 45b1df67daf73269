package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// forgetPacks has the server make its answers to clones again.
func (s *server) forgetPacks() error {
	kept, err := filepath.Glob(filepath.Join(s.data, "cache", "packs", "*"))
	for _, name := range kept {
		err = errors.Join(err, os.Remove(name))
	}
	return err
}

// storms compares what many identical clones at once cost the server with what one costs.
// The clients only drain the answers, so that the machine is the server's.
func (t *transport) storms(ctx context.Context, o options, out *report) error {
	rounds := 5
	if o.quick {
		rounds = 2
	}
	var one time.Duration
	for range rounds {
		cpu, _, _, err := t.storm(ctx, 1)
		if err != nil {
			return err
		}
		one += cpu / time.Duration(rounds)
	}
	out.stormHeader()
	for _, n := range []int{20, 100} {
		cpu, wall, bytes, err := t.storm(ctx, n)
		if err != nil {
			return err
		}
		most := map[int]float64{20: 3, 100: 2}[n]
		out.storm(n, one, cpu, wall, bytes, most)
	}
	return nil
}

// storm clones n times at once from a cache that is empty, and returns the CPU time of the
// server, how long it took, and the size of one clone.
func (t *transport) storm(ctx context.Context, n int) (cpu, wall time.Duration, size int64, err error) {
	if err := t.server.quiet(ctx); err != nil {
		return 0, 0, 0, err
	}
	if err := t.server.forgetPacks(); err != nil {
		return 0, 0, 0, err
	}
	used, err := t.used(ctx, 0)
	if err != nil {
		return 0, 0, 0, err
	}
	began := time.Now()
	sizes := make([]int64, n)
	group, inside := errgroup.WithContext(ctx)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: n, DisableCompression: true}}
	defer client.CloseIdleConnections()
	for i := range n {
		group.Go(func() (err error) {
			sizes[i], err = drainClone(inside, client, t.ours)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return 0, 0, 0, err
	}
	wall = time.Since(began)
	after, err := t.used(ctx, 0)
	for _, each := range sizes {
		if each != sizes[0] {
			err = fmt.Errorf("clones of %d and %d bytes", each, sizes[0])
		}
	}
	return after - used, wall, sizes[0], err
}

// drainClone asks what a clone in version 2 of the protocol asks and throws the answer away.
func drainClone(ctx context.Context, client *http.Client, address string) (int64, error) {
	if _, err := ask(ctx, client, http.MethodGet, address+"/info/refs?service=git-upload-pack", "", io.Discard); err != nil {
		return 0, err
	}
	var refs bytes.Buffer
	list := packet("command=ls-refs\n") + packet("object-format=sha1") + "0001" + packet("peel\n") + packet("symrefs\n") +
		packet("ref-prefix HEAD\n") + packet("ref-prefix refs/heads/\n") + packet("ref-prefix refs/tags/\n") + "0000"
	if _, err := ask(ctx, client, http.MethodPost, address+"/git-upload-pack", list, &refs); err != nil {
		return 0, err
	}
	var b strings.Builder
	b.WriteString(packet("command=fetch") + packet("object-format=sha1") + "0001" + packet("thin-pack") + packet("no-progress") + packet("ofs-delta"))
	seen := map[string]bool{}
	for line := range strings.Lines(refs.String()) {
		if len(line) < 45 || seen[line[4:44]] {
			continue
		}
		seen[line[4:44]] = true
		b.WriteString(packet("want " + line[4:44] + "\n"))
	}
	b.WriteString(packet("done\n") + "0000")
	return ask(ctx, client, http.MethodPost, address+"/git-upload-pack", b.String(), io.Discard)
}

func packet(text string) string { return fmt.Sprintf("%04x%s", len(text)+4, text) }

func ask(ctx context.Context, client *http.Client, method, address, body string, out io.Writer) (int64, error) {
	req, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Git-Protocol", "version=2")
	if body != "" {
		req.Header.Set("Content-Type", "application/x-git-upload-pack-request")
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("%s: %s", address, resp.Status)
	}
	return io.CopyBuffer(out, resp.Body, make([]byte, 256<<10))
}
