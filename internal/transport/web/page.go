package web

import (
	"bytes"
	"fmt"
	"html"
)

// page is what a page says.
type page struct {
	Kind  string // "Issue", "Project", ...
	Title string
	Lines []string
	API   string // absolute URL of the API form, "" for none
	Up    *link  // the thing this one belongs to
}

type link struct{ Title, URL string }

const top = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>%s - Tenon</title>
<style>
:root { color-scheme: light dark }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 42rem; margin: 4rem auto; padding: 0 1rem }
.kind { text-transform: uppercase; letter-spacing: .08em; font-size: .8rem; opacity: .75; margin: 0 }
h1 { margin: .2rem 0 1rem; overflow-wrap: anywhere }
</style>
</head>
<body>
<main>
`

// html is the page in HTML. A template would escape by itself, but looks for methods by
// name, for which the linker keeps every method of every type in the program.
func (p page) html() []byte {
	var out markup
	out.put(top, p.Title)
	if p.Up != nil {
		out.put("<p><a href=\"%s\">%s</a></p>", p.Up.URL, p.Up.Title)
	}
	out.put("\n<p class=\"kind\">%s</p>\n<h1>%s</h1>\n", p.Kind, p.Title)
	for _, line := range p.Lines {
		out.put("<p>%s</p>\n", line)
	}
	if p.API != "" {
		out.put("<p><a href=\"%s\">This in the API</a></p>\n", p.API)
	}
	out.put("</main>\n</body>\n</html>\n")
	return out.Bytes()
}

// markup collects HTML.
type markup struct{ bytes.Buffer }

// put adds a constant format with values for its %s, each of which is escaped for text
// and for attributes in quotes. Addresses among them are the server's own.
func (m *markup) put(format string, values ...string) {
	escaped := make([]any, len(values))
	for i, v := range values {
		escaped[i] = html.EscapeString(v)
	}
	_, _ = fmt.Fprintf(m, format, escaped...) // a buffer takes everything
}
