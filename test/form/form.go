// Package form makes what tests upload.
package form

import (
	"archive/zip"
	"bytes"
	"maps"
	"mime/multipart"
	"slices"
	"testing"
)

// File makes a form with one file. It returns the body and its type.
func File(tb testing.TB, field, name string, content []byte) (body []byte, kind string) {
	tb.Helper()
	var out bytes.Buffer
	form := multipart.NewWriter(&out)
	part, err := form.CreateFormFile(field, name)
	if err == nil {
		_, err = part.Write(content)
	}
	if err == nil {
		err = form.Close()
	}
	if err != nil {
		tb.Fatal(err)
	}
	return out.Bytes(), form.FormDataContentType()
}

// Archive makes a zip archive of files, by name.
func Archive(tb testing.TB, files map[string]string) []byte {
	tb.Helper()
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		part, err := archive.Create(name)
		if err == nil {
			_, err = part.Write([]byte(files[name]))
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}
