package wiki

import (
	"bytes"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"tenon/internal/base/errs"
)

const (
	fence    = "---\n"
	maxFront = 8 << 10 // bytes; a longer one is part of the content
)

// cutFront divides what a file holds into its front matter and its content. What is no mapping
// in YAML between two fences is content.
func cutFront(raw string) (front map[string]any, content string) {
	none := map[string]any{}
	text, opened := strings.CutPrefix(strings.ReplaceAll(raw[:min(len(raw), maxFront)], "\r\n", "\n"), fence)
	if !opened {
		return none, raw
	}
	block, _, closed := strings.Cut(text, "\n"+strings.TrimSuffix(fence, "\n"))
	if !closed || block == "" {
		return none, raw
	}
	var found map[string]any
	if err := yaml.Unmarshal([]byte(block), &found); err != nil || found == nil || !plain(found) {
		return none, raw
	}
	// The content begins after the line of the second fence.
	rest := raw
	for fences := 0; fences < 2; {
		line, after, more := strings.Cut(rest, "\n")
		if strings.TrimRight(line, "\r") == "---" {
			fences++
		}
		if !more {
			after = ""
		}
		rest = after
		if !more {
			break
		}
	}
	return found, strings.TrimLeft(rest, "\r\n")
}

// plain reports whether values can be written as JSON.
func plain(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, inside := range v {
			if !plain(inside) {
				return false
			}
		}
	case []any:
		for _, inside := range v {
			if !plain(inside) {
				return false
			}
		}
	case map[any]any:
		return false
	case float64:
		return v == v && v < 1e300 && v > -1e300
	}
	return true
}

// withFront puts a front matter before a content; an empty one is left out.
func withFront(front map[string]any, content string) (string, error) {
	if len(front) == 0 {
		return content, nil
	}
	var b bytes.Buffer
	b.WriteString(fence)
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(front); err != nil {
		return "", fmt.Errorf("write front matter: %w", err)
	}
	if b.Len() > maxFront-2*len(fence) {
		return "", errs.Broken("", "front_matter", "is too long (maximum is "+bytesText(maxFront)+")")
	}
	b.WriteString(fence)
	b.WriteString(content)
	return b.String(), nil
}
