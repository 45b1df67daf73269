package markdown

import (
	"bytes"
	"html"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"

	"tenon/internal/base/highlight"
)

// maxTags is how many tags of HTML a text may have; one with more is shown as it is.
const maxTags = 2000

// carver prepares the tree of a text for rendering: it puts holes where spans, emoji, code and
// the like are, and sets attributes.
type carver struct {
	text     *Text
	spans    []Span
	resolve  Resolve
	holes    []*hole
	tags     int
	headings []heading
	toc      ast.Node // the paragraph that asks for a table of contents
	budget   *highlight.Budget
	formulas int // so far
}

type heading struct {
	level int
	id    string
	text  string
}

func (c *carver) hole(span int, trusted string) *hole {
	h := &hole{span: span, html: trusted, index: len(c.holes)}
	c.holes = append(c.holes, h)
	return h
}

// carve walks the tree. What is replaced is collected first: a walk does not survive it.
func (c *carver) carve() {
	var todo []func()
	source := c.text.source
	_ = ast.Walk(c.text.tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // it returns no error
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Paragraph:
			n.SetAttributeString("dir", []byte("auto"))
			if words := strings.TrimSpace(string(n.Lines().Value(source))); c.toc == nil && (words == "[[_TOC_]]" || words == "[TOC]") {
				c.toc = n
			}
		case *ast.Blockquote, *fencedQuote:
			n.SetAttributeString("dir", []byte("auto"))
		case *ast.List:
			n.SetAttributeString("dir", []byte("auto"))
			if tasks(n) {
				n.SetAttributeString("class", []byte("task-list"))
			}
		case *ast.Heading:
			n.SetAttributeString("dir", []byte("auto"))
			id, _ := n.AttributeString("id")
			name, _ := id.([]byte)
			c.headings = append(c.headings, heading{n.Level, string(name), wordsOf(n, source)})
		case *ast.HTMLBlock:
			for i := range n.Lines().Len() {
				line := n.Lines().At(i)
				c.tags += bytes.Count(line.Value(source), []byte("<"))
			}
			c.tags++
		case *ast.RawHTML:
			c.tags++
		case *ast.CodeBlock, *ast.FencedCodeBlock:
			todo = append(todo, func() { c.code(n) })
			return ast.WalkSkipChildren, nil
		case *ast.CodeSpan:
			todo = append(todo, func() { c.codeSpan(n) })
			return ast.WalkSkipChildren, nil
		case *extast.TaskCheckBox:
			checked := ""
			if n.IsChecked {
				checked = " checked"
			}
			todo = append(todo, func() { c.checkBox(n, checked) })
		case *inapplicable:
			todo = append(todo, func() { c.checkBox(n, " data-inapplicable") })
		case *ast.Link:
			n.Destination = []byte(c.address(string(n.Destination), false))
			return ast.WalkSkipChildren, nil
		case *ast.Image:
			n.Destination = []byte(c.address(string(n.Destination), true))
			todo = append(todo, func() { played(n, source) })
			return ast.WalkSkipChildren, nil
		case *ast.AutoLink:
			if start, label, ok := c.text.address(n); ok {
				if i, list := within(c.spans, start+c.text.offset, start+c.text.offset+len(label)); len(list) == 1 {
					todo = append(todo, func() { n.Parent().ReplaceChild(n.Parent(), n, c.hole(i, "")) })
				}
			}
		case *ast.Text:
			if last, ok := n.PreviousSibling().(*ast.Text); !ok || !joined(last, n) {
				todo = append(todo, func() { c.words(n) })
			}
		}
		return ast.WalkContinue, nil
	})
	for _, do := range todo {
		do()
	}
	if c.toc != nil {
		p := ast.NewTextBlock()
		p.AppendChild(p, c.hole(0, c.contents()))
		c.toc.Parent().ReplaceChild(c.toc.Parent(), c.toc, p)
	}
}

// words puts holes into a run of texts.
func (c *carver) words(n *ast.Text) {
	segment, last := run(n)
	from := segment.Start + c.text.offset
	first, spans := within(c.spans, from, segment.Stop+c.text.offset)
	marks := marksOf(string(c.text.source[segment.Start:segment.Stop]))
	if len(spans) == 0 && len(marks) == 0 {
		return
	}
	parent := n.Parent()
	at := segment.Start
	put := func(start, end int, h *hole) {
		if start > at {
			parent.InsertBefore(parent, n, ast.NewTextSegment(text.NewSegment(at, start)))
		}
		parent.InsertBefore(parent, n, h)
		at = end
	}
	for i, m := 0, 0; i < len(spans) || m < len(marks); {
		if i < len(spans) && (m == len(marks) || spans[i].Start-from <= marks[m].start) {
			if start := spans[i].Start - c.text.offset; start >= at {
				put(start, spans[i].End-c.text.offset, c.hole(first+i, ""))
			}
			i++
			continue
		}
		if start := segment.Start + marks[m].start; start >= at && (i == len(spans) || marks[m].end <= spans[i].Start-from) {
			put(start, segment.Start+marks[m].end, c.hole(0, marks[m].html))
		}
		m++
	}
	rest := ast.NewTextSegment(text.NewSegment(at, segment.Stop)) // it also breaks the line
	rest.SetSoftLineBreak(last.SoftLineBreak())
	rest.SetHardLineBreak(last.HardLineBreak())
	parent.InsertBefore(parent, n, rest)
	for node := ast.Node(n); ; {
		next := node.NextSibling()
		parent.RemoveChild(parent, node)
		if node == ast.Node(last) {
			break
		}
		node = next
	}
}

// code shows a block of code.
func (c *carver) code(n ast.Node) {
	language := ""
	if fenced, ok := n.(*ast.FencedCodeBlock); ok && fenced.Info != nil {
		language = string(fenced.Language(c.text.source))
	}
	extra := ""
	switch {
	case language == "math" && c.formula():
		extra = ` data-math-style="display"`
	case language == "math":
		language = "" // too many: it stays code
	}
	p := ast.NewTextBlock()
	p.AppendChild(p, c.hole(0, codeBlock(c.budget, language, extra, string(n.Lines().Value(c.text.source)))))
	n.Parent().ReplaceChild(n.Parent(), n, p)
}

// formula counts a formula. It reports whether clients typeset it.
func (c *carver) formula() bool {
	c.formulas++
	if c.text.Formulas == 0 || c.formulas <= c.text.Formulas {
		return true
	}
	c.text.Unmarked = true
	return false
}

// diagrams are the languages that clients draw, and the class that tells them.
var diagrams = map[string]string{"math": "js-render-math", "mermaid": "js-render-mermaid", "plantuml": "js-render-plantuml"}

// codeBlock is a block of code in HTML, with classes for what its language has.
func codeBlock(budget *highlight.Budget, language, attributes, code string) string {
	language, _, _ = strings.Cut(language, ":") // parameters follow
	class := ""
	if name := diagrams[language]; name != "" {
		class = ` class="` + name + `"`
	}
	shown, ok := budget.HTML(language, code)
	if !ok {
		shown = html.EscapeString(code)
	}
	if language == "" {
		language = "plaintext"
	}
	language = html.EscapeString(language)
	return `<pre class="code highlight js-syntax-highlight language-` + language + `" lang="` + language + `"` + attributes + `><code` + class + `>` +
		shown + `</code></pre>`
}

// codeSpan shows code in a line: formulas between dollars, and colours with a sample.
func (c *carver) codeSpan(n *ast.CodeSpan) {
	code := wordsOf(n, c.text.source)
	before, okBefore := n.PreviousSibling().(*ast.Text)
	after, okAfter := n.NextSibling().(*ast.Text)
	if okBefore && okAfter && !before.SoftLineBreak() && !before.HardLineBreak() && before.Segment.Len() > 0 && after.Segment.Len() > 0 &&
		c.text.source[before.Segment.Stop-1] == '$' && c.text.source[after.Segment.Start] == '$' && c.formula() {
		before.Segment.Stop--
		after.Segment.Start++
		n.Parent().ReplaceChild(n.Parent(), n, c.hole(0, `<code class="code math js-render-math" data-math-style="inline">`+html.EscapeString(code)+`</code>`))
		return
	}
	if color().MatchString(code) {
		safe := html.EscapeString(code)
		n.Parent().ReplaceChild(n.Parent(), n, c.hole(0, `<code>`+safe+`<span class="gfm-color_chip"><span style="background-color: `+safe+`;"></span></span></code>`))
	}
}

// checkBox shows the box of a task; state is an attribute for it.
func (c *carver) checkBox(n ast.Node, state string) {
	n.Parent().ReplaceChild(n.Parent(), n, c.hole(0, `<input type="checkbox" class="task-list-item-checkbox"`+state+` disabled> `))
}

// tasks reports whether an item of a list is a task, and says so at these.
func tasks(list *ast.List) bool {
	found := false
	for item := list.FirstChild(); item != nil; item = item.NextSibling() {
		if item.FirstChild() != nil {
			switch item.FirstChild().FirstChild().(type) {
			case *extast.TaskCheckBox:
				item.SetAttributeString("class", []byte("task-list-item"))
				found = true
			case *inapplicable:
				item.SetAttributeString("class", []byte("task-list-item inapplicable"))
				found = true
			}
		}
	}
	return found
}

// address returns the address that a link or a picture leads to.
func (c *carver) address(address string, picture bool) string {
	if anchor, ok := strings.CutPrefix(address, "#"); ok && !picture {
		return "#" + anchors + anchor
	}
	scheme, _, has := strings.Cut(address, ":")
	if c.resolve == nil || has && !strings.ContainsAny(scheme, "/?#") || strings.HasPrefix(address, "//") || strings.HasPrefix(address, `/\`) {
		return address
	}
	return c.resolve(address, picture)
}

// wordsOf returns the words below a node.
func wordsOf(n ast.Node, source []byte) string {
	var out strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // it returns no error
		if words, ok := n.(*ast.Text); ok && entering {
			out.Write(words.Segment.Value(source))
			if words.SoftLineBreak() {
				out.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return out.String()
}

// contents is the table of contents.
func (c *carver) contents() string {
	var out strings.Builder
	depth := 0
	for _, h := range c.headings {
		for ; depth < h.level; depth++ {
			out.WriteString(`<ul class="section-nav">`)
		}
		for ; depth > h.level; depth-- {
			out.WriteString("</ul>")
		}
		out.WriteString(`<li><a href="#` + html.EscapeString(h.id) + `">` + html.EscapeString(html.UnescapeString(h.text)) + "</a></li>")
	}
	for ; depth > 0; depth-- {
		out.WriteString("</ul>")
	}
	return out.String() + "\n"
}
