package faults

import "bytes"

func bytesContain(b []byte, s string) bool { return bytes.Contains(b, []byte(s)) }
