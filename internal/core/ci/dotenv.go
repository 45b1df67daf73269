package ci

import (
	"bufio"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"path"
	"strings"

	"tenon/internal/base/errs"
)

const (
	maxDotenv          = 5 << 10 // bytes
	maxDotenvVariables = 150
)

// readDotenv reads the variables that a job reports.
func (s *Service) readDotenv(ctx context.Context, key string) ([]Variable, error) {
	o, err := s.Objects.Open(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("open dotenv report: %w", err)
	}
	defer func() { _ = o.Close() }()
	z, err := gzip.NewReader(o)
	if err != nil {
		return nil, errs.Plain("Invalid Format")
	}
	text, err := io.ReadAll(io.LimitReader(z, maxDotenv+1))
	if err != nil {
		return nil, errs.Plain("Invalid Format")
	}
	if len(text) > maxDotenv {
		return nil, errs.Plain(fmt.Sprintf("Dotenv Artifact Too Big. Maximum Allowable Size: %d", maxDotenv))
	}
	return parseDotenv(string(text))
}

// parseDotenv reads lines of NAME=value; blank lines and lines that begin with # are skipped, quotes around a value are taken off.
func parseDotenv(text string) ([]Variable, error) {
	var out []Variable
	lines := bufio.NewScanner(strings.NewReader(text))
	lines.Buffer(nil, maxDotenv+1)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		key = strings.TrimSpace(key)
		if !ok || !keyFormat.MatchString(key) || len(key) > maxKey {
			return nil, errs.Plain("Invalid Format")
		}
		value = strings.TrimSpace(value)
		for _, quote := range []string{`"`, `'`} {
			if len(value) > 1 && strings.HasPrefix(value, quote) && strings.HasSuffix(value, quote) {
				value = value[1 : len(value)-1]
				break
			}
		}
		if len(out) == maxDotenvVariables {
			return nil, errs.Plain(fmt.Sprintf("Dotenv files cannot have more than %d variables", maxDotenvVariables))
		}
		out = append(out, Variable{Key: key, Value: value})
	}
	if lines.Err() != nil {
		return nil, errs.Plain("Invalid Format")
	}
	return out, nil
}

// cleanName is the last part of a file name that a runner sent.
func cleanName(name string) string {
	name = path.Base(strings.ReplaceAll(name, `\`, "/"))
	if name == "." || name == "/" || len(name) > maxText {
		return ""
	}
	return name
}
