package db

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
)

// List is a short list of values in one column of text, as JSON.
type List[T any] []T

// Value is the text that is stored; an empty list is [].
func (l List[T]) Value() (driver.Value, error) {
	if l == nil {
		return "[]", nil
	}
	text, err := json.Marshal([]T(l))
	return string(text), err
}

// Scan reads the text.
func (l *List[T]) Scan(src any) error {
	var text []byte
	switch src := src.(type) {
	case string:
		text = []byte(src)
	case []byte:
		text = src
	default:
		return fmt.Errorf("read list: %T is no text", src)
	}
	out := []T{}
	if err := json.Unmarshal(text, &out); err != nil {
		return fmt.Errorf("read list: %w", err)
	}
	*l = out
	return nil
}
