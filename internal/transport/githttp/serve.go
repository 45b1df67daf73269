package githttp

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"tenon/internal/base/errs"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/spool"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/repo"
)

// maxFetchBody bounds what a fetch may send: wants and haves, far below a pack. Bodies
// come gzipped, so the bound is on what they unpack to.
const maxFetchBody = 64 << 20

func (h *Handler) fetch(w http.ResponseWriter, r *http.Request, t target, as authz.Actor, at *repo.Remote) {
	if !h.open(w, r, as, at, "Pulling over HTTP is not allowed.") {
		return
	}
	body, err := requestBody(r, maxFetchBody)
	if err != nil {
		plain(w, http.StatusBadRequest, "Bad Request")
		return
	}
	out := begin(w, r, t, uploadPack)
	if err := h.answer(r, out, as, at, repo.Fetch{Protocol: r.Header.Get("Git-Protocol"), Advertise: t.service == "info/refs"}, body); err != nil {
		switch errs.KindOf(err) {
		case errs.Forbidden, errs.NotFound, errs.Unauthorized:
			h.refuse(w, r, as, err)
		default:
			h.ended(w, r, out, err)
		}
	}
}

// patienceForWhole is how long another reader waits for the whole answer, which
// the kernel then sends alone.
const patienceForWhole = 5 * time.Second

// answer sends what a fetch asks for.
func (h *Handler) answer(r *http.Request, out *response, as authz.Actor, at *repo.Remote, f repo.Fetch, body io.Reader) (err error) {
	if !f.Advertise {
		if f.Request, err = io.ReadAll(io.LimitReader(body, repo.MaxFetch)); err != nil {
			return fmt.Errorf("read request: %w", err)
		}
		if asksForObjects(f.Request) {
			defer func() {
				if err == nil {
					at.CountFetch()
				}
			}()
		}
		if len(f.Request) == repo.MaxFetch {
			return at.FetchLong(r.Context(), as, f, body, out)
		}
	}
	reader, err := at.Fetch(r.Context(), as, f)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	if !reader.First() {
		if err := reader.Await(patienceForWhole); err != nil {
			return fmt.Errorf("wait for answer: %w", err)
		}
	}
	if reader.Finished() {
		return out.whole(reader)
	}
	_, err = io.Copy(out, reader)
	return err
}

// asksForObjects reports whether a request is a fetch; in version 2 of the protocol it may
// ask for the references only.
func asksForObjects(request []byte) bool {
	const length, other = 4, "command=ls-refs"
	return len(request) > length+len(other) && !bytes.HasPrefix(request[length:], []byte(other))
}

func (h *Handler) push(w http.ResponseWriter, r *http.Request, t target, as authz.Actor, at *repo.Remote) {
	push, err := at.BeginPush(r.Context(), as)
	if err != nil {
		h.refuse(w, r, as, err)
		return
	}
	if !h.open(w, r, as, at, "Pushing over HTTP is not allowed.") {
		return
	}
	body, err := requestBody(r, 0)
	if err != nil {
		plain(w, http.StatusBadRequest, "Bad Request")
		return
	}
	out := begin(w, r, t, receivePack)
	err = push.Receive(r.Context(), repo.Receiving{
		Advertise: t.service == "info/refs", Stateless: true, Protocol: r.Header.Get("Git-Protocol"), In: body, Out: out,
	})
	if err != nil {
		h.ended(w, r, out, err)
	}
}

// open asks whether the repository is served over HTTP, and answers with the text if not.
func (h *Handler) open(w http.ResponseWriter, r *http.Request, as authz.Actor, at *repo.Remote, text string) bool {
	closed, err := h.Namespaces.Closed(r.Context(), as, at.Namespace, namespace.HTTP)
	if err != nil {
		h.fail(w, r, err)
		return false
	}
	if closed {
		plain(w, http.StatusForbidden, text)
	}
	return !closed
}

// ended handles a git process that failed. Once output has begun, the protocol itself
// has told the client what is wrong.
func (h *Handler) ended(w http.ResponseWriter, r *http.Request, out *response, err error) {
	switch {
	case errs.Is(err, errs.Unavailable) && !out.started:
		unavailable(w, int(repo.RetryAfter.Seconds()), err.Error())
	case (errors.Is(err, errBodyTooLarge) || errors.Is(err, gitstore.ErrTooLarge)) && !out.started:
		plain(w, http.StatusRequestEntityTooLarge, "Request Entity Too Large")
	case !out.started && garbled(err):
		plain(w, http.StatusBadRequest, "Bad Request")
	case !out.started:
		h.fail(w, r, err)
	case r.Context().Err() == nil:
		h.Log.Info("git process ended early", "path", r.URL.Path, "error", err)
	}
}

// garbled reports whether git ended because of what the client sent.
func garbled(err error) bool {
	if errors.Is(err, errBadBody) || errors.Is(err, gitcmd.ErrProtocol) {
		return true
	}
	failed, ok := errors.AsType[*gitcmd.Error](err)
	if !ok || failed.Code != 128 {
		return false
	}
	for _, said := range []string{"protocol error", "the remote end hung up", "invalid command", "expected flush", "unknown object format"} {
		if strings.Contains(failed.Stderr, said) {
			return true
		}
	}
	return false
}

// response writes the protocol's headers with the first byte, so that a failure before
// it can still be answered with a status.
type response struct {
	w       http.ResponseWriter
	flush   *http.ResponseController
	prefix  string
	kind    string
	started bool
}

// begin prepares the answer of a service; an advertisement starts with its name, except
// in version 2 of the protocol.
func begin(w http.ResponseWriter, r *http.Request, t target, service string) *response {
	out := &response{w: w, flush: http.NewResponseController(w), kind: "application/x-" + service + "-result"}
	// git may have something to say, such as a warning about an object, while the pack is
	// still coming in. Without this the rest of the body would be thrown away then.
	// HTTP/2 needs no asking and refuses it.
	_ = out.flush.EnableFullDuplex()
	if t.service == "info/refs" {
		out.kind = "application/x-" + service + "-advertisement"
		if service == receivePack || !strings.Contains(r.Header.Get("Git-Protocol"), "version=2") {
			out.prefix = gitcmd.Packet("# service="+service+"\n") + "0000"
		}
	}
	return out
}

// whole sends a finished answer, whose length is known.
func (o *response) whole(reader *spool.Reader) error {
	o.started = true
	o.w.Header().Set("Content-Type", o.kind)
	o.w.Header().Set("Content-Length", strconv.FormatInt(int64(len(o.prefix))+reader.Size(), 10))
	o.w.WriteHeader(http.StatusOK)
	_, err := io.WriteString(o.w, o.prefix)
	if err == nil {
		_, err = io.Copy(o.w, reader)
	}
	if err != nil {
		return fmt.Errorf("answer git client: %w", err)
	}
	return nil
}

// Write sends output on at once, so that progress is seen while git works.
func (o *response) Write(p []byte) (int, error) {
	if !o.started {
		o.started = true
		o.w.Header().Set("Content-Type", o.kind)
		o.w.WriteHeader(http.StatusOK)
		if _, err := io.WriteString(o.w, o.prefix); err != nil {
			return 0, fmt.Errorf("answer git client: %w", err)
		}
	}
	n, err := o.w.Write(p)
	if err != nil {
		return n, fmt.Errorf("answer git client: %w", err)
	}
	if err := o.flush.Flush(); err != nil {
		return n, fmt.Errorf("answer git client: %w", err)
	}
	return n, nil
}

// requestBody unpacks a gzipped body and bounds what it may hold; zero is no bound.
func requestBody(r *http.Request, limit int64) (io.Reader, error) {
	var body io.Reader = r.Body
	switch strings.ToLower(r.Header.Get("Content-Encoding")) {
	case "", "identity":
	case "gzip", "x-gzip":
		unpacked, err := gzip.NewReader(r.Body)
		if err != nil {
			return nil, fmt.Errorf("unpack body: %w", err)
		}
		body = unpacking{unpacked}
	default:
		return nil, errors.New("unknown content encoding")
	}
	if limit > 0 {
		body = &bounded{from: body, left: limit}
	}
	return body, nil
}

// unpacking tells a body that cannot be unpacked from other failures to read.
type unpacking struct{ from io.Reader }

// Read passes on what is unpacked.
func (u unpacking) Read(p []byte) (int, error) {
	n, err := u.from.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w: %w", errBadBody, err)
	}
	return n, err
}

// bounded fails where io.LimitReader would pretend that the input ended.
type bounded struct {
	from io.Reader
	left int64
}

// Read passes on until the bound is reached.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errBodyTooLarge
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.from.Read(p)
	b.left -= int64(n)
	return n, err
}
