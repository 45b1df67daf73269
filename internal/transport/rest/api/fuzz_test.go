package api

import (
	"encoding/json"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// depthOf measures a tree of parameters, and fails where it holds what none may.
func depthOf(t *testing.T, v any) int {
	t.Helper()
	deepest := 0
	switch v := v.(type) {
	case string:
		if strings.IndexByte(v, 0) >= 0 || !utf8.ValidString(v) {
			t.Fatalf("the value %q went through", v)
		}
		return 0
	case *list:
		for _, item := range v.items {
			deepest = max(deepest, depthOf(t, item))
		}
	case *object:
		for i, k := range v.keys {
			if strings.IndexByte(k, 0) >= 0 || !utf8.ValidString(k) {
				t.Fatalf("the key %q went through", k)
			}
			if got, ok := v.get(k); !ok || !reflect.DeepEqual(got, v.vals[i]) {
				t.Fatalf("the key %q stands there twice", k)
			}
			deepest = max(deepest, depthOf(t, v.vals[i]))
		}
	default:
		return 0
	}
	return deepest + 1
}

func FuzzParseQuery(f *testing.F) {
	for _, s := range []string{
		"a=1&b=2", "a[]=1&a[]=2", "a[k]=v", "a[][k]=v&a[][m]=w&a[][k]=x", "a[0][k]=v", "a=1&a[k]=2", "a%5B%5D=%20+", "a[", "[]=1",
		"a[][][]=1", "a[b]c=1", "a]b[=1", "%", "a&b&=", "a[][b][c]=1&a[][b][d]=2&a[][b][c]=3", "a[[b]]=1",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var o object
		if parseQuery(&o, s) != nil {
			return
		}
		if d := depthOf(t, &o); d > 2*maxDepth+1 {
			t.Fatalf("%q is nested %d deep", s, d)
		}
		// What was read can be written and read again.
		var pairs []string
		for i, k := range o.keys {
			pairs = appendQuery(pairs, k, o.vals[i])
		}
		for _, p := range pairs {
			if _, err := url.QueryUnescape(p); err != nil {
				t.Fatalf("%q is written as %q: %v", s, p, err)
			}
		}
		// Every type takes or refuses it, without a panic.
		var out struct {
			Int     int          `param:"a"`
			Strings Strings      `param:"b"`
			Ints    Opt[Ints]    `param:"c"`
			At      Opt[Time]    `param:"d"`
			Objects []struct{}   `param:"e"`
			Any     any          `param:"f"`
			Map     map[string]T `param:"g"`
			Word    IDOrWord     `param:"h"`
		}
		d := &decoding{}
		planOf(reflect.TypeOf(out)).decode(d, &o, reflect.ValueOf(&out).Elem(), "")
	})
}

// T is a name for a nested parameter of the fuzz target.
type T struct {
	K []bool `param:"k,required,nonempty"`
}

func FuzzParseJSON(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"a":1}`, `{"a":[1,-2.5e+3,true,false,null,"x"]}`, `{"a":{"b":"\u00e4\ud83d\ude00\n"}}`, `[1,2]`, `"\ud800"`, `{"a":01}`, ` {"a" : 1 } `,
		`{"a":1,"a":2}`, `{"a":"` + "\x7f" + `"}`, `-0`, `{"":0}`, `{"a":"\ud800\u0041"}`, `1e`, `"\x"`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var o object
		err := parseJSON(&o, b)
		if err != nil {
			// Only what is no JSON, or breaks a limit, is refused.
			if json.Valid(b) && utf8.Valid(b) && !strings.Contains(string(b), `\u0000`) && len(b) < 2*maxDepth {
				t.Fatalf("%q is refused", b)
			}
			return
		}
		depthOf(t, &o)
		if len(strings.TrimSpace(string(b))) == 0 {
			return
		}
		var want any
		if err := json.Unmarshal(b, &want); err != nil {
			t.Fatalf("%q is accepted, encoding/json says %v", b, err)
		}
		m, ok := want.(map[string]any)
		if !ok {
			return
		}
		if got := asFloats(plain(&o)); !reflect.DeepEqual(got, asFloats(m)) {
			t.Fatalf("%q is read as %#v, want %#v", b, got, m)
		}
	})
}

// asFloats turns every number into a float64, as encoding/json has them.
func asFloats(v any) any {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case []any:
		for i := range v {
			v[i] = asFloats(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = asFloats(v[k])
		}
	}
	return v
}

func FuzzLookup(f *testing.F) {
	for _, s := range []string{
		"/projects/1", "/projects/a%2Fb/", "/projects/a%2F..%2Fb", "//", "/projects/%2e%2e", "/projects/1.json", "/projects/1/archive.tar.gz",
		"/projects/1/files/a%2F..%2Fb/raw", "/projects/1/tree/a/b/../c", "/projects/special", "/projects/%252e%252e", "/projects/%00", "/%zz",
	} {
		f.Add(s)
	}
	var root node
	type id struct {
		ID string `param:"id,required"`
	}
	route := func(method, path string, params any) {
		r := &Route{method: method, path: path, plan: planOf(reflect.TypeOf(params))}
		if problem := root.insert(path, r.captures(path), r); problem != "" {
			f.Fatal(problem)
		}
	}
	route("GET", "/projects/:id", id{})
	route("DELETE", "/projects/:id", id{})
	route("GET", "/projects/special", struct{}{})
	route("GET", "/projects/:id/archive{.format}", struct {
		id
		Format string `param:"format" values:"zip,tar.gz"`
	}{})
	route("GET", "/projects/:id/files/:file/raw", struct {
		id
		File string `param:"file,free"`
	}{})
	route("GET", "/projects/:id/tree/*path", struct {
		id
		Path string `param:"path,free"`
	}{})
	f.Fuzz(func(t *testing.T, path string) {
		m := root.lookup("GET", path)
		if m.leaf == nil {
			return
		}
		if len(m.values) != len(m.leaf.captures) {
			t.Fatalf("%q captures %q for %d names", path, m.values, len(m.leaf.captures))
		}
		for i, c := range m.leaf.captures {
			if c.free || c.kind == suffix {
				continue
			}
			for part := range strings.SplitSeq(m.values[i], "/") {
				if part == "" || part == "." || part == ".." {
					t.Fatalf("%q captures %q", path, m.values[i])
				}
			}
		}
		if !slices.Contains([]string{"GET", "DELETE"}, m.leaf.route.method) {
			t.Fatalf("%q leads to %s", path, m.leaf.route.method)
		}
	})
}

func FuzzParseTime(f *testing.F) {
	for _, s := range []string{
		"2016-03-11T03:45:40Z", "2016-03-11", "Fri, 11 Mar 2016 03:45:40 GMT", "11.3.2016", "2016-W10-5", "20160311034540+0200", "Mar 11 2016 3:45 pm",
		"t", "+", "24:00", "2016-03-11 03:45:40 UTC-3", "at 1:00",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		at, ok := ParseTime(s)
		if !ok {
			return
		}
		if y := at.UTC().Year(); y < 1 || y > 9999 {
			t.Fatalf("%q is in the year %d", s, y)
		}
		again, ok := ParseTime(at.Format(time.RFC3339Nano))
		if !ok || !again.Equal(at) {
			t.Fatalf("%q is %v, and that is read as %v, %t", s, at, again, ok)
		}
		if _, err := Time(at).MarshalJSON(); err != nil {
			t.Fatal(err)
		}
	})
}
