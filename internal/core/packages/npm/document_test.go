package npm

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"testing"
)

// Whatever a package document is, reading it ends; one that is taken has no key that changes the prototype of objects, and its attachment is what other
// readers of JSON find in it.
func FuzzDocument(f *testing.F) {
	for _, s := range []string{
		"", "{}", `{"name":"a","versions":{"1.0.0":{"deprecated":"x"}}}`,
		`{"_attachments":{"a-1.0.0.tgz":{"length":5,"data":"aGVsbG8="}},"name":"a"}`, `{"_attachments":{"a":{"data":"aGVs\nbG8=","x":1}}}`, `{"_attachments":{"a":{"data":"\/\/\/\/"}}}`,
		`{"_attachments":{"a":{"data":""},"b":{"data":""}}}`, `{"_attachments":{"a":{"data":1}}}`, `{"_attachments":{"a":{"data":"a\u0047Vs"}}}`, `{"_attachments":[{"data":"x"}]}`,
		`{"__proto__":{}}`, `{"_\u005fproto__":1}`, `{"constructor":{"prototype":{}}}`, `{"a":"\"__proto__","b":["\\"]}`, `[[[]]]`, `{"_attachments":{"a":{"data":"aGVsbG8`, `}`, `{"a"`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d := newDocument(bytes.NewReader(text))
		attached, err := d.next()
		if err != nil {
			return
		}
		var got any
		var content []byte
		if attached {
			if content, err = io.ReadAll(d.attachment(1<<20, func() error { return d.parse(&got) })); err != nil {
				return
			}
		} else if d.parse(&got) != nil {
			return
		}
		if len(d.text) > len(text) {
			t.Errorf("%q became %q", text, d.text)
		}
		safe(t, got)
		var whole struct {
			Attachments map[string]struct{ Data *string } `json:"_attachments"`
		}
		if json.Unmarshal(text, &whole) != nil || len(whole.Attachments) != 1 || bytes.Count(text, []byte("_attachments")) != 1 || bytes.Count(text, []byte("data")) != 1 {
			return // lines in the data, or keys that are there twice
		}
		for _, a := range whole.Attachments {
			if a.Data == nil {
				continue
			}
			if want, err := base64.StdEncoding.DecodeString(*a.Data); attached && (err != nil || !bytes.Equal(want, content)) {
				t.Errorf("%q: attachment %q, want %q, %v", text, content, want, err)
			}
		}
	})
}

// safe looks for keys that are not allowed.
func safe(t *testing.T, value any) {
	t.Helper()
	switch v := value.(type) {
	case map[string]any:
		for key, one := range v {
			_, object := one.(map[string]any)
			if key == "__proto__" || object && (key == "constructor" || key == "prototype") {
				t.Errorf("key %q in %v", key, value)
			}
			safe(t, one)
		}
	case []any:
		for _, one := range v {
			safe(t, one)
		}
	}
}
