package secret

import (
	"crypto/hmac"
	"encoding/base32"
	"strings"
)

// tagSum is how many bytes of the sum a tag has: 96 bits are not guessed over the network.
const tagSum = 12

// tags are letters and digits of one case: mail servers may change the case of an address.
var tags = base32.StdEncoding.WithPadding(base32.NoPadding)

// Tag makes a name of body that only the server can have made, for one purpose and for good.
// It is in lower-case letters and digits, eight for five bytes, and short enough for a part of
// an address of mail. Clients can read the body.
func (s *Signer) Tag(purpose string, body []byte) string {
	sum := s.sum(purpose, body)[:tagSum]
	return strings.ToLower(tags.EncodeToString(append(sum, body...)))
}

// OpenTag returns the body of what Tag made for the same purpose, in whatever case; otherwise it
// fails with ErrSigned.
func (s *Signer) OpenTag(purpose, tag string) ([]byte, error) {
	all, err := tags.DecodeString(strings.ToUpper(tag))
	if err != nil || len(all) < tagSum {
		return nil, ErrSigned
	}
	body := all[tagSum:]
	if !hmac.Equal(all[:tagSum], s.sum(purpose, body)[:tagSum]) {
		return nil, ErrSigned
	}
	return body, nil
}
