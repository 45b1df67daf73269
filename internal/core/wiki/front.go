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
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(block), &root); err != nil || expanded(&root) < 0 {
		return none, raw
	}
	var found map[string]any
	if err := root.Decode(&found); err != nil || found == nil || !plain(found) {
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

// maxExpanded is how many bytes a front matter may have once its aliases are followed, with as many for each value as it takes in JSON, about.
const maxExpanded = 8 * maxFront

// expanded is how many bytes of maxExpanded are left for the rest; less than 0 where a front matter takes more.
func expanded(root *yaml.Node) int {
	left := maxExpanded
	var follow func(n *yaml.Node)
	follow = func(n *yaml.Node) {
		if left -= len(n.Value) + 4; left < 0 {
			return
		}
		if n.Alias != nil {
			follow(n.Alias)
		}
		for _, inside := range n.Content {
			if left >= 0 {
				follow(inside)
			}
		}
	}
	follow(root)
	return left
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
