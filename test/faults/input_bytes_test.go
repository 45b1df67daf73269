package faults

import (
	"bytes"
	"encoding/base64"
)

func bytesContain(b []byte, s string) bool { return bytes.Contains(b, []byte(s)) }

// basic is the value of Basic authorization.
func basic(user, password string) string {
	return base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
}
