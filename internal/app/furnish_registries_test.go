package app

import (
	"crypto/sha256"
	"fmt"
	"maps"
)

// pythonPackage publishes a version of a Python package with one file in a project.
func (w *world) pythonPackage(p *place, path, name string) {
	content, file := name+" of "+path, name+"-1.0.tar.gz"
	w.do("owner", "POST", path+"/packages/pypi", obj{"content": attached{file, content}, "name": name, "version": "1.0", "requires_python": ">=3.8"})
	maps.Copy(p.values, map[string]string{"simple/:package_name": name, ":sha256": fmt.Sprintf("%x", sha256.Sum256([]byte(content))), ":file_identifier": file})
}

// mavenPackage publishes a version of a Maven package that has the path of its project.
func (w *world) mavenPackage(p *place, path string) {
	full, _ := w.do("owner", "GET", path, nil)["path_with_namespace"].(string)
	p.values["maven/:path"] = full + "/1.0/app-1.0.pom"
	w.do("owner", "PUT", path+"/packages/maven/"+p.values["maven/:path"], obj{"content": "POM of " + path})
}

// registrySamples has samples for Python and Maven packages.
func registrySamples() map[string][]sample {
	return map[string][]sample{
		"POST /projects/:id/packages/pypi":       {{body: obj{"content": attached{"new-1.0.tar.gz", "new"}, "name": "new", "version": "1.0"}}},
		"PUT /projects/:id/packages/maven/*path": {{body: obj{"content": "new"}}},
	}
}
