package gitstore

import (
	"bytes"
	"fmt"
)

// Signed is a commit or tag as it was signed.
type Signed struct {
	Payload   []byte // what the signature is over
	Signature []byte // armoured, nil where the object is unsigned
	Several   bool   // there is more than one signature
}

// ParseSigned splits the content of a commit or an annotated tag into the signature and
// what it is over, as git does: a commit without its signature headers, a tag up to the signature.
func ParseSigned(kind Kind, content []byte) (Signed, error) {
	switch kind {
	case KindCommit:
		return signedCommit(content), nil
	case KindTag:
		return signedTag(content), nil
	}
	return Signed{}, fmt.Errorf("signature of a %s: %w", kind, ErrMalformed)
}

// signedCommit takes the signature headers out; those for the other format of object ids
// do not count, but are no part of the payload either.
func signedCommit(content []byte) Signed {
	header := []byte("gpgsig ")
	var s Signed
	var inside, other bool
	for rest := content; len(rest) > 0; {
		line := rest
		if i := bytes.IndexByte(rest, '\n'); i >= 0 {
			line = rest[:i+1]
		}
		if len(line) == 1 { // the end of the headers
			s.Payload = append(s.Payload, rest...)
			break
		}
		rest = rest[len(line):]
		switch {
		case line[0] == ' ' && inside:
			s.Signature = append(s.Signature, line[1:]...)
		case line[0] == ' ' && other:
		case bytes.HasPrefix(line, header):
			s.Several = s.Several || s.Signature != nil
			s.Signature = append(s.Signature, line[len(header):]...)
			inside, other = true, false
		case bytes.HasPrefix(line, []byte("gpgsig")):
			inside, other = false, true
		default:
			inside, other = false, false
			s.Payload = append(s.Payload, line...)
		}
	}
	return s
}

// signedTag splits at the last line that begins a signature.
func signedTag(content []byte) Signed {
	end := -1
	for _, begin := range []string{"PGP SIGNATURE", "PGP MESSAGE", "SSH SIGNATURE", "SIGNED MESSAGE"} {
		if i := bytes.LastIndex(content, []byte("\n-----BEGIN "+begin+"-----")); i+1 > end && i >= 0 {
			end = i + 1
		}
	}
	if end < 0 {
		return Signed{Payload: content}
	}
	return Signed{Payload: content[:end:end], Signature: content[end:]}
}
