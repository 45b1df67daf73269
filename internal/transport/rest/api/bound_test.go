package api_test

import (
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"tenon/internal/transport/rest/api"
)

type searched struct {
	Search string      `param:"search"`
	Tags   api.Strings `param:"tags"`
	Not    searchedNot `param:"not"`
}

type searchedNot struct {
	Tags   api.Strings `param:"tags"`
	Search string      `param:"search"`
}

// repeated returns n values with the separator between them.
func repeated(n int, value func(i int) string, separator string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = value(i)
	}
	return strings.Join(parts, separator)
}

func numbered(prefix, suffix string) func(int) string {
	return func(i int) string { return prefix + strconv.Itoa(i) + suffix }
}

func TestKit_bounds(t *testing.T) {
	t.Parallel()
	many := func(name string) string {
		return `{"error":"` + name + ` has too many values (maximum is 100)"}`
	}
	long := func(name string) string {
		return `{"error":"` + name + ` is too long (maximum is 4096 characters)"}`
	}
	k := kitOf(api.Get("/p", decoded[every]), api.Get("/s", decoded[searched]), api.Post("/p", decoded[every]), api.Post("/s", decoded[searched]))
	text := strings.Repeat("x", 4096)
	for name, c := range map[string]struct{ path, query, want string }{
		"a list with commas":          {"/p", "strings=" + repeated(100, numbered("", ""), ","), ""},
		"one too many":                {"/p", "strings=" + repeated(101, numbered("", ""), ","), many("strings")},
		"in an array":                 {"/p", repeated(100, numbered("strings[]=", ""), "&"), ""},
		"one too many in an array":    {"/p", repeated(101, numbered("strings[]=", ""), "&"), many("strings")},
		"by numbers":                  {"/p", repeated(101, func(i int) string { return "strings[" + strconv.Itoa(i) + "]=x" }, "&"), many("strings")},
		"arrays of commas":            {"/p", repeated(3, numbered("strings[]="+strings.Repeat("x,", 40), ""), "&"), many("strings")},
		"numbers":                     {"/p", "ints=" + repeated(101, numbered("", ""), ","), many("ints")},
		"100 numbers":                 {"/p", "ints=" + repeated(100, numbered("", ""), ","), ""},
		"a plain array":               {"/p", repeated(101, numbered("list[]=", ""), "&"), many("list")},
		"an array of numbers":         {"/p", repeated(101, numbered("int_list[]=", ""), "&"), many("int_list")},
		"enumerated":                  {"/p", repeated(101, func(int) string { return "states[]=opened" }, "&"), many("states")},
		"a hash":                      {"/p", repeated(101, numbered("map[k", "]=x"), "&"), many("map")},
		"100 entries":                 {"/p", repeated(100, numbered("map[k", "]=x"), "&"), ""},
		"hashes in a hash":            {"/p", repeated(101, numbered("deep[a][k", "]=x"), "&"), many("deep")},
		"structs":                     {"/p", repeated(101, numbered("posns[][base_sha]=", ""), "&"), many("posns")},
		"optional":                    {"/p", repeated(101, numbered("opt_ints[]=", ""), "&"), many("opt_ints")},
		"an optional hash":            {"/p", repeated(101, numbered("opt_map[k", "]=x"), "&"), many("opt_map")},
		"of any shape":                {"/p", repeated(101, numbered("any[k", "]=x"), "&"), many("any")},
		"an array of any shape":       {"/p", repeated(101, numbered("any[a][]=", ""), "&"), many("any")},
		"inside a struct":             {"/s", "not[tags]=" + repeated(101, numbered("", ""), ","), many("not[tags]")},
		"a text":                      {"/p", "string=" + text, ""},
		"a text of other characters":  {"/p", "string=" + strings.Repeat("%C3%A4", 4096), ""},
		"a long text":                 {"/p", "string=x" + text, long("string")},
		"a long number":               {"/p", "int=" + strings.Repeat("0", 5000) + "1", long("int")},
		"a long time":                 {"/p", "time=" + text + "x", long("time")},
		"a long text in a list":       {"/p", "list[]=" + text + "x", long("list")},
		"a long text between commas":  {"/p", "strings=a," + text + "x", long("strings")},
		"a long value in a hash":      {"/p", "map[a]=" + text + "x", long("map")},
		"a long key of a hash":        {"/p", "map[" + text + "x]=a", long("map")},
		"a long text of any shape":    {"/p", "any=" + text + "x", long("any")},
		"a long text inside a struct": {"/p", "pos[base_sha]=x" + text, long("pos[base_sha]")},
		"an optional long text":       {"/p", "opt_str=x" + text, long("opt_str")},
		"words":                       {"/s", "search=" + repeated(20, numbered("w", ""), "+"), ""},
		"one word too many":           {"/s", "search=" + repeated(21, numbered("w", ""), "+"), `{"error":"search has too many words (maximum is 20)"}`},
		"words inside a struct":       {"/s", "not[search]=" + repeated(21, numbered("w", ""), "+"), `{"error":"not[search] has too many words (maximum is 20)"}`},
		"several":                     {"/s", "tags=" + strings.Repeat("a,", 100) + "b&search=x" + text, `{"error":"search is too long (maximum is 4096 characters), tags has too many values (maximum is 100)"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := httptest.NewRecorder()
			k.ServeHTTP(w, httptest.NewRequest("GET", "/api/v4"+c.path+"?"+c.query, nil))
			if c.want == "" && w.Code != 200 || c.want != "" && (w.Code != 400 || w.Body.String() != c.want) {
				t.Errorf("got %d %.200s, want %s", w.Code, w.Body, c.want)
			}
			// What an endpoint stores has bounds of its own.
			r := httptest.NewRequest("POST", "/api/v4"+c.path, strings.NewReader(c.query))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			w = httptest.NewRecorder()
			k.ServeHTTP(w, r)
			if strings.Contains(w.Body.String(), "(maximum is ") {
				t.Errorf("POST: got %d %.200s", w.Code, w.Body)
			}
		})
	}
	// A form with a GET is bounded as its query.
	r := httptest.NewRequest("GET", "/api/v4/p", strings.NewReader(url.Values{"list[]": strings.Split(strings.Repeat("x,", 100)+"x", ",")}.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	k.ServeHTTP(w, r)
	if w.Body.String() != many("list") {
		t.Errorf("a form: got %d %.200s, want %s", w.Code, w.Body, many("list"))
	}
	r = httptest.NewRequest("HEAD", "/api/v4/p?"+repeated(101, numbered("list[]=", ""), "&"), nil)
	w = httptest.NewRecorder()
	if k.ServeHTTP(w, r); w.Code != 400 {
		t.Errorf("HEAD: got %d, want 400", w.Code)
	}
}

func TestKit_bounds_document(t *testing.T) {
	t.Parallel()
	document := string(kitOf(api.Get("/p", decoded[every]), api.Get("/s", decoded[searched])).Document())
	for _, want := range []string{
		`{"in":"query","name":"strings","schema":{"items":{"maxLength":4096,"type":"string"},"maxItems":100,"type":"array"}}`,
		`{"in":"query","name":"ints","schema":{"items":{"type":"integer"},"maxItems":100,"type":"array"}}`,
		`{"in":"query","name":"string","schema":{"maxLength":4096,"type":"string"}}`,
		`{"in":"query","name":"map","schema":{"additionalProperties":{"maxLength":4096,"type":"string"},"maxProperties":100,"type":"object"}}`,
		`{"in":"query","name":"search","schema":{"maxLength":4096,"type":"string","x-maxWords":20}}`,
		`"properties":{"search":{"maxLength":4096,"type":"string","x-maxWords":20},"tags":{"items":{"maxLength":4096,"type":"string"},"maxItems":100,"type":"array"}}`,
		`{"in":"query","name":"time","schema":{"format":"date-time","type":["string","null"]}}`,
	} {
		if !strings.Contains(document, want) {
			t.Errorf("the document lacks %s", want)
		}
	}
}
