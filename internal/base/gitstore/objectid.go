package gitstore

import (
	"database/sql/driver"
	"encoding/hex"
	"fmt"
)

// ObjectID is the SHA-1 name of an object. The zero value names no object; git
// writes it as forty zeros, meaning "absent" wherever a reference moves.
type ObjectID [20]byte

// ParseObjectID reads forty hexadecimal digits in either case. An abbreviation
// is refused: Repo.Resolve expands those.
func ParseObjectID(s string) (ObjectID, error) {
	var id ObjectID
	if len(s) != 2*len(id) {
		return ObjectID{}, fmt.Errorf("object id %q: want 40 hexadecimal digits: %w", clip(s), ErrBadName)
	}
	if _, err := hex.Decode(id[:], []byte(s)); err != nil {
		return ObjectID{}, fmt.Errorf("object id %q: want 40 hexadecimal digits: %w", clip(s), ErrBadName)
	}
	return id, nil
}

// EmptyTree names the tree without entries, which every repository has.
func EmptyTree() ObjectID { return hashObject(KindTree, nil) }

// IsZero reports whether the id names no object.
func (o ObjectID) IsZero() bool { return o == ObjectID{} }

// String returns forty lower-case hexadecimal digits.
func (o ObjectID) String() string { return hex.EncodeToString(o[:]) }

// Short returns the first eight digits, as the interface shows them.
func (o ObjectID) Short() string { return hex.EncodeToString(o[:4]) }

// MarshalText returns the forty digits.
func (o ObjectID) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText reads forty digits.
func (o *ObjectID) UnmarshalText(text []byte) error {
	id, err := ParseObjectID(string(text))
	if err != nil {
		return err
	}
	*o = id
	return nil
}

// Value stores the forty digits, and NULL for the zero id.
func (o ObjectID) Value() (driver.Value, error) {
	if o.IsZero() {
		return nil, nil
	}
	return o.String(), nil
}

// Scan reads what Value stored; NULL and "" give the zero id.
func (o *ObjectID) Scan(src any) error {
	var text string
	switch v := src.(type) {
	case nil:
	case string:
		text = v
	case []byte:
		text = string(v)
	default:
		return fmt.Errorf("scan object id from %T", src)
	}
	if text == "" {
		*o = ObjectID{}
		return nil
	}
	return o.UnmarshalText([]byte(text))
}

// IsHex reports whether s holds hexadecimal digits only, one at least.
func IsHex(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
			return false
		}
	}
	return s != ""
}

// clip shortens a text for an error message.
func clip(s string) string {
	if len(s) > 200 {
		return s[:200] + "..."
	}
	return s
}
