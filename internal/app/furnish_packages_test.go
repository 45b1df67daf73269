package app

import (
	"encoding/base64"
	"errors"
	"maps"
	"net/http"
	"strings"
	"sync"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// privateKey is an armored key that signs, one for all distributions: it is small, so that it is made quickly.
var privateKey = sync.OnceValue(func() string {
	config := &packet.Config{RSABits: 1024}
	e, err := openpgp.NewEntity("Test", "", "test@example.com", config)
	if err != nil {
		panic(err)
	}
	var out strings.Builder
	to, err := armor.Encode(&out, openpgp.PrivateKeyType, nil)
	if err == nil {
		err = errors.Join(e.SerializePrivate(to, config), to.Close())
	}
	if err != nil {
		panic(err)
	}
	return out.String()
})

// distribution makes a Debian distribution, with a key as a job makes it, in a project or group.
func (w *world) distribution(p *place, path, codename string) {
	made := w.do("owner", "POST", path, obj{"codename": codename, "suite": codename + "-suite", "description": "Of " + path})
	w.exec(`INSERT INTO debian_distribution_keys (distribution_id, fingerprint, public_key, sealed, created_at)
		VALUES (`+number(made, "id")+`, 'f00', 'public key of `+path+`', ?, ?)`, w.box.Seal("debian_distribution_keys.sealed:"+number(made, "id"), privateKey()), w.now())
	w.exec(`INSERT INTO debian_releases (distribution_id, generation, content, release, in_release, signature, projects, modified_at)
		VALUES (`+number(made, "id")+`, 1, 'digest', 'Release of `+path+`', 'InRelease', 'signature', 0, ?)`, w.now())
	maps.Copy(p.values, map[string]string{":codename": codename, ":dists_path": codename + "/Release"})
}

// debianPackage publishes a Debian package with one file, that of a generic package, in a distribution of a project.
func (w *world) debianPackage(p *place, path, codename, name string) {
	of := strings.TrimPrefix(path, "/projects/")
	w.exec(`INSERT INTO packages (project_id, kind, name, name_fold, version, status, created_at, updated_at) VALUES (`+of+`, 'debian', '`+name+`', '`+name+`', '1.0', 'default', ?, ?)`, w.now(), w.now())
	one := `(SELECT id FROM packages WHERE kind = 'debian' AND project_id = ` + of + ` AND name = '` + name + `')`
	w.exec(`INSERT INTO package_files (package_id, project_id, name, size, md5, sha1, sha256, created_at, updated_at)
		SELECT ` + one + `, project_id, '` + name + `_1.0_all.deb', size, md5, sha1, sha256, created_at, updated_at FROM package_files WHERE id = ` + p.values[":package_file_id"])
	w.exec(`INSERT INTO debian_publications (package_id, distribution_id) SELECT ` + one + `, d.id FROM debian_distributions d
		JOIN projects p ON p.namespace_id = d.namespace_id WHERE p.id = ` + of + ` AND d.codename = '` + codename + `'`)
	p.values[":pool_path"] = codename + "/" + name[:1] + "/" + name + "/1.0/" + name + "_1.0_all.deb"
}

// genericPackage publishes a version of a generic package with three files in a project.
func (w *world) genericPackage(p *place, path, name, version string) {
	w.do("owner", "PUT", path+"/packages/generic/"+name+"/"+version+"/z.txt", obj{"content": "another file"})
	w.do("owner", "PUT", path+"/packages/generic/"+name+"/"+version+"/m.txt", obj{"content": "one more"})
	file := w.do("owner", "PUT", path+"/packages/generic/"+name+"/"+version+"/tool.txt?select=package_file", obj{"content": "of " + path})
	rule := w.do("owner", "POST", path+"/packages/protection/rules", obj{"package_name_pattern": "kept-" + name, "package_type": "generic", "minimum_access_level_for_push": "owner"})
	maps.Copy(p.values, map[string]string{
		":package_protection_rule_id": number(rule, "id"),
		":package_id":                 number(file, "package_id"), ":package_file_id": number(file, "id"), ":package_name": name, ":package_version": version, ":file_name": "tool.txt",
	})
}

// npmDocument is what npm publishes a version with.
func npmDocument(name, version string) obj {
	return obj{
		"name": name, "dist-tags": obj{"latest": version}, "versions": obj{version: obj{"name": name, "version": version, "dependencies": obj{"constructor": "^1.0.0"}}},
		"_attachments": obj{name + "-" + version + ".tgz": obj{"content_type": "application/octet-stream", "data": base64.StdEncoding.EncodeToString([]byte("tarball of " + name)), "length": len("tarball of " + name)}},
	}
}

// npmPackage publishes a version of an npm package in a project, once as it is and once in the scope of the top-level group, with a tag.
func (w *world) npmPackage(p *place, path, name, version string) {
	full := w.do("owner", "GET", path, nil)["path_with_namespace"].(string)
	top, _, _ := strings.Cut(full, "/")
	tag := "tag-" + name
	for _, of := range []string{"@" + top + "/" + name, name} {
		escaped := strings.Replace(of, "/", "%2F", 1)
		w.do("owner", "PUT", path+"/packages/npm/"+escaped, npmDocument(of, version))
		w.exec(`INSERT INTO package_tags (package_id, name, created_at, updated_at) SELECT k.id, '`+tag+`', ?, ? FROM packages k WHERE k.kind = 'npm' AND k.name = '`+of+
			`' AND k.project_id = `+strings.TrimPrefix(path, "/projects/"), w.now(), w.now())
	}
	values := map[string]string{"npm/:package_name": name, "npm/:file_name": name + "-" + version + ".tgz", ":tag": tag}
	maps.Copy(p.values, values)
	values["npm/:package_name"] = "@" + top + "/" + name
	maps.Copy(w.instance[0].values, values)
}

// packageSamples has samples for packages.
func packageSamples() map[string][]sample {
	const one = "/projects/:id/packages/:package_id"
	out := map[string][]sample{
		"PUT /projects/:id/packages/generic/:package_name/:package_version/*file_name": {{body: obj{"content": "new"}}},
		"PUT /projects/:id/packages/debian/:file_name":                                 {{body: obj{"content": "new"}}},
		"POST /projects/:id/packages/protection/rules":                                 {{body: obj{"package_name_pattern": "new-*", "package_type": "npm", "minimum_access_level_for_push": "maintainer"}}},
		"PATCH /projects/:id/packages/protection/rules/:package_protection_rule_id":    {{body: obj{"package_name_pattern": "other-*"}}},
		"DELETE /projects/:id/packages/protection/rules/:package_protection_rule_id":   {{}},
		"DELETE " + one: {{}},
		"DELETE " + one + "/package_files/:package_file_id": {{}},
	}
	out["PUT /projects/:id/packages/npm/:package_name"] = []sample{
		{body: npmDocument("left", "2.0.0")}, {note: "deprecation", body: obj{"versions": obj{"1.0.0": obj{"deprecated": "no"}}}},
	}
	for _, path := range []string{"/projects/:id", "/groups/:id/-", ""} {
		path += "/packages/npm/-/"
		out["PUT "+path+"package/:package_name/dist-tags/:tag"] = []sample{{status: http.StatusNotFound}} // a sample names no version
		out["DELETE "+path+"package/:package_name/dist-tags/:tag"] = []sample{{}}
		out["POST "+path+"npm/v1/security/advisories/bulk"] = []sample{{status: http.StatusOK}}
		out["POST "+path+"npm/v1/security/audits/quick"] = []sample{{status: http.StatusOK}}
	}
	for _, path := range []string{"/projects/:id/debian_distributions", "/groups/:id/-/deb_distributions"} {
		out["POST "+path] = []sample{{body: obj{"codename": "new"}}}
		out["PUT "+path+"/:codename"] = []sample{{body: obj{"label": "New"}}}
		out["DELETE "+path+"/:codename"] = []sample{{status: http.StatusAccepted}}
	}
	return out
}
