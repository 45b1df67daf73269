package app

import "net/http"

// distribution makes a Debian distribution, with a key as a job makes it, in a project or group.
func (w *world) distribution(p *place, path, codename string) {
	made := w.do("owner", "POST", path, obj{"codename": codename, "suite": codename + "-suite", "description": "Of " + path})
	w.exec(`INSERT INTO debian_distribution_keys (distribution_id, fingerprint, public_key, sealed, created_at)
		VALUES (`+number(made, "id")+`, 'f00', 'public key of `+path+`', 'sealed', ?)`, w.now())
	p.values[":codename"] = codename
}

// packageSamples has samples for packages.
func packageSamples() map[string][]sample {
	out := map[string][]sample{}
	for _, path := range []string{"/projects/:id/debian_distributions", "/groups/:id/-/deb_distributions"} {
		out["POST "+path] = []sample{{body: obj{"codename": "new"}}}
		out["PUT "+path+"/:codename"] = []sample{{body: obj{"label": "New"}}}
		out["DELETE "+path+"/:codename"] = []sample{{status: http.StatusAccepted}}
	}
	return out
}
