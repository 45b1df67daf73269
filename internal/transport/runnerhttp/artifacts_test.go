package runnerhttp

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// counting counts the bytes that are read.
type counting struct {
	io.Reader
	n int
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += n
	return n, err
}

func TestFileOf(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		fields, bytes, status int
	}{
		"as a runner sends":  {4, 20, 0},
		"the most":           {maxFields, maxField, 0},
		"too many fields":    {1000, 10, http.StatusRequestEntityTooLarge},
		"a field too long":   {1, maxField + 1, http.StatusRequestEntityTooLarge},
		"a field of 8 MiB":   {1, 8 << 20, http.StatusRequestEntityTooLarge},
		"fields that repeat": {100_000, 1, http.StatusRequestEntityTooLarge},
	} {
		var form bytes.Buffer
		w := multipart.NewWriter(&form)
		for i := range row.fields {
			if err := w.WriteField(fmt.Sprintf("field%d", i), strings.Repeat("x", row.bytes)); err != nil {
				t.Fatal(err)
			}
		}
		f, err := w.CreateFormFile("file", "artifacts.zip")
		if err == nil {
			_, err = f.Write([]byte("content"))
		}
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		in, values := &counting{Reader: &form}, url.Values{}
		file, refused := fileOf(multipart.NewReader(in, w.Boundary()), values)
		switch {
		case row.status == 0:
			if refused != nil || file.FileName() != "artifacts.zip" || len(values) != row.fields {
				t.Errorf("%s: got %v with %d values, want the file and %d", name, refused, len(values), row.fields)
			}
		case refused == nil || refused.status != row.status || in.n > 64<<10:
			t.Errorf("%s: got %+v after %d bytes, want %d before 64 KiB", name, refused, in.n, row.status)
		}
	}
}
