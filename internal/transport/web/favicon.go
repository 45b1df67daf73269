package web

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math"
	"net/http"
	"sync"

	"tenon/internal/core/ci"
)

// point is a place on an icon, from its middle: -1 to 1.
type point struct{ x, y float64 }

// mark is what an icon has on its disc: strokes, each a line from point to point. A stroke of one point is a dot.
type mark [][]point

// shape is how the icon of a state looks.
type shape struct {
	fill color.NRGBA
	mark mark
}

const iconSize = 32 // pixels

var (
	green  = color.NRGBA{0x1a, 0x80, 0x3d, 0xff}
	red    = color.NRGBA{0xc9, 0x2a, 0x2a, 0xff}
	blue   = color.NRGBA{0x0b, 0x5c, 0xad, 0xff}
	orange = color.NRGBA{0xb3, 0x60, 0x00, 0xff}
	grey   = color.NRGBA{0x6b, 0x73, 0x80, 0xff}
)

// shapes returns the look of each state.
func shapes() map[ci.State]shape {
	cross := mark{{{-.4, -.4}, {.4, .4}}, {{-.4, .4}, {.4, -.4}}}
	pause := mark{{{-.22, -.4}, {-.22, .4}}, {{.22, -.4}, {.22, .4}}}
	clock := mark{{{0, -.5}, {0, 0}, {.35, .25}}}
	dots := mark{{{-.45, 0}}, {{0, 0}}, {{.45, 0}}}
	slash := mark{{{-.45, .45}, {.45, -.45}}}
	return map[ci.State]shape{
		ci.Created:            {grey, mark{{{0, 0}}}},
		ci.WaitingForResource: {orange, pause},
		ci.Preparing:          {grey, dots},
		ci.WaitingForCallback: {orange, pause},
		ci.Pending:            {orange, pause},
		ci.Running:            {blue, mark{{{-.25, -.45}, {.4, 0}, {-.25, .45}, {-.25, -.45}}}},
		ci.Success:            {green, mark{{{-.45, .05}, {-.12, .38}, {.45, -.32}}}},
		ci.Failed:             {red, cross},
		ci.Canceling:          {grey, slash},
		ci.Canceled:           {grey, slash},
		ci.Skipped:            {grey, mark{{{-.45, -.4}, {-.05, 0}, {-.45, .4}}, {{.05, -.4}, {.45, 0}, {.05, .4}}}},
		ci.Manual:             {grey, mark{{{-.45, 0}, {.45, 0}}, {{0, -.45}, {0, .45}}}},
		ci.Scheduled:          {grey, clock},
	}
}

// newFavicons returns the icon of each state by the path where browsers find it. It is drawn when it is asked for first.
func newFavicons() map[string]func() []byte {
	all := shapes()
	out := make(map[string]func() []byte, len(all))
	for _, state := range ci.States() {
		if path := at.StatusFavicon(state.Detail(false).Favicon); out[path] == nil {
			out[path] = sync.OnceValue(all[state].draw)
		}
	}
	return out
}

// draw returns the icon as PNG.
func (s shape) draw() []byte {
	img := image.NewNRGBA(image.Rect(0, 0, iconSize, iconSize))
	const half, soft = iconSize / 2.0, 2.0 / iconSize // soft is a pixel
	for y := range iconSize {
		for x := range iconSize {
			p := point{(float64(x) + .5 - half) / half, (float64(y) + .5 - half) / half}
			c := s.fill
			stroke := cover(s.mark.distance(p)-.12, soft)
			c.R, c.G, c.B = blend(c.R, stroke), blend(c.G, stroke), blend(c.B, stroke)
			c.A = uint8(255 * cover(math.Hypot(p.x, p.y)-.97, soft))
			img.SetNRGBA(x, y, c)
		}
	}
	var out bytes.Buffer
	if err := png.Encode(&out, img); err != nil {
		panic(err) // a buffer takes everything, and the picture has a size
	}
	return out.Bytes()
}

// cover tells how much of a pixel is inside of an edge that is at a distance from its middle, negative inside.
func cover(distance, pixel float64) float64 { return min(max(.5-distance/pixel, 0), 1) }

// blend mixes a color with white.
func blend(c uint8, white float64) uint8 { return uint8(float64(c) + (255-float64(c))*white) }

// distance returns how far a point is from the nearest stroke.
func (m mark) distance(p point) float64 {
	least := math.Inf(1)
	for _, stroke := range m {
		least = min(least, apart(p, stroke[0], stroke[0]))
		for i := 1; i < len(stroke); i++ {
			least = min(least, apart(p, stroke[i-1], stroke[i]))
		}
	}
	return least
}

// apart returns how far a point is from a line between two others.
func apart(p, from, to point) float64 {
	dx, dy := to.x-from.x, to.y-from.y
	along := 0.0
	if length := dx*dx + dy*dy; length > 0 {
		along = min(max(((p.x-from.x)*dx+(p.y-from.y)*dy)/length, 0), 1)
	}
	return math.Hypot(p.x-from.x-along*dx, p.y-from.y-along*dy)
}

// serveFavicon answers with the icon of a state, and reports whether the path is that of one. Its path stays the same when it changes.
func (a assets) serveFavicon(w http.ResponseWriter, r *http.Request) bool {
	icon, ok := a.favicons[r.URL.Path]
	if ok {
		serveFile(w, r, "image/png", "public, max-age=86400", icon())
	}
	return ok
}
