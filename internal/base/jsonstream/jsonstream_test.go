package jsonstream

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"time"
)

type inner struct {
	A    string `json:"a"`
	Both string `json:"both"`
	Deep *int
}

type second struct {
	Both string `json:"both"`
	B    []byte `json:"b"`
}

type secret string

func (s secret) MarshalText() ([]byte, error) { return []byte("<" + string(s) + ">"), nil }

type byPointer struct{ n int }

func (p *byPointer) MarshalJSON() ([]byte, error) { return json.Marshal([]int{p.n}) }

type zoo struct {
	inner
	*second
	Self     *zoo            `json:"self,omitempty"`
	Zero     time.Time       `json:"zero,omitzero"`
	At       time.Time       `json:"at"`
	Text     *string         `json:"text"`
	Any      any             `json:"any"`
	List     []any           `json:"list"`
	None     []int           `json:"none"`
	Array    [2]bool         `json:"array"`
	Map      map[string]int  `json:"map"`
	Numbers  map[int]string  `json:"numbers"`
	Raw      json.RawMessage `json:"raw,omitempty"`
	Secret   secret          `json:"secret"`
	Secrets  map[secret]int  `json:"secrets"`
	Pointers []byPointer     `json:"pointers"`
	Pointer  byPointer       `json:"pointer"`
	Float    float64         `json:"float"`
	Small    uint8           `json:"small,omitempty"`
	Minus    int64           `json:"minus,omitempty"`
	Number   json.Number     `json:"number"`
	Skipped  string          `json:"-"`
	Dash     string          `json:"-,"` //nolint:staticcheck // a field with the name -
	HTML     string          `json:"html<>"`
	hidden   string
	Shadow   string `json:"a"`
}

func standard(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func ours(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b)
	w.Value(v)
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if w.Len() != int64(b.Len()) {
		t.Errorf("Len is %d of %d bytes", w.Len(), b.Len())
	}
	return b.String()
}

func TestWriter_Value(t *testing.T) {
	t.Parallel()
	word, n := "<&>\u2028\x00\xff\"\\\b\f\n\r\t\x7f", 7
	full := zoo{
		inner: inner{"a", "x", &n}, second: &second{"y", []byte{1, 2}}, Self: &zoo{}, At: time.Unix(1, 5).UTC(), Text: &word,
		Any: map[string]any{"b": 1.5, "a": []string{word}, "c": nil}, List: []any{1, "x", nil, 1e21, true, []byte("x")}, None: []int{}, Map: map[string]int{"b": 2, "a": 1},
		Numbers: map[int]string{3: "c", 20: "b"}, Raw: json.RawMessage(`{ "a" : [1, "<"] }`), Secret: "s", Secrets: map[secret]int{"q": 1},
		Pointers: []byPointer{{1}, {2}}, Pointer: byPointer{3}, Float: 1e-7, Small: 255, Minus: math.MinInt64, Number: "12.50", Skipped: "x", Dash: "d", HTML: "<a>", hidden: "h", Shadow: "s",
	}
	for name, v := range map[string]any{
		"nil": nil, "empty": zoo{}, "full": full, "pointer": &full, "list": []zoo{full, {}}, "of pointers": []*zoo{&full, nil},
		"text": word, "long": strings.Repeat("\x01ä\u2029", piece), "torn": strings.Repeat("\xe2\x82", piece), "many": strings.Split(strings.Repeat("word ", 3*piece), " "),
		"number": 5, "float": float32(1.1), "empty struct": struct{}{}, "nil map": map[string]int(nil),
	} {
		if got, want := ours(t, v), standard(t, v); got != want {
			t.Errorf("%s:\n got %.300s\nwant %.300s", name, got, want)
		}
	}
}

// TestWriter_pieces writes a text of many megabytes with a buffer of some kilobytes.
func TestWriter_pieces(t *testing.T) { // not in parallel, because it counts allocations
	text := strings.Repeat("\x01", 4<<20)
	w := NewWriter(io.Discard)
	if bytes := testing.AllocsPerRun(1, func() {
		w.Reset(io.Discard)
		w.Value([]string{text, text})
	}); bytes > 5 {
		t.Errorf("%v allocations", bytes)
	}
	if err := w.Flush(); err != nil || w.Len() != 2*(6*4<<20+2)+3 || cap(w.buf) > 4*piece {
		t.Errorf("%d bytes with a buffer of %d, %v", w.Len(), cap(w.buf), err)
	}
}

func TestWriter_errors(t *testing.T) {
	t.Parallel()
	w := NewWriter(io.Discard)
	w.Value(map[string]any{"a": math.NaN()})
	if err := w.Flush(); err == nil {
		t.Error("NaN was written")
	}
	broken := errors.New("broken")
	w = NewWriter(failing{broken})
	w.Value([]string{strings.Repeat("x", 10*piece)})
	if err := w.Flush(); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func FuzzWriter_String(f *testing.F) {
	f.Add("a\x00\xff\u2028<")
	f.Fuzz(func(t *testing.T, s string) {
		if got, want := ours(t, s), standard(t, s); got != want {
			t.Errorf("%q: got %s, want %s", s, got, want)
		}
	})
}

func BenchmarkWriter_Value(b *testing.B) {
	type person struct {
		ID       int64   `json:"id"`
		Username string  `json:"username"`
		Avatar   *string `json:"avatar_url"`
	}
	type row struct {
		ID          int64     `json:"id"`
		Title       string    `json:"title"`
		Description *string   `json:"description"`
		CreatedAt   time.Time `json:"created_at"`
		Labels      []string  `json:"labels"`
		Author      person    `json:"author"`
		Assignee    *person   `json:"assignee"`
		Weight      *int64    `json:"weight,omitempty"`
		Open        bool      `json:"open"`
	}
	text := strings.Repeat("word ", 50)
	v := make([]row, 20)
	for i := range v {
		v[i] = row{ID: int64(i), Title: text[:40], Description: &text, CreatedAt: time.Now(), Labels: []string{"a", "b"}, Author: person{Username: "ann"}, Assignee: &person{}}
	}
	b.Run("pieces", func(b *testing.B) {
		w := NewWriter(io.Discard)
		for b.Loop() {
			w.Reset(io.Discard)
			w.Value(v)
			_ = w.Flush()
		}
	})
	b.Run("standard", func(b *testing.B) {
		enc := json.NewEncoder(io.Discard)
		enc.SetEscapeHTML(false)
		for b.Loop() {
			_ = enc.Encode(v)
		}
	})
}
