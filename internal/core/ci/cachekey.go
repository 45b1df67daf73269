package ci

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/ciconfig"
)

// maxKeyFiles is how many different files the keys of the caches of a pipeline may be made of: git looks for the last commit of each.
const maxKeyFiles = 100

// nameCaches returns the caches whose keys are made of files their keys: a digest of the last commits that changed these files, or
// "default" where the commit of the pipeline has none of them, behind the prefix.
func (d *draft) nameCaches(ctx context.Context) ([]ciconfig.Problem, error) {
	last := map[string]string{}
	for i := range d.made.Jobs {
		job := &d.made.Jobs[i]
		for n := range job.Cache {
			c := &job.Cache[n]
			for _, file := range c.KeyFiles {
				if _, ok := last[file]; ok {
					continue
				}
				if len(last) == maxKeyFiles {
					return []ciconfig.Problem{{Text: fmt.Sprintf("%s job: the keys of caches are made of too many files (maximum is %d)", job.Name, maxKeyFiles)}}, nil
				}
				var err error
				if last[file], err = d.lastChange(ctx, file); err != nil {
					return nil, err
				}
			}
			if len(c.KeyFiles) > 0 {
				c.Key = cacheKey(c, last)
			}
		}
	}
	return nil, nil
}

// lastChange returns the last commit that changed a file, "" where there is none.
func (d *draft) lastChange(ctx context.Context, file string) (string, error) {
	file = strings.TrimPrefix(file, "./")
	if file == "" {
		return "", nil
	}
	g, err := d.Repos.Open(ctx, d.project)
	if err != nil {
		return "", err
	}
	found, err := g.Log(ctx, gitcmd.LogOptions{From: []gitstore.ObjectID{d.commit.ID}, Path: file, Limit: 1})
	if err != nil {
		return "", fmt.Errorf("last commit of a file: %w", err)
	}
	if len(found) == 0 {
		return "", nil
	}
	return found[0].String(), nil
}

// cacheKey is the key of a cache that is made of files.
func cacheKey(c *ciconfig.Cache, last map[string]string) string {
	var commits []string
	for _, file := range c.KeyFiles {
		if id := last[file]; id != "" {
			commits = append(commits, id)
		}
	}
	key := "default"
	if len(commits) > 0 {
		slices.Sort(commits)
		sum := sha1.Sum([]byte(strings.Join(slices.Compact(commits), "-")))
		key = hex.EncodeToString(sum[:])
	}
	if c.KeyPrefix != "" {
		key = c.KeyPrefix + "-" + key
	}
	return key
}
