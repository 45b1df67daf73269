package api_test

import (
	"testing"

	"tenon/internal/transport/rest/api"
)

type updated struct {
	Text   *string         `param:"text"`
	Word   *string         `param:"word" values:"a,b"`
	Number *int64          `param:"number"`
	Told   api.Opt[string] `param:"told"`
	Inside *struct {
		A *string `param:"a"`
	} `param:"inside"`
}

// TestKit_null clears texts of updates by null, which leaves alone what has values of its own, and
// everything that is created.
func TestKit_null(t *testing.T) {
	t.Parallel()
	k := kitOf(api.Put("/p", decoded[updated]), api.Post("/p", decoded[updated]))
	const body = " /p\nContent-Type: application/json\n\n" + `{"text":null,"word":null,"number":null,"told":null,"inside":{"a":null}}`
	for request, want := range map[string]string{
		"PUT" + body:        `{"Text":"","Word":null,"Number":null,"Told":{"Value":"","Set":true,"Null":true},"Inside":{"A":""}}`,
		"POST" + body:       `{"Text":null,"Word":null,"Number":null,"Told":{"Value":"","Set":true,"Null":true},"Inside":{"A":null}}`,
		"PUT /p?text=":      `{"Text":"","Word":null,"Number":null,"Told":{"Value":"","Set":false,"Null":false},"Inside":null}`,
		"PUT /p?other=text": `{"Text":null,"Word":null,"Number":null,"Told":{"Value":"","Set":false,"Null":false},"Inside":null}`,
	} {
		if got := call(t, k, request); got.Code >= 300 || got.Body.String() != want {
			t.Errorf("%q: got %d %s, want %s", request, got.Code, got.Body, want)
		}
	}
}
