package web

import (
	"cmp"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"tenon/internal/base/markdown"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/core/reference"
)

// place is where texts stand: it says what their references mean and where their relative links lead.
type place struct {
	reference.Scope
	link func(address string, picture bool) string // "" for nowhere
}

// ofProject is the place of texts in a project, whose relative links lead into the project.
func ofProject(p *project.Project) place {
	return place{reference.Of(p), func(address string, _ bool) string {
		if at.IsPage(p.FullPath, address) {
			return address
		}
		return ""
	}}
}

// nowhere is the place of texts that belong to no project and no group.
var nowhere = place{link: func(string, bool) string { return "" }}

// ofGroup is the place of texts in a group.
func ofGroup(g *namespace.Group) place {
	return place{reference.Scope{Group: g.ID, GroupPath: g.FullPath}, nowhere.link}
}

// maxFormatted is how many bytes of Markdown one page formats; what follows stays plain.
const maxFormatted = 2 * markdown.MaxDocument

// document formats a file in Markdown within what the page may format; resolve says where its links lead.
func (x *visit) document(source string, resolve markdown.Resolve) string {
	if strings.TrimSpace(source) == "" {
		return ""
	}
	if x.formatted += len(source); x.formatted > maxFormatted {
		return markdown.Plain(source)
	}
	return x.onPage(markdown.Document(source, resolve), nil)
}

// text formats one text, nil for none.
func (x *visit) text(in place, source *string) (string, error) {
	if source == nil {
		return "", nil
	}
	out, err := x.texts(in, *source)
	return out[0], err
}

// texts formats texts in Markdown that are in one place, with what they refer to, as the interfaces do. It takes
// as many statements for many as for one.
func (x *visit) texts(in place, sources ...string) ([]string, error) {
	out := make([]string, len(sources))
	var some []string
	var at []int
	for i, source := range sources {
		switch x.formatted += len(source); {
		case strings.TrimSpace(source) == "":
		case x.formatted > maxFormatted:
			out[i] = markdown.Plain(source)
		default:
			some, at = append(some, source), append(at, i)
		}
	}
	if len(some) == 0 {
		return out, nil
	}
	formatted, err := x.References.HTML(x.r.Context(), x.as, in.Scope, some...)
	if err != nil {
		return out, err
	}
	for i, text := range formatted {
		out[at[i]] = x.onPage(text, in.link)
	}
	return out, nil
}

// description formats the description of a project or group, nil for none.
func (x *visit) description(in place, source *string) string {
	if source == nil {
		return ""
	}
	return x.onPage(x.References.Description(in.Scope, *source), in.link)
}

// onPage makes formatted text fit for a page: links to this server work under any name of it, nothing is loaded from
// elsewhere but the asset proxy, there are no styles, and what scrolls or is ticked has a name and is reached with the keyboard. link
// says where relative addresses lead, nil leaves them alone.
func (x *visit) onPage(text string, link func(address string, picture bool) string) string {
	var out strings.Builder
	out.Grow(len(text) + len(text)/8)
	z := html.NewTokenizer(strings.NewReader(text))
	var playing []bool // whether the open tags of videos and sounds are written
	for end := 0; ; {
		kind := z.Next()
		raw := string(z.Raw())
		end += len(raw)
		if kind == html.ErrorToken { // the end of the text
			out.WriteString(raw)
			return out.String()
		}
		name, attributes := z.TagName()
		switch string(name) {
		case "table":
			if kind == html.EndTagToken {
				out.WriteString("</table></div>")
				continue
			}
			out.WriteString(`<div class="scroll" tabindex="0" role="region" aria-label="Table">`)
		case "video", "audio":
			if kind == html.EndTagToken {
				last := len(playing) - 1
				if last < 0 || !playing[last] {
					raw = ""
				}
				playing = playing[:max(last, 0)]
				break
			}
			tag := tagOf(z, string(name))
			playing = append(playing, tag.lead("src", func(address string) string { return x.leads(address, true, link) }))
			if raw = tag.String(); !playing[len(playing)-1] {
				raw = ""
			}
		case "pre", "input", "a", "img", "span":
			if kind == html.EndTagToken || !attributes && string(name) != "pre" {
				break
			}
			tag := tagOf(z, string(name))
			switch string(name) {
			case "pre":
				tag.set("tabindex", "0")
				tag.set("role", "region")
				tag.set("aria-label", "Code")
			case "input":
				tag.set("aria-label", wordsBehind(text[end:]))
			case "a":
				if tag.lead("href", func(address string) string { return x.leads(address, false, link) }) && ownPath(tag.get("href")) {
					tag.drop("rel", "target") // which are for links to elsewhere
				}
			case "img":
				if !tag.lead("src", func(address string) string { return x.leads(address, true, link) }) {
					out.WriteString(html.EscapeString(tag.get("alt")))
					continue
				}
			}
			raw = tag.String()
		}
		out.WriteString(raw)
	}
}

// leads is where an address in a text leads on a page, "" for nowhere.
func (x *visit) leads(address string, picture bool, link func(address string, picture bool) string) string {
	root := x.URLs.Root() + "/"
	if own, ok := strings.CutPrefix(address, root); ok {
		return "/" + own
	}
	scheme, _, has := strings.Cut(address, ":")
	switch {
	case has && !strings.ContainsAny(scheme, "/?#"), strings.HasPrefix(address, "/") && !ownPath(address):
		if picture && !x.proxied(address) {
			return "" // nothing is loaded from elsewhere
		}
		return address
	case link == nil, address == "", strings.HasPrefix(address, "#") && !picture:
		return address
	}
	return link(address, picture)
}

// proxied reports whether an address is one of the asset proxy.
func (x *visit) proxied(address string) bool {
	root := x.References.AssetRoot()
	return root != "" && strings.HasPrefix(address, root+"/")
}

// ownPath reports whether an address is a path on this server.
func ownPath(address string) bool {
	return strings.HasPrefix(address, "/") && !strings.HasPrefix(address, "//") && !strings.HasPrefix(address, `/\`)
}

// tag is a tag of formatted text without its styles.
type tag struct{ html.Token }

func tagOf(z *html.Tokenizer, name string) *tag {
	t := &tag{html.Token{Type: html.StartTagToken, Data: name}}
	for more := true; more; {
		var key, value []byte
		key, value, more = z.TagAttr()
		if len(key) > 0 && string(key) != "style" {
			t.Attr = append(t.Attr, html.Attribute{Key: string(key), Val: string(value)})
		}
	}
	return t
}

func (t *tag) get(name string) string {
	for _, a := range t.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func (t *tag) drop(names ...string) {
	t.Attr = slices.DeleteFunc(t.Attr, func(a html.Attribute) bool { return slices.Contains(names, a.Key) })
}

func (t *tag) set(name, value string) {
	for i := range t.Attr {
		if t.Attr[i].Key == name {
			t.Attr[i].Val = value
			return
		}
	}
	t.Attr = append(t.Attr, html.Attribute{Key: name, Val: value})
}

// lead changes the address in an attribute, which goes where it leads nowhere. It reports whether it leads anywhere.
func (t *tag) lead(name string, to func(address string) string) bool {
	for i := range t.Attr {
		if t.Attr[i].Key != name {
			continue
		}
		if t.Attr[i].Val = to(t.Attr[i].Val); t.Attr[i].Val == "" {
			t.Attr = append(t.Attr[:i], t.Attr[i+1:]...)
			return false
		}
		return true
	}
	return false
}

// maxNamed is how much formatted text behind the box of a task is searched for its name, in bytes.
const maxNamed = 512

// wordsBehind returns the words that follow the box of a task, up to the end of the line or the item.
func wordsBehind(text string) string {
	var out strings.Builder
	z := html.NewTokenizer(strings.NewReader(text[:min(len(text), maxNamed)]))
	for {
		switch z.Next() {
		case html.TextToken:
			out.Write(z.Text())
			if strings.Contains(out.String(), "\n") && strings.TrimSpace(out.String()) != "" {
				return taskName(out.String())
			}
			continue
		case html.StartTagToken, html.EndTagToken:
			if name, _ := z.TagName(); string(name) != "li" && string(name) != "ul" && string(name) != "ol" && string(name) != "p" {
				continue
			}
		}
		return taskName(out.String())
	}
}

// taskName is the name of a task, which may have no words.
func taskName(words string) string {
	return cmp.Or(firstLine(strings.ToValidUTF8(words, "")), "Task")
}
