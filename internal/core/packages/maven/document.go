package maven

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// span is a part of a document: its bytes from the first to before the last.
type span struct{ from, to int64 }

// element is an element of a document whose content is a text.
type element struct {
	span

	name  string
	inner span
	text  string // without the space around it
}

// document is the metadata of the versions of a package, or of the builds of a snapshot, as a client has written it.
type document struct {
	text     []byte
	versions []element
	named    []element // latest, release and lastUpdated, where they are there
	builds   []build   // of a snapshot
	newest   []element // timestamp and buildNumber of the newest build, where they are there
}

const (
	maxMetadata = 4 << 20 // bytes of metadata that are read
	maxDepth    = 100     // of its elements
)

var errDepth = errors.New("too many elements in each other")

// parse reads metadata.
func parse(text []byte) (*document, error) {
	d := &document{text: text}
	x := xml.NewDecoder(bytes.NewReader(text))
	var path []string
	var one *element // that has only text so far
	for {
		before := x.InputOffset()
		token, err := x.Token()
		if errors.Is(err, io.EOF) {
			return d, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read metadata: %w", err)
		}
		switch t := token.(type) {
		case xml.StartElement:
			if path = append(path, t.Name.Local); len(path) > maxDepth {
				return nil, errDepth
			}
			one = &element{name: t.Name.Local, span: span{from: before}, inner: span{from: x.InputOffset()}}
			if strings.Join(path, "/") == buildPath {
				d.builds = append(d.builds, build{span: span{from: before}})
			}
		case xml.CharData:
			if one != nil {
				one.text += string(t)
			}
		case xml.EndElement:
			if one != nil {
				one.to, one.inner.to, one.text = x.InputOffset(), before, strings.TrimSpace(one.text)
				d.add(strings.Join(path, "/"), *one)
			}
			if n := len(d.builds); n > 0 && d.builds[n-1].to == 0 && strings.Join(path, "/") == buildPath {
				d.builds[n-1].to = x.InputOffset()
			}
			path, one = path[:len(path)-1], nil
		}
	}
}

// add keeps an element that metadata of versions has at a path.
func (d *document) add(path string, e element) {
	switch of, ok := strings.CutPrefix(path, "metadata/versioning/"); {
	case !ok:
	case of == "versions/version":
		d.versions = append(d.versions, e)
	case of == "latest", of == "release", of == "lastUpdated":
		d.named = append(d.named, e)
	case of == "snapshot/timestamp", of == "snapshot/buildNumber":
		d.newest = append(d.newest, e)
	case len(d.builds) > 0 && d.builds[len(d.builds)-1].to == 0:
		if name, ok := strings.CutPrefix(path, buildPath+"/"); ok {
			d.builds[len(d.builds)-1].add(name, e)
		}
	}
}

// edit is what takes the place of a part of a document.
type edit struct {
	span

	text string
}

// keep returns the document with those of its versions that are kept, written at a moment, and what it lists then. The latest version and the release are
// the last of these where theirs are not kept. Changed is false where all are.
func (d *document) keep(kept func(version string) bool, moment string) (text []byte, left []string, changed bool) {
	var edits []edit
	for _, v := range d.versions {
		if kept(v.text) {
			left = append(left, v.text)
		} else {
			edits = append(edits, edit{span: d.withSpace(v.span)})
		}
	}
	stable := slices.DeleteFunc(slices.Clone(left), func(v string) bool { return strings.HasSuffix(v, snapshot) })
	for _, e := range d.named {
		from := left
		if e.name == "release" {
			from = stable
		}
		switch {
		case e.name == "lastUpdated" || e.text == "" || kept(e.text):
		case len(from) == 0:
			edits = append(edits, edit{span: d.withSpace(e.span)})
		default:
			edits = append(edits, edit{e.inner, escaped(from[len(from)-1])})
		}
	}
	if len(edits) == 0 {
		return d.text, left, false
	}
	return d.apply(edits, moment), left, true
}

// apply returns the document with edits, which were made at a moment.
func (d *document) apply(edits []edit, moment string) (text []byte) {
	for _, e := range d.named {
		if e.name == "lastUpdated" && e.text != "" {
			edits = append(edits, edit{e.inner, moment})
		}
	}
	slices.SortFunc(edits, func(a, b edit) int { return int(a.from - b.from) })
	at := int64(0)
	for _, e := range edits {
		text = append(append(text, d.text[at:e.from]...), e.text...)
		at = e.to
	}
	return append(text, d.text[at:]...)
}

// withSpace is a part with the space before it.
func (d *document) withSpace(s span) span {
	return span{int64(len(bytes.TrimRight(d.text[:s.from], " \t\r\n"))), s.to}
}

func escaped(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder takes everything
	return b.String()
}
