package payload

import (
	"strings"

	"tenon/internal/base/pattern"
)

// image finds the beginning of an image in Markdown, with its address, and code, in which there are none.
var image = pattern.New("```(?s:.*?)```|`[^`\n]+`|!\\[[^\\]\n]*\\]\\(([^\\s()<>]+)")

// images returns a text in Markdown whose images have whole addresses; root is the page of the project or group that it is in. nil stays nil.
func (s *Service) images(root string, text *string) *string {
	if text == nil || !strings.Contains(*text, "](") {
		return text
	}
	var out strings.Builder
	from := 0
	for _, at := range image().FindAllStringSubmatchIndex(*text, -1) {
		if at[2] < 0 {
			continue
		}
		address := (*text)[at[2]:at[3]]
		if strings.Contains(address, ":") || strings.HasPrefix(address, "//") || strings.HasPrefix(address, "#") {
			continue
		}
		out.WriteString((*text)[from:at[2]])
		switch {
		case strings.HasPrefix(address, "/uploads/"):
			out.WriteString(root)
		case strings.HasPrefix(address, "/"):
			out.WriteString(s.URLs.Root())
		default:
			out.WriteString(s.URLs.Home())
		}
		from = at[2]
	}
	out.WriteString((*text)[from:])
	whole := out.String()
	return &whole
}
