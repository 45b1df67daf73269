package markdown

import (
	"bytes"
	"html"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer"
	goldhtml "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/util"

	"tenon/internal/base/highlight"
)

// The runes around the number of a hole while a text is rendered. No text has them: Parse
// replaces them, and attributes that have them do not pass the sanitiser.
const (
	openHole  = "\ue0f0"
	closeHole = "\ue0f1"
)

// Span is a part of a text that is filled in after rendering, such as a reference.
type Span struct{ Start, End int }

// HTML is a rendered text with holes in it where the spans were. It is safe in any page, and
// readers never change it.
type HTML struct {
	parts []string // around the holes, one more than these
	holes []int    // indices of spans, in their order in the text
	size  int
}

// Size is about how many bytes the text takes in memory.
func (h *HTML) Size() int { return h.size }

// Change has change replace each part of the text between its holes. It is for who has just rendered the text.
func (h *HTML) Change(change func(part string) string) {
	for i, part := range h.parts {
		h.parts[i] = change(part)
		h.size += len(h.parts[i]) - len(part)
	}
}

// filledSize is about how many bytes are written for a span.
const filledSize = 256

// Fill returns the text with what fill writes for each of the spans.
func (h *HTML) Fill(fill func(out *strings.Builder, span int)) string {
	var out strings.Builder
	out.Grow(h.size + filledSize*len(h.holes))
	for i, part := range h.parts {
		out.WriteString(part)
		if i < len(h.holes) {
			fill(&out, h.holes[i])
		}
	}
	return out.String()
}

var render = sync.OnceValue(func() renderer.Renderer {
	prefix := extension.WithFootnoteIDPrefix(anchors)
	return goldmark.New(
		goldmark.WithRendererOptions(
			goldhtml.WithUnsafe(), // the sanitiser comes after it
			renderer.WithNodeRenderers(
				util.Prioritized(holes{}, 100),
				util.Prioritized(mediaRenderer{}, 100),
				util.Prioritized(extension.NewTableHTMLRenderer(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)), 500),
				util.Prioritized(extension.NewStrikethroughHTMLRenderer(), 500),
				util.Prioritized(extension.NewFootnoteHTMLRenderer(prefix), 500),
			),
		),
	).Renderer()
})

// hole stands for a span or for HTML that needs no sanitising.
type hole struct {
	ast.BaseInline

	span  int    // index of a span where there is no HTML
	html  string // trusted
	index int    // among all holes
}

var kindHole = ast.NewNodeKind("Hole")

// Kind is for the renderer.
func (*hole) Kind() ast.NodeKind { return kindHole }

// Dump is for tests of goldmark.
func (*hole) Dump([]byte, int) {}

// holes renders holes.
type holes struct{}

// RegisterFuncs takes holes.
func (holes) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(kindHole, func(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if h, ok := n.(*hole); ok && entering {
			_, err := w.WriteString(openHole + strconv.Itoa(h.index) + closeHole)
			return ast.WalkSkipChildren, err
		}
		return ast.WalkContinue, nil
	})
}

// HTML renders a text with holes where the spans are, which are ascending and do not
// overlap; those that do not lie in one run of Runs have no hole. resolve gives the addresses
// of links and pictures that have neither a host nor an anchor alone. It may be called once.
func (t *Text) HTML(spans []Span, resolve Resolve) *HTML {
	if t.tree == nil {
		return plain(string(t.source))
	}
	c := &carver{text: t, spans: spans, resolve: resolve, budget: highlight.NewBudget(highlight.Document)}
	c.carve()
	var b bytes.Buffer
	if c.tags > maxTags || render().Render(&b, t.source, t.tree) != nil {
		return plain(string(t.source))
	}
	out := policy().Sanitize(b.String())
	if c.tags > 0 {
		var err error
		if out, err = balanced(out); err != nil {
			return plain(string(t.source))
		}
	}
	return c.split(t.front.html(c.budget) + out)
}

// plain shows a text as it is.
func plain(source string) *HTML {
	out := Plain(source)
	return &HTML{parts: []string{out}, size: len(out)}
}

// html shows front matter as code.
func (f Front) html(budget *highlight.Budget) string {
	if f.Language == "" {
		return ""
	}
	return codeBlock(budget, f.Language, ` data-lang-params="frontmatter"`, f.Data) + "\n"
}

// split cuts rendered HTML at its holes.
func (c *carver) split(rendered string) *HTML {
	out := &HTML{}
	var part strings.Builder
	used := make([]bool, len(c.holes))
	for rest := rendered; ; {
		before, after, found := strings.Cut(rest, openHole)
		part.WriteString(before)
		if !found {
			break
		}
		digits, after, _ := strings.Cut(after, closeHole)
		rest = after
		index, err := strconv.Atoi(digits)
		if err != nil || index < 0 || index >= len(c.holes) || used[index] {
			continue
		}
		used[index] = true
		if h := c.holes[index]; h.html != "" {
			part.WriteString(h.html)
		} else {
			out.add(part.String())
			out.holes = append(out.holes, h.span)
			part.Reset()
		}
	}
	out.add(part.String())
	return out
}

func (h *HTML) add(part string) {
	h.parts = append(h.parts, part)
	h.size += len(part) + 32
}

// Line renders one line that is no Markdown, such as a title, with holes where the spans are.
func Line(text string, spans []Span) *HTML {
	out := &HTML{}
	at := 0
	for i, span := range spans {
		if span.Start < at || span.End > len(text) {
			continue
		}
		out.add(emojis(text[at:span.Start]))
		out.holes = append(out.holes, i)
		at = span.End
	}
	out.add(emojis(text[at:]))
	return out
}

// emojis escapes a text and shows the emoji that it names.
func emojis(text string) string {
	var out strings.Builder
	at := 0
	for _, m := range marksOf(text) {
		out.WriteString(html.EscapeString(text[at:m.start]))
		out.WriteString(m.html)
		at = m.end
	}
	out.WriteString(html.EscapeString(text[at:]))
	return out.String()
}

// within returns the spans between two bytes of the source.
func within(spans []Span, from, to int) (first int, list []Span) {
	first, _ = slices.BinarySearchFunc(spans, from, func(s Span, at int) int { return s.Start - at })
	last := first
	for last < len(spans) && spans[last].End <= to {
		last++
	}
	return first, spans[first:last]
}
