package db

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// dumpTime is how a dump writes a time.
const dumpTime = "2006-01-02T15:04:05.000000Z"

// appendRow writes a row as a line of JSON: an array with a value for each column.
func appendRow(out []byte, columns []DumpColumn, row []any) ([]byte, error) {
	out = append(out, '[')
	for i, c := range columns {
		if i > 0 {
			out = append(out, ',')
		}
		var err error
		if out, err = appendValue(out, c.Kind, row[i]); err != nil {
			return nil, fmt.Errorf("column %s: %w", c.Name, err)
		}
	}
	return append(out, ']', '\n'), nil
}

func appendValue(out []byte, kind DumpKind, value any) ([]byte, error) {
	if value == nil {
		return append(out, "null"...), nil
	}
	switch kind {
	case DumpInt:
		if v, ok := value.(int64); ok {
			return strconv.AppendInt(out, v, 10), nil
		}
	case DumpFloat:
		v, ok := value.(float64)
		if n, whole := value.(int64); whole { // SQLite keeps 1.0 as 1 in some columns
			v, ok = float64(n), true
		}
		if ok && !math.IsNaN(v) && !math.IsInf(v, 0) {
			return strconv.AppendFloat(out, v, 'g', -1, 64), nil
		}
	case DumpBool:
		v, ok := value.(bool)
		if n, number := value.(int64); number && (n == 0 || n == 1) {
			v, ok = n == 1, true
		}
		if ok {
			return strconv.AppendBool(out, v), nil
		}
	case DumpText:
		if v, ok := value.(string); ok {
			if !utf8.ValidString(v) || strings.IndexByte(v, 0) >= 0 {
				return nil, ErrText
			}
			return appendText(out, v)
		}
	case DumpBytes:
		if v, ok := value.([]byte); ok {
			out = append(out, '"')
			out = base64.StdEncoding.AppendEncode(out, v)
			return append(out, '"'), nil
		}
	case DumpTime:
		var at Time
		if err := at.Scan(value); err != nil {
			return nil, err
		}
		out = append(out, '"')
		out = at.AppendFormat(out, dumpTime)
		return append(out, '"'), nil
	}
	return nil, fmt.Errorf("%T is no %s", value, kind)
}

// appendText writes a JSON string, plain ASCII without a detour.
func appendText(out []byte, s string) ([]byte, error) {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			text, err := json.Marshal(s)
			return append(out, text...), err
		}
	}
	out = append(out, '"')
	out = append(out, s...)
	return append(out, '"'), nil
}

// parseRow reads what appendRow wrote, and refuses anything else.
func parseRow(line []byte, columns []DumpColumn) ([]any, error) {
	var values []json.RawMessage
	if err := json.Unmarshal(line, &values); err != nil {
		return nil, err
	}
	if len(values) != len(columns) {
		return nil, fmt.Errorf("%d values for %d columns", len(values), len(columns))
	}
	row := make([]any, len(values))
	for i, c := range columns {
		var err error
		if row[i], err = parseValue(values[i], c.Kind); err != nil {
			return nil, fmt.Errorf("column %s: %w", c.Name, err)
		}
	}
	return row, nil
}

func parseValue(value json.RawMessage, kind DumpKind) (any, error) {
	if string(value) == "null" {
		return nil, nil
	}
	switch kind {
	case DumpInt:
		return strconv.ParseInt(string(value), 10, 64)
	case DumpFloat:
		return strconv.ParseFloat(string(value), 64)
	case DumpBool:
		var v bool
		err := json.Unmarshal(value, &v)
		return v, err
	}
	var text string
	if err := json.Unmarshal(value, &text); err != nil {
		return nil, err
	}
	switch kind {
	case DumpText:
		return bindText(text)
	case DumpBytes:
		return base64.StdEncoding.DecodeString(text)
	case DumpTime:
		at, err := time.Parse(dumpTime, text)
		return utc(at), err
	}
	return nil, fmt.Errorf("no kind %q", kind)
}
