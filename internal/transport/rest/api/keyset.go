package api

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
)

// Cursor is a place in a keyset list: the order columns of the row at the edge of
// a page, as strings, in their order.
type Cursor struct {
	Columns []Column
	Back    bool // read towards the start
}

// Column is one order column of a cursor.
type Column struct{ Name, Value string }

// Encode gives the opaque text of the cursor.
func (c Cursor) Encode() string {
	var b strings.Builder
	b.WriteByte('{')
	for _, col := range c.Columns {
		b.WriteString(quoted(col.Name) + ":" + quoted(col.Value) + ",")
	}
	direction := "n"
	if c.Back {
		direction = "p"
	}
	b.WriteString(`"_kd":"` + direction + `"}`)
	return base64.URLEncoding.EncodeToString([]byte(b.String()))
}

// ParseCursor reads a cursor for a list that is ordered by these columns. The empty
// text is the start of the list: nil without an error. A cursor that was not made
// for this order is refused.
func ParseCursor(s string, columns ...string) (*Cursor, error) {
	if s == "" {
		return nil, nil
	}
	bad := &Refusal{Status: http.StatusBadRequest, Text: "cursor is invalid"}
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(s, "="))
	if err != nil || clean(string(raw)) != nil {
		return nil, bad
	}
	var content map[string]string
	if err := json.NewDecoder(bytes.NewReader(raw)).Decode(&content); err != nil {
		return nil, bad
	}
	c := &Cursor{Back: content["_kd"] == "p"}
	for _, name := range columns {
		value, ok := content[name]
		if !ok {
			return nil, bad
		}
		c.Columns = append(c.Columns, Column{Name: name, Value: value})
	}
	return c, nil
}
