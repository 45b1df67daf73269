package kind

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net/url"
	"strings"

	"tenon/internal/base/errs"
)

func irker() *Kind {
	return &Kind{
		Slug: "irker", Title: "irker (IRC gateway)", Class: Chat,
		Does: "Channels are told of each push, and of its newest commits", Send: sendIrker,
		Settings: []Setting{
			{Name: "recipients", Required: true, Doc: "Channels and users, separated by whitespace"},
			{Name: "server_host", Host: true, Default: "localhost", Doc: "Host of the irker daemon"},
			{Name: "server_port", Type: Int, Min: 1, Max: 65_535, Default: int64(6659), Doc: "Port of the irker daemon"},
			{Name: "default_irc_uri", Chars: 255, Doc: "URI before each recipient, such as irc://irc.network.net:6697/"},
			{Name: "colorize_messages", Type: Bool, Doc: "Color messages"},
		},
		Events: []string{pushes},
		Check: func(v Values, f *errs.Fields) {
			f.Check(len(irkerRecipients(v)) > 0, "recipients", "are all invalid")
		},
	}
}

// irkerRecipients are the URIs of the channels and users; what is none is left out.
func irkerRecipients(v Values) []string {
	var out []string
	for _, name := range strings.Fields(v.Text("recipients")) {
		for _, address := range []string{name, v.Text("default_irc_uri") + name} {
			u, err := url.Parse(address)
			if err == nil && (u.Scheme == "irc" || u.Scheme == "ircs") && u.Host != "" {
				out = append(out, address)
				break
			}
		}
	}
	return out
}

// maxIrkerCommits is how many commits of a push channels are told of.
const maxIrkerCommits = 3

// sendIrker writes a line for the push and one for each of its newest commits to the daemon, which brings them to the channels.
func sendIrker(ctx context.Context, c Caller, v Values, e *Event) error {
	lines := []string{e.Project.Name + ": " + e.Message.Text.Plain()}
	for _, one := range e.Commits[max(0, len(e.Commits)-maxIrkerCommits):] {
		lines = append(lines, e.Project.Name+": "+one.Author+" * "+one.ID[:min(8, len(one.ID))]+": "+one.Title+" "+one.URL)
	}
	var b bytes.Buffer
	for _, line := range lines {
		if v["colorize_messages"] == true {
			line = "\x0303" + line + "\x0f" // green
		}
		text, err := json.Marshal(map[string]any{"to": irkerRecipients(v), "privmsg": line})
		if err != nil {
			return err
		}
		b.Write(append(text, '\n'))
	}
	return c.Say(ctx, cmp.Or(v.Text("server_host"), "localhost"), cmp.Or(v.Int("server_port"), 6659), b.Bytes())
}
