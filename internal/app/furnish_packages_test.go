package app

import (
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
	for _, path := range []string{"/projects/:id/debian_distributions", "/groups/:id/-/deb_distributions"} {
		out["POST "+path] = []sample{{body: obj{"codename": "new"}}}
		out["PUT "+path+"/:codename"] = []sample{{body: obj{"label": "New"}}}
		out["DELETE "+path+"/:codename"] = []sample{{status: http.StatusAccepted}}
	}
	return out
}
