package httpkit

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// compressFrom is how many bytes an answer has at least that is compressed.
const compressFrom = 4 << 10

// compressors are at work at once at most: each takes about a megabyte. Other answers go as they are.
var compressors = make(chan *gzip.Writer, 32)

var startCompressors = sync.OnceFunc(func() {
	for range cap(compressors) {
		compressors <- nil
	}
})

// Compress compresses an answer by gzip where the client takes that and it is worth it: a text of some size that is not
// compressed already, and no range. The caller calls end when the answer is written.
//
// An answer to a request with a cookie is compressed only where the browser says that a page of this server or its user has sent the request: another
// site that has a browser ask again and again could guess secrets of an answer by its length (BREACH). Tokens of forms have a new mask on each page besides.
func Compress(w http.ResponseWriter, r *http.Request) (out http.ResponseWriter, end func()) {
	c := &compressed{ResponseWriter: w, head: r.Method == http.MethodHead, asked: takesGzip(r) && ownRequest(r)}
	return c, c.end
}

// ownRequest reports whether no other site can have sent a request with what the browser keeps.
func ownRequest(r *http.Request) bool {
	if len(r.Header["Cookie"]) == 0 {
		return true
	}
	site := r.Header.Get("Sec-Fetch-Site")
	return site == "same-origin" || site == "none"
}

// takesGzip reports whether the client takes an answer in gzip.
func takesGzip(r *http.Request) bool {
	all := false
	for _, line := range r.Header["Accept-Encoding"] {
		for part := range strings.SplitSeq(line, ",") {
			name, params, _ := strings.Cut(part, ";")
			name = strings.ToLower(strings.TrimSpace(name))
			if name != "gzip" && name != "*" {
				continue
			}
			weight := 1.0
			if q, ok := strings.CutPrefix(strings.TrimSpace(params), "q="); ok {
				weight, _ = strconv.ParseFloat(q, 64) // what is no number is 0
			}
			if name == "gzip" {
				return weight > 0
			}
			all = weight > 0
		}
	}
	return all
}

// compressible are the types of answers that are text.
func compressible(kind string) bool {
	kind, _, _ = strings.Cut(kind, ";")
	switch kind = strings.TrimSpace(kind); kind {
	case "application/json", "application/javascript", "application/xml", "image/svg+xml":
		return true
	case "text/event-stream": // is sent as it comes
		return false
	}
	return strings.HasPrefix(kind, "text/")
}

// compressed is an answer that is compressed, or not.
type compressed struct {
	http.ResponseWriter
	head   bool
	asked  bool
	status int
	held   []byte // the beginning of an answer of unknown length, while it is too short
	holds  bool
	sent   bool // the header is
	gzip   *gzip.Writer
}

// WriteHeader begins the answer, or waits for the first bytes of it.
func (c *compressed) WriteHeader(status int) {
	if status < http.StatusOK {
		c.ResponseWriter.WriteHeader(status)
		return
	}
	if c.status != 0 {
		return
	}
	c.status = status
	h := c.Header()
	fits := compressible(h.Get("Content-Type")) && h.Get("Content-Encoding") == "" && h.Get("Accept-Ranges") == "" && h.Get("Content-Range") == "" && !strings.HasPrefix(h.Get("Etag"), `"`)
	if fits || status == http.StatusNotModified {
		addVary(h)
	}
	if !fits || !c.asked || status == http.StatusNoContent || status == http.StatusNotModified {
		c.begin()
		return
	}
	if length, err := strconv.ParseInt(h.Get("Content-Length"), 10, 64); err == nil {
		if length >= compressFrom {
			c.compress()
		}
		c.begin()
		return
	}
	c.holds = !c.head
	if c.head {
		c.begin()
	}
}

func addVary(h http.Header) {
	for _, line := range h["Vary"] {
		if strings.Contains(strings.ToLower(line), "accept-encoding") {
			return
		}
	}
	h.Add("Vary", "Accept-Encoding")
}

// compress decides that the answer is compressed, where there is a compressor for it.
func (c *compressed) compress() {
	h := c.Header()
	if !c.head {
		startCompressors()
		select {
		case z := <-compressors:
			if z == nil {
				z, _ = gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is one
			}
			z.Reset(c.ResponseWriter)
			c.gzip = z
		default:
			return
		}
	}
	h.Del("Content-Length")
	h.Set("Content-Encoding", "gzip")
}

func (c *compressed) begin() {
	c.holds, c.sent = false, true
	c.ResponseWriter.WriteHeader(c.status)
}

// Write takes the next piece of the answer.
func (c *compressed) Write(p []byte) (int, error) {
	if c.status == 0 {
		if c.Header().Get("Content-Type") == "" {
			c.Header().Set("Content-Type", http.DetectContentType(p))
		}
		c.WriteHeader(http.StatusOK)
	}
	if !c.holds {
		return c.pass(p)
	}
	c.held = append(c.held, p...)
	if len(c.held) < compressFrom {
		return len(p), nil
	}
	c.compress()
	if err := c.release(); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (c *compressed) pass(p []byte) (int, error) {
	if c.gzip != nil {
		return c.gzip.Write(p)
	}
	return c.ResponseWriter.Write(p)
}

// release sends what was held.
func (c *compressed) release() error {
	c.begin()
	held := c.held
	c.held = nil
	if len(held) == 0 {
		return nil
	}
	_, err := c.pass(held)
	return err
}

// ReadFrom leaves copying to the writer below where nothing is compressed.
func (c *compressed) ReadFrom(from io.Reader) (int64, error) {
	if c.sent && c.gzip == nil {
		return io.Copy(c.ResponseWriter, from)
	}
	return io.Copy(writerOnly{c}, from)
}

// writerOnly hides ReadFrom.
type writerOnly struct{ io.Writer }

// FlushError sends what there is. What was held until then goes as it is.
func (c *compressed) FlushError() error {
	if c.status == 0 {
		c.WriteHeader(http.StatusOK)
	}
	if c.holds {
		if err := c.release(); err != nil {
			return err
		}
	}
	if c.gzip != nil {
		if err := c.gzip.Flush(); err != nil {
			return err
		}
	}
	return http.NewResponseController(c.ResponseWriter).Flush()
}

// Unwrap lets a ResponseController reach the connection.
func (c *compressed) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c *compressed) end() {
	if c.holds {
		_ = c.release() // a client that left is its own affair
	}
	if c.gzip != nil {
		_ = c.gzip.Close()
		c.gzip.Reset(nil)
		compressors <- c.gzip
		c.gzip = nil
	}
}
