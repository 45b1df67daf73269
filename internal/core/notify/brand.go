package notify

import (
	"tenon/internal/core/appearance"
	"tenon/internal/core/weburl"
)

// brand is what the appearance of the instance adds to a mail; "" for nothing.
type brand struct {
	logo           string // URL
	header, footer string
	style          string // of the header and the footer
}

// brand returns what the appearance adds to each mail.
func (s *Service) brand() brand {
	a, out := s.Appearance.Current(), brand{}
	if a.HeaderLogo != "" {
		out.logo = s.URLs.Root() + weburl.AppearanceImage(string(appearance.HeaderLogo), int64(a.ID), a.HeaderLogo)
	}
	if a.InMail {
		background, font := a.Colors()
		out.header, out.footer = a.HeaderMessage, a.FooterMessage
		out.style = "margin: 0 0 16px; padding: 4px 8px; text-align: center; white-space: pre-line; background-color: " + background + "; color: " + font
	}
	return out
}
