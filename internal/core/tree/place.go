package tree

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// placeIn is the place of a nested row: of the row that it is in, its key there, and which of the rows below that key it is.
func placeIn(place, key string, n int) string { return fmt.Sprintf("%s/%s/%d", place, key, n) }

// LineText is a line in which nested rows are looked for.
type LineText struct {
	text  []byte
	known map[string]json.RawMessage   // rows by their places
	lists map[string][]json.RawMessage // of rows, by the places of the lists
}

// NewLineText is the text of a line.
func NewLineText(text []byte) *LineText {
	return &LineText{text: text, known: map[string]json.RawMessage{}, lists: map[string][]json.RawMessage{}}
}

// At returns the row at a place of [Item]: the line itself for "", else keys and numbers from 0 with a slash before each. It is nil where there
// is none.
func (t *LineText) At(place string) []byte {
	if place == "" {
		return t.text
	}
	if known, ok := t.known[place]; ok {
		return known
	}
	above, last := cutLast(place)
	var out json.RawMessage
	if n, err := strconv.Atoi(last); err == nil {
		list, ok := t.lists[above]
		if !ok {
			list = nestedIn(t.At(above))
			t.lists[above] = list
		}
		if n < len(list) {
			out = list[n]
		}
	} else {
		row := parse(t.At(above))
		for key, text := range row {
			t.known[above+"/"+key] = text
		}
		out = row[last]
	}
	t.known[place] = out
	return out
}

func cutLast(place string) (above, last string) {
	i := strings.LastIndexByte(place, '/')
	return place[:max(i, 0)], place[i+1:]
}
