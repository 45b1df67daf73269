package kind

import (
	"net/url"
	"slices"
	"strings"

	"tenon/internal/base/errs"
)

func irker() *Kind {
	return &Kind{
		Slug: "irker", Title: "irker (IRC gateway)", Class: Chat,
		Later: unsent,
		Settings: []Setting{
			{Name: "recipients", Required: true, Doc: "Channels and users, separated by whitespace"},
			{Name: "server_host", Host: true, Default: "localhost", Doc: "Host of the irker daemon"},
			{Name: "server_port", Type: Int, Min: 1, Max: 65_535, Default: int64(6659), Doc: "Port of the irker daemon"},
			{Name: "default_irc_uri", Chars: 255, Doc: "URI before each recipient, such as irc://irc.network.net:6697/"},
			{Name: "colorize_messages", Type: Bool, Doc: "Color messages"},
		},
		Events: []string{pushes},
		Check: func(v Values, f *errs.Fields) {
			valid := func(recipient string) bool {
				u, err := url.Parse(v.Text("default_irc_uri") + recipient)
				return err == nil && (u.Scheme == "irc" || u.Scheme == "ircs") && u.Host != ""
			}
			f.Check(slices.ContainsFunc(strings.Fields(v.Text("recipients")), valid), "recipients", "are all invalid")
		},
	}
}
