package faults

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// sending is a file of a package as its client sends it.
type sending struct {
	method, path string // below packages
	kind         string // content type
	body         string
}

// registry is a kind of packages whose versions are published one after the other under one name, with content that follows from both.
type registry struct {
	kind    string
	version func(name string, n int, content string) []sending // what publishes a version, one request after the other
	list    func(d *depot, name string) map[string]string      // what clients find under a name: contents by file
	files   func(name string, n int) []string                  // that a version has there
	refusal string                                             // of a version that is there already; "" takes it
}

func versionOf(n int) string { return fmt.Sprintf("0.%d.0", n) }

// contentOf is that of the files of a version.
func contentOf(name string, n int) string {
	return strings.Repeat(fmt.Sprintf("%s %d\n", name, n), 1000)
}

// registries are those that kill -9, full disks and clients that stop are tried on, beside generic packages and Debian's.
func registries() []*registry {
	return []*registry{
		{
			kind: "npm", refusal: "Package already exists.",
			version: func(name string, n int, content string) []sending {
				v := versionOf(n)
				return []sending{{http.MethodPut, "npm/" + name, "application/json", fmt.Sprintf(`{"name":%q,"versions":{%q:{"name":%q,"version":%q}},"_attachments":{"%s-%s.tgz":{"data":%q}}}`,
					name, v, name, v, name, v, base64.StdEncoding.EncodeToString([]byte(content)))}}
			},
			files: func(name string, n int) []string { return []string{name + "-" + versionOf(n) + ".tgz"} },
			list: func(d *depot, name string) map[string]string {
				var metadata struct {
					Versions map[string]struct {
						Dist struct{ Tarball string } `json:"dist"`
					} `json:"versions"`
				}
				out := map[string]string{}
				if text := d.read("npm/" + name); text != "" {
					if err := json.Unmarshal([]byte(text), &metadata); err != nil {
						d.t.Errorf("metadata of %s: %v in %.200s", name, err, text)
					}
				}
				for _, v := range metadata.Versions {
					file := v.Dist.Tarball[strings.LastIndexByte(v.Dist.Tarball, '/')+1:]
					out[file] = d.read("npm/" + name + "/-/" + file)
				}
				return out
			},
		},
		{
			kind: "pypi", refusal: "File name has already been taken",
			version: func(name string, n int, content string) []sending {
				var out []sending
				for _, file := range pythonFiles(name, n) {
					var b bytes.Buffer
					w := multipart.NewWriter(&b)
					part, err := w.CreateFormFile("content", file)
					if err == nil {
						_, err = io.WriteString(part, content)
					}
					if err != nil || w.WriteField("name", name) != nil || w.WriteField("version", versionOf(n)) != nil || w.Close() != nil {
						panic("a buffer takes everything")
					}
					out = append(out, sending{http.MethodPost, "pypi", w.FormDataContentType(), b.String()})
				}
				return out
			},
			files: pythonFiles,
			list: func(d *depot, name string) map[string]string {
				out := map[string]string{}
				for _, found := range anchor.FindAllStringSubmatch(d.read("pypi/simple/"+name), -1) {
					out[found[2]] = d.read("pypi/files/" + found[1] + "/" + found[2])
				}
				return out
			},
		},
		{
			kind: "maven",
			version: func(name string, n int, content string) []sending {
				v, of := versionOf(n), "maven/com/example/"+name+"/"
				return []sending{
					{http.MethodPut, of + v + "/" + name + "-" + v + ".jar", "", content},
					{http.MethodPut, of + v + "/" + name + "-" + v + ".pom", "", content},
					{http.MethodPut, of + "maven-metadata.xml", "", "<metadata><versioning><latest>" + v + "</latest></versioning></metadata>"},
				}
			},
			files: func(name string, n int) []string {
				return []string{versionOf(n) + "/" + name + "-" + versionOf(n) + ".jar", versionOf(n) + "/" + name + "-" + versionOf(n) + ".pom"}
			},
			list: func(d *depot, name string) map[string]string { // there is no list of files but that of the API
				out := map[string]string{}
				for _, k := range d.versions("maven", "com/example/"+name) {
					for _, file := range d.filesOf(k.ID) {
						if k.Version != "" {
							out[k.Version+"/"+file] = d.read("maven/com/example/" + name + "/" + k.Version + "/" + file)
						} else if text := d.read("maven/com/example/" + name + "/" + file); !strings.HasSuffix(text, "</metadata>") {
							d.t.Errorf("metadata of %s: %q", name, text)
						}
					}
				}
				return out
			},
		},
	}
}

var anchor = regexp.MustCompile(`/packages/pypi/files/([0-9a-f]{64})/([^#"]+)#`)

func pythonFiles(name string, n int) []string {
	return []string{name + "-" + versionOf(n) + "-py3-none-any.whl", name + "-" + versionOf(n) + ".tar.gz"}
}

// send sends what publishes a file.
func (d *depot) sends(ctx context.Context, f sending, body io.Reader) (*answer, error) {
	req, err := http.NewRequestWithContext(ctx, f.method, *d.url.Load()+"/api/v4"+d.at+"/packages/"+f.path, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Private-Token", d.ann)
	if f.kind != "" {
		req.Header.Set("Content-Type", f.kind)
	}
	return d.send(req)
}

// publishes publishes a version, and reports whether all of it was accepted.
func (d *depot) publishes(r *registry, name string, n int) bool {
	for _, f := range r.version(name, n, contentOf(name, n)) {
		if a, err := d.sends(d.t.Context(), f, strings.NewReader(f.body)); err != nil || a.status/100 != 2 {
			return false
		}
	}
	return true
}

// read returns what is at a path below packages, "" where it is not there.
func (d *depot) read(path string) string {
	d.t.Helper()
	a, err := d.call(d.t.Context(), d.ann, "GET", d.at+"/packages/"+path, "")
	if err != nil || a.status != 200 && a.status != 404 {
		d.t.Fatalf("%s: %+v, %v", path, a, err)
	}
	if a.status == 404 {
		return ""
	}
	return string(a.body)
}

type packageRow struct {
	ID      int64  `json:"id"`
	Name    string `json:"name"`
	Version string `json:"version"`
}

// versions are the packages of a kind with a name.
func (d *depot) versions(kind, name string) []packageRow {
	d.t.Helper()
	return slices.DeleteFunc(all[packageRow](d.world, "/packages?include_versionless=true&package_type="+kind+"&package_name="+url.QueryEscape(name)), func(k packageRow) bool { return k.Name != name })
}

// filesOf are the names of the files of a package.
func (d *depot) filesOf(id int64) []string {
	d.t.Helper()
	var out []string
	for _, f := range all[struct {
		Name string `json:"file_name"`
	}](d.world, fmt.Sprintf("/packages/%d/package_files", id)) {
		out = append(out, f.Name)
	}
	return out
}

// whole expects that what was accepted of a name is there, and that all that clients find there is what was sent.
func (d *depot) whole(r *registry, name string, accepted int) {
	d.t.Helper()
	found := r.list(d, name)
	listed := 0
	for _, k := range d.versions(r.kind, cmpName(r, name)) {
		if len(d.filesOf(k.ID)) == 0 {
			d.t.Errorf("%s %s %s has no file", r.kind, name, k.Version)
		}
		if k.Version != "" {
			listed++
		}
	}
	for n := range listed + 1 { // the last one may be there or not
		for _, file := range r.files(name, n) {
			content, there := found[file]
			if there && content != contentOf(name, n) || !there && n < accepted {
				d.t.Errorf("%s %s: there %v, %d bytes", r.kind, file, there, len(content))
			}
			delete(found, file)
		}
	}
	if len(found) > 0 || listed < accepted {
		d.t.Errorf("%s %s: %d versions of %d that were accepted, and %d other files", r.kind, name, listed, accepted, len(found))
	}
}

// cmpName is the name of a package that the API lists.
func cmpName(r *registry, name string) string {
	if r.kind == "maven" {
		return "com/example/" + name
	}
	return name
}

// TestPackages_twice publishes one version twice at once: one of the two is refused by the kinds that say so, and what is served is what one of them sent.
func TestPackages_twice(t *testing.T) {
	t.Parallel()
	d := newDepot(t, "")
	for _, r := range registries() {
		for n := range 10 {
			first, second := r.version("twice", n, contentOf("twice", n))[0], r.version("twice", n, contentOf("twice", n)+"other")[0]
			answers := make(chan *answer, 2)
			for _, f := range []sending{first, second} {
				go func() { // ends with the request
					a, err := d.sends(t.Context(), f, strings.NewReader(f.body))
					if err != nil {
						t.Error(err)
						a = &answer{}
					}
					answers <- a
				}()
			}
			one, two := <-answers, <-answers
			if one.status/100 != 2 {
				one, two = two, one
			}
			refused := r.refusal != ""
			if one.status/100 != 2 || (two.status/100 != 2) != refused || refused && !strings.Contains(string(two.body), r.refusal) {
				t.Errorf("%s: %d %s and %d %s", r.kind, one.status, one.body, two.status, two.body)
			}
			file := r.files("twice", n)[0]
			if got := r.list(d, "twice")[file]; strings.TrimSuffix(got, "other") != contentOf("twice", n) {
				t.Errorf("%s: %s has %d bytes", r.kind, file, len(got))
			}
		}
	}
	d.sweep()
}
