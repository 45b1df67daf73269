package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// npmVersions is how many versions the npm package has whose metadata is read.
const npmVersions = 200

// npmPath is what installers ask for.
func (d *depot) npmPath() string { return fmt.Sprintf("/projects/%d/packages/npm/bench", d.plain) }

// publishNPM publishes the versions of an npm package, as npm does: about 1.5 kB of metadata each.
func (d *depot) publishNPM(ctx context.Context) (int, error) {
	needs := map[string]string{}
	for i := range 30 {
		needs[fmt.Sprintf("dependency-of-the-package-%02d", i)] = fmt.Sprintf("^%d.0.0", i)
	}
	for i := range npmVersions {
		version, content := fmt.Sprintf("1.%d.0", i), fmt.Sprintf("version %d", i)
		file := "bench-" + version + ".tgz"
		_, err := d.root.send(ctx, http.MethodPut, d.npmPath(), map[string]any{
			"name": "bench", "dist-tags": map[string]string{"latest": version},
			"versions":     map[string]any{version: map[string]any{"name": "bench", "version": version, "dependencies": needs, "dist": map[string]any{}}},
			"_attachments": map[string]any{file: map[string]any{"data": base64.StdEncoding.EncodeToString([]byte(content)), "length": len(content)}},
		})
		if err != nil {
			return i, err
		}
	}
	return npmVersions, nil
}

// npmReads are what an installer costs that has no metadata yet, and one that has.
func (d *depot) npmReads(ctx context.Context) ([]operation, error) {
	if err := timed(ctx, "npm versions", d.publishNPM); err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url+"/api/v4"+d.npmPath(), http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	tag := resp.Header.Get("Etag")
	if err := resp.Body.Close(); err != nil {
		return nil, err
	}
	ask := func(headers ...string) func(int) []byte {
		text := fmt.Appendf(nil, "GET /api/v4%s HTTP/1.1\r\nHost: %s\r\n%s\r\n", d.npmPath(), strings.TrimPrefix(d.url, "http://"), strings.Join(headers, ""))
		return func(int) []byte { return text }
	}
	size := func(answer []byte) error {
		if len(answer) < 300_000 {
			return fmt.Errorf("metadata of %d bytes", len(answer))
		}
		return nil
	}
	return []operation{
		{name: "npm metadata, 200 versions", goal: goal{rate: 500, noGit: true}, wants: http.StatusOK, check: size, sends: ask()},
		{name: "the same, 304", goal: goal{rate: 3000, noGit: true}, wants: http.StatusNotModified, sends: ask("If-None-Match: " + tag + "\r\n")},
	}, wait(ctx, time.Second)
}
