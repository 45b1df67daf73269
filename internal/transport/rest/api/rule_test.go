package api_test

import (
	"testing"

	"tenon/internal/transport/rest/api"
)

type pair struct {
	A string   `param:"a" json:",omitempty"`
	B string   `param:"b" alias:"old" json:",omitempty"`
	_ struct{} `atleastone:"*"`
}

func TestKit_rules(t *testing.T) {
	k := kitOf(
		api.Get("/exclusive", decoded[struct {
			A string   `param:"a" json:",omitempty"`
			B string   `param:"b" json:",omitempty"`
			_ struct{} `exclusive:"a,b,c"`
			C string   `param:"c,required" json:",omitempty"`
		}]),
		api.Get("/atleast", decoded[struct {
			A string   `param:"a" json:",omitempty"`
			B string   `param:"b" json:",omitempty"`
			_ struct{} `atleastone:"a,b"`
		}]),
		api.Get("/any", decoded[struct {
			Path string `param:"path" json:",omitempty"`
			pair
		}]),
		api.Get("/exactly", decoded[struct {
			A string   `param:"a" alias:"old" json:",omitempty"`
			B string   `param:"b" json:",omitempty"`
			_ struct{} `exactlyone:"a,b"`
		}]),
		api.Get("/all", decoded[struct {
			A string   `param:"a" json:",omitempty"`
			B string   `param:"b" json:",omitempty"`
			_ struct{} `allornone:"a,b"`
		}]),
		api.Get("/required", decoded[struct {
			Title  string    `param:"title,required,nonempty" json:",omitempty"`
			State  string    `param:"state,required" values:"a,b" json:",omitempty"`
			Pos    position  `param:"pos,required" json:",omitzero"`
			Header string    `header:"X-Thing" json:",omitempty"`
			Many   []string  `param:"many,nonempty" json:",omitempty"`
			Opt    *position `param:"opt" json:",omitempty"`
		}]),
	)
	tests := []struct{ request, want string }{
		{"/exclusive?a=1&c=", `a, c are mutually exclusive`},
		{"/exclusive?a=1&b=1", `a, b are mutually exclusive, c is missing`},
		{"/exclusive?c=1", `{"C":"1"}`},
		{"/atleast", `a, b are missing, at least one parameter must be provided`},
		{"/atleast?b", `{}`},
		{"/any?path=1", `a, b are missing, at least one parameter must be provided`},
		{"/any?old=1", `{"B":"1"}`},
		{"/exactly", `a, b are missing, exactly one parameter must be provided`},
		{"/exactly?a=1&b=2", `a, b are mutually exclusive`},
		{"/exactly?old=1", `{"A":"1"}`},
		{"/all?a=1", `a, b provide all or none of parameters`},
		{"/all?a=1&b=2", `{"A":"1","B":"2"}`},
		{"/all", `{}`},
		{"/required", `title is missing, state is missing, pos is missing, pos[base_sha] is missing`},
		{"/required?title=&state&pos[base_sha]", `title is empty, state does not have a valid value`},
		{"/required?title=a&state=b&pos[base_sha]=c&many[]=\nX-Thing: x", `{"Title":"a","State":"b","Pos":{"BaseSHA":"c"},"Header":"x","Many":[""]}`},
		{"/required?title=a&state=b&pos[base_sha]=c&many=", `many is empty`},
	}
	for _, tt := range tests {
		t.Run(tt.request, func(t *testing.T) {
			got := call(t, k, "GET "+tt.request)
			check(t, got.Code, got.Body.String(), tt.want)
		})
	}
}
