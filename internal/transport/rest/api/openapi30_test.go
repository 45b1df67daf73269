package api_test

import (
	"encoding/json"
	"testing"

	"tenon/internal/transport/rest/api"
)

type choices struct {
	Kind  *string  `param:"kind" values:"a,b" doc:"Kind"`
	Level *int64   `param:"level" values:"0,1" doc:"Level"`
	Some  []string `param:"some" values:"a,b" doc:"Some"`
}

// properties returns the properties of the body of the one operation.
func properties(t *testing.T, document []byte) map[string]any {
	t.Helper()
	var doc struct {
		Paths map[string]map[string]struct {
			RequestBody struct {
				Content map[string]struct {
					Schema struct{ Properties map[string]any }
				}
			}
		}
	}
	if err := json.Unmarshal(document, &doc); err != nil {
		t.Fatal(err)
	}
	return doc.Paths["/p"]["post"].RequestBody.Content["application/json"].Schema.Properties
}

// TestDocument_enums holds values of parameters against the types that they are said to have.
func TestDocument_enums(t *testing.T) {
	t.Parallel()
	document := kitOf(api.Post("/p", decoded[choices])).Document()
	body := properties(t, document)
	for name, want := range map[string]string{
		"kind":  `{"description":"Kind","enum":["a","b",null],"type":["string","null"]}`,
		"level": `{"description":"Level","enum":[0,1,null],"type":["integer","null"]}`,
		"some":  `{"description":"Some","items":{"enum":["a","b"],"type":"string"},"type":"array"}`,
	} {
		if got, err := json.Marshal(body[name]); err != nil || string(got) != want {
			t.Errorf("%s: got %s, %v, want %s", name, got, err, want)
		}
	}
}

// TestOpenAPI30 rewrites what 3.0 says in other words.
func TestOpenAPI30(t *testing.T) {
	t.Parallel()
	document, err := api.OpenAPI30([]byte(`{"openapi":"3.1.0","paths":{"/p":{"post":{"requestBody":{"content":{"application/json":{"schema":{"properties":{
		"kind":{"enum":["a",null],"type":["string","null"]},
		"type":{"properties":{"type":{"type":["boolean","null"]}},"type":"object"},
		"of":{"anyOf":[{"$ref":"#/components/schemas/X"},{"type":"null"}]},
		"several":{"anyOf":[{"type":"string"},{"type":"integer"},{"type":"null"}]},
		"full":{"$ref":"#/components/schemas/X","description":"Full"}}}}}}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	body := properties(t, document)
	for name, want := range map[string]string{
		"kind":    `{"enum":["a"],"nullable":true,"type":"string"}`,
		"type":    `{"properties":{"type":{"nullable":true,"type":"boolean"}},"type":"object"}`,
		"of":      `{"allOf":[{"$ref":"#/components/schemas/X"}],"nullable":true}`,
		"several": `{"anyOf":[{"type":"string"},{"type":"integer"}],"nullable":true}`,
		"full":    `{"allOf":[{"$ref":"#/components/schemas/X"}],"description":"Full"}`,
	} {
		if got, err := json.Marshal(body[name]); err != nil || string(got) != want {
			t.Errorf("%s: got %s, %v, want %s", name, got, err, want)
		}
	}
	var version struct{ OpenAPI string }
	if err := json.Unmarshal(document, &version); err != nil || version.OpenAPI != "3.0.3" {
		t.Errorf("got version %q, %v", version.OpenAPI, err)
	}
	if _, err := api.OpenAPI30([]byte("{")); err == nil {
		t.Error("half a document was read")
	}
}
