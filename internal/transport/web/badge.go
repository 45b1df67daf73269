package web

import (
	"bytes"
	"cmp"
	"fmt"
	"html"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/a-h/templ"

	"tenon/internal/base/errs"
	"tenon/internal/core/ci"
	"tenon/internal/core/project"
)

// The bounds of what an address says of a badge.
const (
	maxKeyText  = 64  // characters
	maxKeyWidth = 512 // pixels
)

// The colors of badges.
const (
	badgeGreen  = "#4c1"
	badgeLime   = "#a3c51c"
	badgeYellow = "#dfb317"
	badgeRed    = "#e05d44"
	badgeGrey   = "#9f9f9f"
)

// getBadge draws how the latest pipeline of a branch or tag went, or what its tests cover.
func (x *visit) getBadge() (templ.Component, error) {
	p, err := x.project("Commits")
	if err != nil {
		return nil, err
	}
	rest := x.args["rest"]
	slash := strings.LastIndexByte(rest, '/')
	if slash <= 0 {
		return nil, errs.Missing("")
	}
	ref, kind := rest[:slash], rest[slash+1:]
	var value, color string
	switch kind {
	case "pipeline.svg", "build.svg":
		kind, value, color, err = x.pipelineBadge(p, ref)
	case "coverage.svg":
		kind, value, color, err = x.coverageBadge(p, ref)
	default:
		return nil, errs.Missing("")
	}
	if err != nil {
		return nil, err
	}
	b := badgeImage{Key: kind, Value: value, Color: color, Rounded: 3}
	if text := x.query("key_text"); text != "" && utf8.RuneCountInString(text) <= maxKeyText {
		b.Key = text
	}
	if n, err := strconv.Atoi(x.query("key_width")); err == nil && n > 0 && n <= maxKeyWidth {
		b.KeyWidth = n
	}
	if x.query("style") == "flat-square" {
		b.Rounded = 0
	}
	image := b.svg()
	x.headers("image/svg+xml", "inline").Set("Cross-Origin-Resource-Policy", "cross-origin") // READMEs elsewhere show it
	x.copyOut(io.NopCloser(bytes.NewReader(image)), int64(len(image)))
	return nil, nil
}

// unknownValue is on the badge of what nothing is known of.
const unknownValue = "unknown"

func (x *visit) pipelineBadge(p *project.Project, ref string) (kind, value, color string, err error) {
	state, err := x.CI.RefState(x.r.Context(), x.as, p, ref, x.query("ignore_skipped") == "true")
	if err != nil {
		return "", "", "", err
	}
	switch value = strings.ReplaceAll(string(state), "_", " "); state {
	case "":
		value, color = unknownValue, badgeGrey
	case ci.Success:
		value, color = "passed", badgeGreen
	case ci.Failed:
		color = badgeRed
	case ci.Running, ci.Pending:
		color = badgeYellow
	default:
		color = badgeGrey
	}
	return "pipeline", value, color, nil
}

func (x *visit) coverageBadge(p *project.Project, ref string) (kind, value, color string, err error) {
	percent, err := x.CI.RefCoverage(x.r.Context(), x.as, p, ref, x.query("job"))
	if err != nil {
		return "", "", "", err
	}
	if percent == nil {
		return "coverage", unknownValue, badgeGrey, nil
	}
	bound := func(name string, usual float64) float64 {
		n, err := strconv.ParseFloat(x.query(name), 64)
		if err != nil || n < 0 || n > 100 {
			return usual
		}
		return n
	}
	switch n := *percent; {
	case n >= bound("min_good", 95):
		color = badgeGreen
	case n >= bound("min_acceptable", 90):
		color = badgeLime
	case n >= bound("min_medium", 75):
		color = badgeYellow
	default:
		color = badgeRed
	}
	return "coverage", strconv.FormatFloat(*percent, 'f', 2, 64) + "%", color, nil
}

// badgeImage is a badge: a word and what is said about it.
type badgeImage struct {
	Key, Value, Color string
	KeyWidth          int // pixels, 0 for as much as the word takes
	Rounded           int // radius of the corners
}

// textWidth is about how many pixels a text of a badge takes with the space around it.
func textWidth(text string) int { return 12 + 13*utf8.RuneCountInString(text)/2 }

// svg draws the badge without styles, scripts and fonts of its own.
func (b badgeImage) svg() []byte {
	left, right := cmp.Or(b.KeyWidth, textWidth(b.Key)), textWidth(b.Value)
	key, value := html.EscapeString(b.Key), html.EscapeString(b.Value)
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="20" role="img" aria-label="%s: %s"><title>%s: %s</title>`, left+right, key, value, key, value)
	fmt.Fprintf(&out, `<clipPath id="edge"><rect width="%d" height="20" rx="%d"/></clipPath><g clip-path="url(#edge)">`, left+right, b.Rounded)
	fmt.Fprintf(&out, `<rect width="%d" height="20" fill="#555"/><rect x="%d" width="%d" height="20" fill="%s"/></g>`, left, left, right, b.Color)
	out.WriteString(`<g fill="#fff" text-anchor="middle" font-family="DejaVu Sans,Verdana,sans-serif" font-size="11">`)
	fmt.Fprintf(&out, `<text x="%d" y="14">%s</text><text x="%d" y="14">%s</text></g></svg>`, left/2, key, left+right/2, value)
	return out.Bytes()
}
