package weburl

import "fmt"

// NPMTarball is the path of the tarball of an npm package, below the root of the server.
func NPMTarball(project int64, name, file string) string {
	return fmt.Sprintf("%s/projects/%d/packages/npm/%s/-/%s", APIPath, project, name, file)
}
