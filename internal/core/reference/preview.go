package reference

import (
	"context"
	"strings"

	"tenon/internal/base/markdown"
	"tenon/internal/core/authz"
)

// Preview is a text that stands nowhere yet.
type Preview struct {
	Text       string
	References bool   // show what they lead to
	Project    string // id or full path of the project that the text is for, "" for none
}

// Preview renders a text for the actor. It requires RenderMarkdown, and ReadProject of the
// project.
func (s *Service) Preview(ctx context.Context, as authz.Actor, p Preview) (string, error) {
	if err := s.Policy.Require(ctx, as, authz.RenderMarkdown, authz.Subject{}); err != nil {
		return "", err
	}
	var in Scope
	if p.Project != "" {
		found, err := s.Projects.Find(ctx, as, p.Project)
		if err != nil {
			return "", err
		}
		in = Of(found)
	}
	if !p.References {
		parsed := markdown.Parse(p.Text)
		limits, err := s.limitsFormulas(ctx, in)
		if err != nil {
			return "", err
		}
		if limits {
			parsed.Formulas = maxFormulas
		}
		plain := parsed.HTML(nil, func(address string, picture bool) string { return s.link(in, address, picture) })
		return s.assets().html(s.frames().html(plain.Fill(func(*strings.Builder, int) {}))), nil
	}
	out, err := s.HTML(ctx, as, in, p.Text)
	if err != nil {
		return "", err
	}
	return out[0], nil
}
