package faults

import (
	"bytes"
	"compress/flate"
	"compress/zlib"
	"context"
	"crypto/rand"
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Memory that pushes may take at most, in KiB: the server itself, and each git process.
const (
	serverCeiling = 400 << 10
	gitCeiling    = 1400 << 10
)

// TestHostile pushes what is meant to do harm, and what is merely large. The server says
// no or takes it; either way it goes on, and neither it nor git takes much memory.
func TestHostile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	dir := t.TempDir()
	w.git(dir, "clone", "-q", w.remote(), ".")
	peaks := w.watchMemory(t)
	t.Run("warnings while a large pack comes in", func(t *testing.T) { w.in(t).warned(dir) })
	t.Run("delta bomb", func(t *testing.T) { w.in(t).deltaBomb(dir) })
	t.Run("zip bomb", func(t *testing.T) { w.in(t).zipBomb(dir) })
	t.Run("100 MB of noise", func(t *testing.T) { w.in(t).noise(dir) })
	t.Run("ten thousand branches", func(t *testing.T) { w.in(t).manyBranches(dir) })
	t.Run("deep folders", func(t *testing.T) { w.in(t).deepTree(dir) })
	t.Run("odd names", func(t *testing.T) { w.in(t).oddNames(dir) })
	for program, kib := range peaks() {
		t.Logf("peak memory of %s: %d KiB", program, kib)
		if ceiling := map[bool]int{true: serverCeiling, false: gitCeiling}[program == "tenon"]; kib > ceiling {
			t.Errorf("%s used %d KiB, want %d at most", program, kib, ceiling)
		}
	}
	if out := w.git(w.repository(), "fsck", "--strict", "--no-dangling", "--connectivity-only"); out != "" {
		t.Errorf("fsck says %q", out)
	}
	if log := w.s.Log(); strings.Contains(log, `"level":"ERROR"`) || strings.Contains(log, "panic") {
		t.Errorf("the log has errors: %s", errorsIn(log))
	}
}

// watchMemory samples the server and all of its descendants until the function that it
// gives is called, which tells the most that a process of each name has had.
func (w *world) watchMemory(t *testing.T) func() map[string]int {
	ctx, stop := context.WithCancel(t.Context())
	peaks := map[string]int{}
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			for name, kib := range memoryBelow(w.s.PID()) {
				peaks[name] = max(peaks[name], kib)
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	})
	return func() map[string]int {
		stop()
		done.Wait()
		return maps.Clone(peaks)
	}
}

// memoryBelow reads the largest resident size so far of a process and its descendants,
// by the name of the program.
func memoryBelow(root int) map[string]int {
	type process struct {
		parent, peak int
		name         string
	}
	all := map[int]process{}
	stats, _ := filepath.Glob("/proc/[0-9]*/status") // elsewhere than on Linux there are none
	for _, file := range stats {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		var p process
		for line := range strings.Lines(string(text)) {
			field, value, _ := strings.Cut(line, ":")
			switch field {
			case "Name":
				p.name = strings.TrimSpace(value)
			case "PPid":
				_, _ = fmt.Sscan(value, &p.parent)
			case "VmHWM":
				_, _ = fmt.Sscan(value, &p.peak)
			}
		}
		all[pid] = p
	}
	out := map[string]int{}
	for pid, p := range all {
		for at, depth := pid, 0; at > 1 && depth < 20; at, depth = all[at].parent, depth+1 {
			if at == root {
				out[p.name] = max(out[p.name], p.peak)
				break
			}
		}
	}
	return out
}

// warned pushes a tag without a tagger before much else: git warns of it at once, while
// the rest is still on its way.
func (w *world) warned(dir string) {
	noise := make([]byte, 8<<20)
	_, _ = rand.Read(noise)
	if err := os.WriteFile(filepath.Join(dir, "noise"), noise, 0o600); err != nil {
		w.t.Fatal(err)
	}
	w.git(dir, "add", ".")
	w.git(dir, "commit", "-q", "-m", "Noise")
	head := w.git(dir, "rev-parse", "HEAD")
	tag := fmt.Sprintf("object %s\ntype commit\ntag old\n\nAs they were made in 2005.\n", head)
	file := filepath.Join(w.t.TempDir(), "tag")
	if err := os.WriteFile(file, []byte(tag), 0o600); err != nil {
		w.t.Fatal(err)
	}
	id := w.git(dir, "hash-object", "-t", "tag", "-w", "--literally", file)
	w.git(dir, "update-ref", "refs/tags/old", id)
	out := w.git(dir, "push", "origin", "HEAD:refs/heads/noise", "old")
	if !strings.Contains(out, "missingTaggerEntry") {
		w.t.Errorf("git said %q, want a warning", out)
	}
}

// packed is an object of a pack that is written by hand.
type packed struct {
	kind byte // 3 is a blob, 7 a delta
	base []byte
	size int       // of what is compressed
	data io.Reader // nil is zeros
}

// pack writes a pack of such objects.
func pack(t *testing.T, objects ...packed) []byte {
	t.Helper()
	var out bytes.Buffer
	out.WriteString("PACK")
	_ = binary.Write(&out, binary.BigEndian, [2]uint32{2, uint32(len(objects))}) // to memory
	for _, o := range objects {
		b, rest := o.kind<<4|byte(o.size&15), o.size>>4
		for rest > 0 {
			out.WriteByte(b | 0x80)
			b, rest = byte(rest&0x7f), rest>>7
		}
		out.WriteByte(b)
		out.Write(o.base)
		if o.data == nil {
			zeroStream(t, &out, o.size)
			continue
		}
		z := zlib.NewWriter(&out)
		if _, err := io.Copy(z, o.data); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
	}
	sum := sha1.Sum(out.Bytes())
	return append(out.Bytes(), sum[:]...)
}

// zeroStream writes the zlib stream of so many zeros. One block is compressed and repeated:
// under the race detector, compressing half a gigabyte takes a minute.
func zeroStream(t *testing.T, out *bytes.Buffer, size int) {
	t.Helper()
	const block = 1 << 20
	out.Write([]byte{0x78, 0x9c})
	z, err := flate.NewWriter(out, flate.DefaultCompression)
	if err != nil {
		t.Fatal(err)
	}
	zeros := make([]byte, block)
	compressed := func(n int) []byte {
		from := out.Len()
		if _, err := z.Write(zeros[:n]); err != nil {
			t.Fatal(err)
		}
		if err := z.Flush(); err != nil { // to a whole byte
			t.Fatal(err)
		}
		return bytes.Clone(out.Bytes()[from:])
	}
	compressed(size % block)
	if n := size / block; n > 0 {
		compressed(block) // what comes before the repeated ones is zeros as well
		if n > 1 {
			again := compressed(block)
			for range n - 2 {
				out.Write(again)
			}
		}
	}
	out.Write([]byte{0x03, 0x00})                                             // the last block, an empty one
	_ = binary.Write(out, binary.BigEndian, uint32(size%65521)<<16|uint32(1)) // Adler-32 of zeros; to memory
}

// pushPack sends such a pack, to make branches of the commit that main is at, and
// gives what the server said.
func (w *world) pushPack(dir string, content []byte, branches ...string) string {
	w.t.Helper()
	head := w.git(dir, "rev-parse", "origin/main")
	var body []byte
	for i, branch := range branches {
		line := fmt.Sprintf("%040d %s refs/heads/%s", 0, head, branch)
		if i == 0 {
			line += "\x00report-status side-band-64k"
		}
		body = fmt.Appendf(body, "%04x%s", len(line)+4, line)
	}
	body = append(append(body, "0000"...), content...)
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, *w.url.Load()+"/team/app.git/git-receive-pack", bytes.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	req.SetBasicAuth("ann", w.ann)
	req.Header.Set("Content-Type", "application/x-git-receive-pack-request")
	a, err := w.send(req)
	if err != nil {
		w.t.Fatal(err)
	}
	// What git has to say of the references comes in band 1.
	var said []byte
	for rest := a.body; len(rest) >= 4; {
		n, err := strconv.ParseUint(string(rest[:4]), 16, 16)
		if err != nil || int(n) > len(rest) {
			w.t.Fatalf("the server said %.300q", a.body)
		}
		if n > 5 && rest[4] == 1 {
			said = append(said, rest[5:n]...)
		}
		rest = rest[max(n, 4):]
	}
	return string(said)
}

type zeros struct{}

// Read returns zeros without end.
func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// deltaBomb pushes a pack of some kilobytes, with one object that unfolds to four gigabytes.
func (w *world) deltaBomb(dir string) {
	const block, times = 0xffffff, 256
	base := sha1.New()
	fmt.Fprintf(base, "blob %d\x00", block)
	if _, err := io.CopyN(base, zeros{}, block); err != nil {
		w.t.Fatal(err)
	}
	var delta []byte
	delta = binary.AppendUvarint(delta, block)
	delta = binary.AppendUvarint(delta, block*times)
	for range times {
		delta = append(delta, 0x80|0x10|0x20|0x40, 0xff, 0xff, 0xff)
	}
	bomb := pack(w.t,
		packed{kind: 3, size: block},
		packed{kind: 7, base: base.Sum(nil), size: len(delta), data: bytes.NewReader(delta)})
	if said := w.pushPack(dir, bomb, "bomb"); len(bomb) > 100<<10 || !strings.Contains(said, "unpack ") || strings.Contains(said, "unpack ok") {
		w.t.Errorf("%d bytes: the server said %q", len(bomb), said)
	}
}

// zipBomb pushes half a gigabyte of zeros.
func (w *world) zipBomb(dir string) {
	const size = 512 << 20
	bomb := pack(w.t, packed{kind: 3, size: size})
	if said := w.pushPack(dir, bomb, "zeros"); !strings.Contains(said, "unpack ok") {
		w.t.Errorf("%d bytes: the server said %q", len(bomb), said)
	}
}

// noise pushes a large file and reads it back.
func (w *world) noise(dir string) {
	const size = 100 << 20
	f, err := os.Create(filepath.Join(dir, "large"))
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := io.CopyN(f, rand.Reader, size); err != nil {
		w.t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		w.t.Fatal(err)
	}
	w.git(dir, "config", "core.compression", "0") // which noise does not get smaller by
	w.git(dir, "add", ".")
	w.git(dir, "-c", "core.bigFileThreshold=10m", "commit", "-q", "-m", "Large")
	w.git(dir, "-c", "core.bigFileThreshold=10m", "push", "-q", "origin", "HEAD:refs/heads/large")
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, fmt.Sprintf("%s/api/v4/projects/%d/repository/files/large/raw?ref=large", *w.url.Load(), w.project), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Private-Token", w.ann)
	res, err := w.http.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if n, err := io.Copy(io.Discard, res.Body); n != size || err != nil {
		w.t.Errorf("read %d bytes, %v, want %d", n, err, size)
	}
	for range 3 {
		a := w.want(200, w.ann, "GET", fmt.Sprintf("/projects/%d/repository/commits/large/diff", w.project), "")
		if len(a.body) > 1<<20 {
			w.t.Errorf("the diff of noise has %d bytes", len(a.body))
		}
	}
}

// manyBranches pushes ten thousand branches at once and lists them.
func (w *world) manyBranches(dir string) {
	const n = 10_000
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("many/m%05d", i)
	}
	if said := w.pushPack(dir, pack(w.t), names...); strings.Count(said, "ok refs/heads/many/") != n {
		w.t.Fatalf("the server said %.300q", said)
	}
	path := fmt.Sprintf("/projects/%d/repository/branches", w.project)
	if total := w.want(200, w.ann, "GET", path+"?search=^many&per_page=1", "").header.Get("X-Total"); total != "" && total != strconv.Itoa(n) {
		w.t.Errorf("total %s, want %d", total, n)
	}
	for page := range 5 {
		a := w.want(200, w.ann, "GET", fmt.Sprintf("%s?per_page=100&page=%d", path, page*20+1), "")
		if got := strings.Count(string(a.body), `"can_push"`); got != 100 {
			w.t.Errorf("page %d has %d branches", page*20+1, got)
		}
	}
	if got := strings.Count(w.git(dir, "ls-remote", w.remote(), "refs/heads/many/*"), "\n") + 1; got != n {
		w.t.Errorf("git sees %d branches, want %d", got, n)
	}
}

// deepTree pushes folders in folders, three thousand of them.
func (w *world) deepTree(dir string) {
	const depth = 3000
	var in strings.Builder
	fmt.Fprintf(&in, "commit refs/heads/deep\ncommitter A <a@example.com> 1700000000 +0000\ndata 4\ndeep\nM 100644 inline %sf\ndata 1\nx\n", strings.Repeat("d/", depth))
	file := filepath.Join(w.t.TempDir(), "import")
	if err := os.WriteFile(file, []byte(in.String()), 0o600); err != nil {
		w.t.Fatal(err)
	}
	w.git(dir, "-c", "alias.load=!f() { git fast-import --quiet < \"$1\"; }; f", "load", file)
	_, err := git(w.t.Context(), dir, "push", "-q", "origin", "deep")
	if err != nil {
		w.t.Logf("refused: %.200v", err)
		return
	}
	base := fmt.Sprintf("/projects/%d/repository", w.project)
	if a, err := w.call(w.t.Context(), w.ann, "GET", base+"/tree?ref=deep&recursive=true&per_page=100", ""); err != nil || a.status != 200 && a.status != 400 {
		w.t.Errorf("tree: %+v, %v", a, err)
	}
	w.want(200, w.ann, "GET", base+"/archive.tar.gz?sha=deep", "")
	w.want(200, w.ann, "GET", base+"/commits/deep/diff", "")
}

// oddNames pushes branches whose names are long or look like options.
func (w *world) oddNames(dir string) {
	for _, name := range []string{"--upload-pack=touch", "-x", strings.Repeat("n", 5000), strings.Repeat("n/", 2000) + "n", strings.Repeat("n", 240)} {
		out, err := git(w.t.Context(), dir, "push", "-q", "origin", "origin/main:refs/heads/"+name)
		if err != nil && strings.Contains(out, "could not finish") {
			w.t.Errorf("%.40s: the server failed: %s", name, out)
		}
		if err == nil {
			w.want(200, w.ann, "GET", fmt.Sprintf("/projects/%d/repository/branches/%s", w.project, strings.ReplaceAll(name, "/", "%2F")), "")
		}
	}
	w.want(200, w.ann, "GET", fmt.Sprintf("/projects/%d/repository/branches", w.project), "")
}
