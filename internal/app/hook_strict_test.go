package app

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"

	"tenon/internal/core/payload"
)

// strictDecoding has the keys of bodies that the Go client drops, each with the reason why it is sent, from testdata/hook_strict.txt.
type strictDecoding struct {
	*testing.T

	reasons map[string]string
	used    map[string]bool
}

func newStrictDecoding(t *testing.T) *strictDecoding {
	t.Helper()
	text, err := os.ReadFile("testdata/hook_strict.txt")
	if err != nil {
		t.Fatal(err)
	}
	d := &strictDecoding{T: t, reasons: map[string]string{}, used: map[string]bool{}}
	for line := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n") {
		keys, reason, ok := strings.Cut(line, ": ")
		if strings.HasPrefix(line, "#") {
			continue
		}
		if !ok {
			t.Fatalf("%q has no reason", line)
		}
		for key := range strings.SplitSeq(keys, ", ") {
			d.reasons[key] = reason
		}
	}
	return d
}

// decode has the Go client decode a message, and reports keys that it does not know.
func (d *strictDecoding) decode(m *payload.Message) {
	d.Helper()
	header := m.Trigger.Header()
	d.as(m, header)
	if m.Trigger == payload.Push || m.Trigger == payload.TagPush || m.Trigger == payload.MergeRequest {
		d.as(m, payload.SystemHook)
		d.as(m, payload.ServiceHook)
	}
}

func (d *strictDecoding) as(m *payload.Message, header string) {
	d.Helper()
	var out any
	var err error
	if header == payload.SystemHook {
		out, err = gitlab.ParseSystemhook(m.JSON)
	} else {
		out, err = gitlab.ParseWebhook(gitlab.EventType(header), m.JSON)
	}
	if err != nil {
		var b struct {
			Event string `json:"event_name"`
		}
		_ = json.Unmarshal(m.JSON, &b)
		if !d.known(header + " " + b.Event) {
			d.Errorf("%s: %v: %s", header, err, m.JSON)
		}
		return
	}
	of := reflect.Indirect(reflect.ValueOf(out)).Type()
	d.object(of.Name(), of, m.JSON)
}

func (d *strictDecoding) known(key string) bool {
	d.used[key] = true
	return d.reasons[key] != ""
}

var unmarshalerType = reflect.TypeFor[json.Unmarshaler]()

// object compares the keys of a value with the fields of the type that the client decodes it into.
func (d *strictDecoding) object(path string, of reflect.Type, text json.RawMessage) {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	text = bytes.TrimSpace(text)
	switch {
	case reflect.PointerTo(of).Implements(unmarshalerType) || of.Kind() == reflect.Interface || of.Kind() == reflect.Map:
	case of.Kind() == reflect.Slice && text[0] == '[':
		var list []json.RawMessage
		if err := json.Unmarshal(text, &list); err != nil {
			d.Fatal(err)
		}
		for _, one := range list {
			d.object(path+"[]", of.Elem(), one)
		}
	case of.Kind() == reflect.Struct && text[0] == '{':
		fields := map[string]reflect.Type{}
		for _, f := range reflect.VisibleFields(of) {
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
				fields[name] = f.Type
			}
		}
		var keys map[string]json.RawMessage
		if err := json.Unmarshal(text, &keys); err != nil {
			d.Fatal(err)
		}
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			if t, ok := fields[key]; ok {
				d.object(path+"."+key, t, keys[key])
			} else if !d.known(path + "." + key) {
				d.Errorf("%s.%s: the client does not know it", path, key)
			}
		}
	}
}

// whole fails where the list has what the client knows.
func (d *strictDecoding) whole() {
	for _, key := range slices.Sorted(maps.Keys(d.reasons)) {
		if !d.used[key] {
			d.Errorf("%s is in the list and in no body, or the client knows it", key)
		}
	}
}
