package reference

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"tenon/internal/base/markdown"
)

// frames are the sites whose pages texts show in frames: hosts, perhaps with a port, with a space after each. It is comparable: texts are
// kept by it.
type frames string

// frames are the ones that the settings allow. The instance itself is never one: a frame of it could act for the reader.
func (s *Service) frames() frames {
	set := s.Settings.Current()
	if !set.IframeRenderingEnabled {
		return ""
	}
	var out strings.Builder
	for _, entry := range set.IframeRenderingAllowlist {
		entry = strings.ToLower(strings.TrimSpace(entry))
		if host, port, _ := strings.Cut(entry, ":"); host != "" && host != strings.ToLower(s.URLs.Host()) && only(host, ".-") && only(port, "") {
			out.WriteString(entry + " ")
		}
	}
	return frames(out.String())
}

// maxFormulas is how many formulas of a text clients typeset where the settings limit them.
const maxFormulas = 50

// limitsFormulas reports whether of a text in a place maxFormulas formulas alone are marked for clients: as the nearest group says that says
// something, unless one above it has locked its own word, else as the instance says.
func (s *Service) limitsFormulas(ctx context.Context, in Scope) (bool, error) {
	limits, at := s.Settings.Current().MathRenderingLimitsEnabled, in.Group
	if in.Project != nil {
		at = in.Project.NamespaceID
	}
	if at == 0 {
		return limits, nil
	}
	above, err := s.Groups.SettingsAbove(ctx, at, "math_rendering_limits_enabled", "lock_math_rendering_limits_enabled")
	if err != nil {
		return false, err
	}
	for _, set := range slices.Backward(above) {
		if own := set.MathRenderingLimitsEnabled; own != nil {
			limits = *own
		}
		if set.LockMathRenderingLimitsEnabled {
			break
		}
	}
	return limits, nil
}

// only reports whether a part of an address has letters, digits and the others alone.
func only(part, others string) bool {
	return !strings.ContainsFunc(part, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && !strings.ContainsRune(others, r)
	})
}

// FrameSites are the sites whose pages texts show in frames.
func (s *Service) FrameSites() []string { return strings.Fields(string(s.frames())) }

// html returns rendered HTML whose pictures at pages of those sites are frames.
func (f frames) html(rendered string) string {
	if f == "" {
		return rendered
	}
	return markdown.Frames(rendered, f.has)
}

func (f frames) has(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || u.User != nil || u.Host == "" {
		return false
	}
	for site := range strings.FieldsSeq(string(f)) {
		if site == strings.ToLower(u.Host) {
			return true
		}
	}
	return false
}
