package gitstore

import (
	"bytes"
	"crypto/sha1"
	"fmt"
	"strconv"
)

// Kind is the kind of an object.
type Kind string

// The four kinds.
const (
	KindBlob   Kind = "blob"
	KindTree   Kind = "tree"
	KindCommit Kind = "commit"
	KindTag    Kind = "tag"
)

// Info is the header of an object.
type Info struct {
	ID   ObjectID
	Kind Kind
	Size int64
}

func objectHeader(kind Kind, size int64) []byte {
	return append(strconv.AppendInt(append([]byte(kind), ' '), size, 10), 0)
}

// hashObject returns the id of an object with this content.
func hashObject(kind Kind, content []byte) ObjectID {
	h := sha1.New()
	h.Write(objectHeader(kind, int64(len(content))))
	h.Write(content)
	var id ObjectID
	h.Sum(id[:0])
	return id
}

// header is one line of a commit or a tag, with its continuation lines joined by newlines.
type header struct{ name, value string }

// splitHeaders cuts the headers of a commit or tag from its message.
func splitHeaders(content []byte) (headers []header, message []byte, err error) {
	for len(content) > 0 {
		line, rest, found := bytes.Cut(content, []byte{'\n'})
		if !found {
			return nil, nil, fmt.Errorf("header without end: %w", ErrMalformed)
		}
		if len(line) == 0 {
			return headers, rest, nil
		}
		content = rest
		if line[0] == ' ' {
			if len(headers) == 0 {
				return nil, nil, fmt.Errorf("continuation without header: %w", ErrMalformed)
			}
			headers[len(headers)-1].value += "\n" + string(line[1:])
			continue
		}
		name, value, _ := bytes.Cut(line, []byte{' '})
		headers = append(headers, header{string(name), string(value)})
	}
	return headers, nil, nil
}
