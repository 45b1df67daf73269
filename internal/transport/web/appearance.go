package web

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/a-h/templ"

	"tenon/internal/base/errs"
	"tenon/internal/base/pattern"
	"tenon/internal/core/appearance"
	"tenon/internal/core/weburl"
)

// brand is what the appearance of the instance adds to every page; "" for nothing.
type brand struct {
	Logo           string // URL of the image in the navigation bar
	Header, Footer string
	Style          string // URL of the stylesheet with the colors of both
	Icon           string // URL of the icon of pages
}

// imageURL returns the URL of a picture of the appearance, "" for none.
func imageURL(a *appearance.Appearance, of appearance.Image) string {
	stored := a.Image(of)
	if stored == "" {
		return ""
	}
	return at.Root() + weburl.AppearanceImage(string(of), int64(a.ID), stored)
}

// brand returns what the appearance adds to every page. It takes no statement.
func (h *Handler) brand() brand {
	a := h.Appearance.Current()
	out := brand{Logo: imageURL(a, appearance.HeaderLogo), Header: a.HeaderMessage, Footer: a.FooterMessage, Icon: imageURL(a, appearance.Favicon)}
	if out.Header != "" || out.Footer != "" {
		background, font := a.Colors()
		out.Style = at.Asset("messages-" + background[1:] + "-" + font[1:] + ".css")
	}
	return out
}

// messageStyle is the path of the stylesheet with the colors of the messages, which its name has.
var messageStyle = pattern.New(`^/-/assets/messages-([0-9A-Fa-f]{3}|[0-9A-Fa-f]{6})-([0-9A-Fa-f]{3}|[0-9A-Fa-f]{6})\.css$`)

// serveBrand answers with the stylesheet of the messages or the manifest, and reports whether the path is that of one.
func (h *Handler) serveBrand(w http.ResponseWriter, r *http.Request) bool {
	if m := messageStyle().FindStringSubmatch(r.URL.Path); m != nil {
		serveFile(w, r, typeCSS, "public, max-age=31536000, immutable", []byte(".system{background:#"+m[1]+";color:#"+m[2]+"}\n"))
		return true
	}
	if r.URL.Path != at.Manifest() {
		return false
	}
	serveFile(w, r, "application/manifest+json", "public, max-age=300", h.manifest())
	return true
}

// manifest describes the instance as a web application (W3C, Web Application Manifest).
func (h *Handler) manifest() []byte {
	type icon struct {
		Source string `json:"src"`
		Sizes  string `json:"sizes"`
		Type   string `json:"type"`
	}
	a := h.Appearance.Current()
	out := struct {
		Name        string `json:"name"`
		Short       string `json:"short_name"`
		Description string `json:"description,omitempty"`
		Start       string `json:"start_url"`
		Scope       string `json:"scope"`
		Display     string `json:"display"`
		Icons       []icon `json:"icons"`
	}{a.PWAName, a.PWAShortName, a.PWADescription, at.Home(), at.Home(), "browser", []icon{{at.Asset(h.assets.icon.name), "any", h.assets.icon.kind}}}
	if out.Name == "" {
		out.Name = product
	}
	if out.Short == "" {
		out.Short = out.Name
	}
	if to := imageURL(a, appearance.PWAIcon); to != "" {
		out.Icons = []icon{{to, "any", a.ContentType(appearance.PWAIcon)}}
	}
	text, err := json.Marshal(out)
	if err != nil {
		panic(err) // it has texts alone
	}
	return text
}

// product is the name of the program.
const product = "Tenon"

// welcome is what the sign-in page has of the appearance.
func (x *visit) welcome() templ.Component {
	a := x.Appearance.Current()
	return welcome(imageURL(a, appearance.Logo), a.Title, x.document(a.Description, nowhere.link))
}

// guidelines is a text that the administrators wrote for a page, in Markdown, under a heading; "" shows nothing.
func (x *visit) guidelines(heading, source string) templ.Component {
	return guidelines(heading, x.document(source, nowhere.link))
}

// imagePath is the address of a picture of the appearance.
var imagePath = pattern.New(`^/uploads/-/system/appearance/([a-z_]+)/([0-9]{1,18})/([^/]+)$`)

// serveImage answers with a picture of the appearance.
func (h *Handler) serveImage(w http.ResponseWriter, r *http.Request, m []string) {
	id, err := strconv.ParseInt(m[2], 10, 64)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	o, err := h.Appearance.OpenImage(r.Context(), appearance.Image(m[1]), appearance.ID(id), m[3])
	switch {
	case errs.Is(err, errs.NotFound):
		http.NotFound(w, r)
		return
	case err != nil:
		h.fileFailed(w, r, err)
		return
	}
	servePicture(w, r, o.ContentType, o.Version, "public", o.Object)
}
