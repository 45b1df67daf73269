package web

import (
	"embed"
	"fmt"
	"path"
	"slices"

	"github.com/a-h/templ"

	"tenon/internal/transport/httpkit"
)

// explorerFiles are GraphiQL and what it needs, each compressed as it comes from its package (see
// explorer/update.sh), and the script that starts it.
//
//go:embed explorer/*.gz explorer/explorer.js explorer/explorer.css
var explorerFiles embed.FS

// explorerPolicy allows what GraphiQL does: scripts and requests of this server, and the fonts and
// pictures within its stylesheet.
const explorerPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src data:; connect-src 'self'; " +
	"form-action 'none'; base-uri 'none'; frame-ancestors 'none'"

// explorer are the files of the page to try GraphQL.
type explorer struct {
	styles  []asset
	scripts []asset // in the order in which they run
}

func newExplorer() explorer {
	return explorer{
		styles:  []asset{explorerAsset("graphiql.css", typeCSS), explorerAsset("explorer.css", typeCSS)},
		scripts: []asset{explorerScript("react.js"), explorerScript("react-dom.js"), explorerScript("graphiql.js"), explorerScript("explorer.js")},
	}
}

func explorerScript(name string) asset { return explorerAsset(name, "text/javascript; charset=utf-8") }

// explorerAsset is one of the embedded files, compressed where that is how it is stored.
func explorerAsset(name, kind string) asset {
	content, err := explorerFiles.ReadFile(path.Join("explorer", name+".gz"))
	packed := err == nil
	if !packed {
		content, err = explorerFiles.ReadFile(path.Join("explorer", name))
	}
	if err != nil {
		panic(fmt.Sprintf("embedded file: %v", err)) // a mistake of the build
	}
	a := newAsset(name, kind, content)
	a.packed = packed
	return a
}

// all are all files of the page.
func (e explorer) all() []asset { return slices.Concat(e.styles, e.scripts) }

// explorerSheet is the page to try GraphQL.
type explorerSheet struct {
	Icon            string
	Styles, Scripts []string
	Token           string // of a session, "" for none
}

// getExplorer shows the page to try GraphQL. All may see it: what they may ask is decided for each
// request that it sends.
func (x *visit) getExplorer() (templ.Component, error) {
	p, files := explorerSheet{Icon: at.Asset(x.assets.icon.name)}, x.assets.explorer()
	for _, style := range files.styles {
		p.Styles = append(p.Styles, at.Asset(style.name))
	}
	for _, script := range files.scripts {
		p.Scripts = append(p.Scripts, at.Asset(script.name))
	}
	if x.as.Session != 0 {
		p.Token = httpkit.CSRFToken(x.secret)
	}
	x.w.Header().Set("Content-Security-Policy", explorerPolicy)
	x.sent = true
	if err := explorerPage(p).Render(x.r.Context(), x.w); err != nil {
		x.Log.Debug("page not sent", "error", err)
	}
	return nil, nil
}
