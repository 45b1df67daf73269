package app

import (
	"maps"
	"net/http"
)

// distribution makes a Debian distribution, with a key as a job makes it, in a project or group.
func (w *world) distribution(p *place, path, codename string) {
	made := w.do("owner", "POST", path, obj{"codename": codename, "suite": codename + "-suite", "description": "Of " + path})
	w.exec(`INSERT INTO debian_distribution_keys (distribution_id, fingerprint, public_key, sealed, created_at)
		VALUES (`+number(made, "id")+`, 'f00', 'public key of `+path+`', 'sealed', ?)`, w.now())
	p.values[":codename"] = codename
}

// genericPackage publishes a version of a generic package with three files in a project.
func (w *world) genericPackage(p *place, path, name, version string) {
	w.do("owner", "PUT", path+"/packages/generic/"+name+"/"+version+"/z.txt", obj{"content": "another file"})
	w.do("owner", "PUT", path+"/packages/generic/"+name+"/"+version+"/m.txt", obj{"content": "one more"})
	file := w.do("owner", "PUT", path+"/packages/generic/"+name+"/"+version+"/tool.txt?select=package_file", obj{"content": "of " + path})
	maps.Copy(p.values, map[string]string{
		":package_id": number(file, "package_id"), ":package_file_id": number(file, "id"), ":package_name": name, ":package_version": version, ":file_name": "tool.txt",
	})
}

// packageSamples has samples for packages.
func packageSamples() map[string][]sample {
	const one = "/projects/:id/packages/:package_id"
	out := map[string][]sample{
		"PUT /projects/:id/packages/generic/:package_name/:package_version/*file_name": {{body: obj{"content": "new"}}},
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
