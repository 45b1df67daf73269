package clients

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"

	"tenon/test/servertest"
)

const clientModule = "gitlab.com/gitlab-org/api/client-go/v2"

// TestWalk calls every method of the client whose name begins with Get or List on a server
// with something of everything, and fails where the client cannot decode an answer. What this
// server does not answer yet is in testdata/unanswered.txt: a method that is missing there,
// or that is answered by now, fails as well.
func TestWalk(t *testing.T) {
	names := parameterNames(t)
	text, err := os.ReadFile(filepath.Join("testdata", "unanswered.txt"))
	if err != nil {
		t.Fatal(err)
	}
	unanswered := strings.Fields(string(text))
	servertest.Each(t, func(t *testing.T, database string) {
		w := &walk{rich: newRich(t, database), names: names, filled: map[string]bool{}}
		client, err := gitlab.NewClient(servertest.RootToken, gitlab.WithBaseURL(w.server.URL), gitlab.WithoutRetries(), gitlab.WithHTTPClient(&http.Client{Transport: w}))
		if err != nil {
			t.Fatal(err)
		}
		var without []string
		called := 0
		services := reflect.ValueOf(client).Elem()
		for i := range services.NumField() {
			field := services.Field(i)
			if !services.Type().Field(i).IsExported() || field.Kind() != reflect.Interface || field.IsNil() {
				continue
			}
			service := field.Elem().Elem().Type().Name()
			for j := range field.NumMethod() {
				method := field.Type().Method(j).Name
				if !strings.HasPrefix(method, "Get") && !strings.HasPrefix(method, "List") {
					continue
				}
				called++
				if !w.call(t, strings.TrimSuffix(service, "Service"), method, field.Method(j)) {
					without = append(without, strings.TrimSuffix(service, "Service")+"."+method)
				}
			}
		}
		slices.Sort(without)
		for _, name := range without {
			if !slices.Contains(unanswered, name) {
				t.Errorf("%s is not answered, and not in testdata/unanswered.txt", name)
			}
		}
		for _, name := range unanswered {
			if !slices.Contains(without, name) {
				t.Errorf("%s is in testdata/unanswered.txt, and answered", name)
			}
		}
		t.Logf("%d of %d methods are answered", called-len(without), called)
		if called-len(without) < 273 {
			t.Error("want 273 or more")
		}
		w.report(t)
	})
}

// refused are the methods that are answered and have nothing to read in the world: signatures
// of tags are those of X.509 alone, no request puts an issue into an iteration, and no runner is
// there to make jobs, nor the token of one.
var refused = map[string]int{
	"Jobs.GetJob":          http.StatusNotFound,
	"Jobs.GetJobArtifacts": http.StatusNotFound,
	"Jobs.GetTraceFile":    http.StatusNotFound,
	"Jobs.GetJobTokensJob": http.StatusUnauthorized,
	"Tags.GetTagSignature": http.StatusNotFound,

	"ResourceIterationEvents.GetIssueIterationEvent": http.StatusNotFound,
	"Services.GetSlackApplication":                   http.StatusNotFound, // it comes from Slack alone
}

// walk records what the client sends and gets.
type walk struct {
	*rich
	names  map[string][]string // of the parameters of methods
	filled map[string]bool     // fields of the client's types, true where an answer had a value

	transport http.Transport

	path   string
	status int
	body   []byte
}

// RoundTrip notes the answer to a request.
func (w *walk) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := w.transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if w.body, err = io.ReadAll(res.Body); err != nil {
		return nil, err
	}
	w.path, w.status = req.URL.Path, res.StatusCode
	res.Body = io.NopCloser(bytes.NewReader(w.body))
	return res, nil
}

// call calls a method, whose arguments come from the world by their names. It returns false
// where the server has no such route.
func (w *walk) call(t *testing.T, service, method string, fn reflect.Value) bool {
	t.Helper()
	kind := fn.Type()
	names := w.names[service+"."+method]
	var args []reflect.Value
	for i := range kind.NumIn() - 1 { // the last ones are options of the request
		if i >= len(names) {
			t.Errorf("%s.%s: the names of its parameters are not known", service, method)
			return true
		}
		args = append(args, w.argument(service, method, names[i], kind.In(i)))
	}
	w.path, w.status, w.body = "", 0, nil
	results := fn.Call(args)
	err, _ := results[len(results)-1].Interface().(error)
	if w.status == http.StatusNotFound && string(w.body) == `{"error":"404 Not Found"}` || w.status == http.StatusMethodNotAllowed {
		return false
	}
	if w.path == "/api/graphql" && err != nil { // the document asks for what the schema does not have, or the answer is null
		return false
	}
	if want := refused[service+"."+method]; want != 0 {
		if w.status != want {
			t.Errorf("%s.%s: GET %s: got %d, want %d", service, method, w.path, w.status, want)
		}
		return true
	}
	if err != nil {
		t.Errorf("%s.%s: GET %s: %d, %v", service, method, w.path, w.status, err)
		return true
	}
	var value any
	if json.Unmarshal(w.body, &value) == nil {
		w.compare(results[0].Type(), value)
	}
	return true
}

// argument returns the value of a parameter; options are left out unless the world has some.
func (w *walk) argument(service, method, name string, kind reflect.Type) reflect.Value {
	for _, key := range []string{service + "." + method + "." + strings.Replace(name, "opts", "opt", 1), service + "." + name, name} {
		value := reflect.ValueOf(w.values[key])
		if value.IsValid() && value.Type().AssignableTo(kind) {
			return value
		}
	}
	zero := reflect.New(kind).Elem()
	switch kind.Kind() {
	case reflect.String:
		zero.SetString("none")
	case reflect.Int64:
		zero.SetInt(1)
	case reflect.Interface:
		zero.Set(reflect.ValueOf(int64(1)))
	}
	return zero
}

// compare notes which fields of a type of the client an answer has a value for.
func (w *walk) compare(kind reflect.Type, value any) {
	for kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	switch v := value.(type) {
	case []any:
		if kind.Kind() == reflect.Slice {
			for _, item := range v {
				w.compare(kind.Elem(), item)
			}
		}
	case fields:
		if kind.Kind() != reflect.Struct || kind.PkgPath() != clientModule {
			return
		}
		for f := range kind.Fields() {
			if f.Anonymous {
				w.compare(f.Type, value)
				continue
			}
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" || name == "-" {
				continue
			}
			key := kind.Name() + "." + name
			w.filled[key] = w.filled[key] || v[name] != nil
			if v[name] != nil {
				w.compare(f.Type, v[name])
			}
		}
	}
}

// report logs the fields of the client's types that no answer had a value for. They are no
// failure: most are newer than the release that this server speaks.
func (w *walk) report(t *testing.T) {
	t.Helper()
	empty := map[string][]string{}
	for _, key := range slices.Sorted(maps.Keys(w.filled)) {
		if kind, name, _ := strings.Cut(key, "."); !w.filled[key] {
			empty[kind] = append(empty[kind], name)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(empty)) {
		t.Logf("never filled: %s: %s", kind, strings.Join(empty[kind], ", "))
	}
}

// parameterNames reads the names of parameters from the sources of the client, by
// "Service.Method".
func parameterNames(t *testing.T) map[string][]string {
	t.Helper()
	dir := strings.TrimSpace(output(t, "go", "list", "-m", "-f", "{{.Dir}}", clientModule))
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("sources of the client in %s: %d, %v", dir, len(files), err)
	}
	names := map[string][]string{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range parsed.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || fn.Recv == nil {
				continue
			}
			receiver := fn.Recv.List[0].Type
			if star, ok := receiver.(*ast.StarExpr); ok {
				receiver = star.X
			}
			service, ok := receiver.(*ast.Ident)
			if !ok {
				continue
			}
			key := strings.TrimSuffix(service.Name, "Service") + "." + fn.Name.Name
			for _, p := range fn.Type.Params.List {
				for _, name := range p.Names {
					names[key] = append(names[key], name.Name)
				}
			}
		}
	}
	return names
}
