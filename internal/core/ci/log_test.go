package ci_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
)

// log reads the log of a job.
func (w *world) log(id ci.StatusID) string {
	w.T.Helper()
	l, err := w.ci.Log(w.T.Context(), w.reporter, w.as(w.reporter), id)
	check(w.T, err)
	text, err := io.ReadAll(l)
	check(w.T, err)
	check(w.T, l.Close())
	if int64(len(text)) != l.Size {
		w.T.Errorf("log of %d bytes says that it has %d", len(text), l.Size)
	}
	return string(text)
}

// objects counts what is kept outside the database.
func (w *world) kept() int {
	w.T.Helper()
	n := 0
	for _, err := range w.objects.List(w.T.Context(), "") {
		check(w.T, err)
		n++
	}
	return n
}

func TestService_Append(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.begin("build: {script: make, coverage: '/total: (\\d+\\.\\d+)%/'}\n")
		a := w.take(w.runner("instance_type", nil), "build")
		equal(t, "no log yet", w.log(a.Job.ID), "")
		add := func(start int64, text string) (int64, error) {
			size, _, err := w.ci.Append(t.Context(), w.hold(a), start, []byte(text))
			return size, err
		}
		wantRange := func(what string, size int64, err error, want int64) {
			t.Helper()
			var moved *ci.RangeError
			if !errors.As(err, &moved) || moved.Size != want || size != want {
				t.Errorf("%s: %d, %v, want a range error with %d", what, size, err, want)
			}
		}
		size, err := add(0, "one\n")
		if err != nil || size != 4 {
			t.Fatalf("the first piece: %d, %v", size, err)
		}
		size, err = add(8, "x")
		wantRange("a gap", size, err, 4)
		size, err = add(2, "e\nmore")
		wantRange("an overlap", size, err, 4)
		size, err = add(0, "one\n")
		wantRange("the same again", size, err, 4)
		// Two that come at once: what the second knows is old.
		old := w.hold(a)
		if size, err = add(4, "two\n"); err != nil || size != 8 {
			t.Fatalf("the next piece: %d, %v", size, err)
		}
		size, _, err = w.ci.Append(t.Context(), old, 4, []byte("too\n"))
		wantRange("a piece that another was faster than", size, err, 8)
		if size, err = add(8, ""); err != nil || size != 8 {
			t.Errorf("nothing: %d, %v", size, err)
		}
		text := "one\ntwo\n" + strings.Repeat("three\n", 1000) + "\x1b[32mtotal: 81.5%\x1b[0m\nend\n"
		if _, err = add(8, text[8:]); err != nil {
			t.Fatal(err)
		}
		equal(t, "log while it runs", w.log(a.Job.ID), text)
		if !w.ci.Watched(a.Job.ID) {
			t.Error("a log that was read just now is not watched")
		}
		more := int64(len(text)) + 1
		if _, err := w.ci.Finish(t.Context(), w.hold(a), ci.Outcome{State: "success", LogSize: &more}); !errors.Is(err, ci.ErrLogIncomplete) {
			t.Errorf("a log that is not there yet: %v", err)
		}
		whole := int64(len(text))
		old = w.hold(a)
		w.end(a, ci.Outcome{State: "success", LogSize: &whole})
		w.wantStates(p, "ended", "build:success = success")
		if got := w.job(p, "build").Coverage; got == nil || *got != 81.5 {
			t.Errorf("coverage %v, want 81.5", got)
		}
		equal(t, "log before it is joined", w.log(a.Job.ID), text)
		early, err := w.ci.Log(t.Context(), w.reporter, w.as(w.reporter), a.Job.ID)
		check(t, err)
		part := func(from int64, want string) {
			t.Helper()
			if at, err := early.Seek(from, io.SeekStart); err != nil || at != from {
				t.Fatalf("seek to %d: %d, %v", from, at, err)
			}
			got := make([]byte, len(want))
			if _, err := io.ReadFull(early, got); err != nil || string(got) != want {
				t.Errorf("from %d: got %q, %v, want %q", from, got, err, want)
			}
		}
		part(2, "e\ntwo\nthree\n")
		part(whole-4, "end\n")
		part(5, "wo\n")
		w.drain()
		part(6, "o\nthree\n")
		part(whole-11, "5%\x1b[0m\nend\n")
		if n, err := early.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
			t.Errorf("after the end: %d, %v", n, err)
		}
		check(t, early.Close())
		equal(t, "joined log", w.log(a.Job.ID), text)
		pieces, err := db.Get[int](t.Context(), w.DB, "SELECT COUNT(*) FROM job_log_pieces")
		if err != nil || pieces != 0 || w.kept() != 1 {
			t.Errorf("%d pieces, %v, and %d objects are left", pieces, err, w.kept())
		}
		_, _, err = w.ci.Append(t.Context(), old, whole, []byte("late"))
		if err == nil {
			t.Error("a piece was taken after the end")
		}
		var ended *ci.NotRunningError
		if _, err := w.ci.Hold(t.Context(), a.Job.ID, a.Token); !errors.As(err, &ended) || ended.State != ci.Success || !errs.Is(err, errs.Forbidden) {
			t.Errorf("hold after the end: %v", err)
		}
		equal(t, "log at last", w.log(a.Job.ID), text)
	})
}

// TestService_Log_joined opens the log of a job that has just ended, which is joined or erased before it is read.
func TestService_Log_joined(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.begin(oneJob)
		a := w.take(w.runner("instance_type", nil), "build")
		piece := strings.Repeat("0123456789abcdef", 32<<10) // of half a megabyte, so that the log takes several reads
		for i := range int64(5) {
			_, _, err := w.ci.Append(t.Context(), w.hold(a), i*int64(len(piece)), []byte(piece))
			check(t, err)
		}
		text := strings.Repeat(piece, 5)
		w.succeed(a)
		open := func() *ci.Log {
			t.Helper()
			l, err := w.ci.Log(t.Context(), w.reporter, w.as(w.reporter), a.Job.ID)
			check(t, err)
			if l.Size != int64(len(text)) {
				t.Errorf("a log of %d bytes, want %d", l.Size, len(text))
			}
			return l
		}
		wantRest := func(what string, l *ci.Log, want string) {
			t.Helper()
			got, err := io.ReadAll(l)
			if err != nil || string(got) != want {
				t.Errorf("%s: %d bytes, %v, want %d", what, len(got), err, len(want))
			}
			check(t, l.Close())
		}
		unread, begun, erased := open(), open(), open()
		first := make([]byte, 100)
		if _, err := io.ReadFull(begun, first); err != nil || string(first) != text[:100] {
			t.Errorf("the first bytes: %q, %v", first, err)
		}
		w.drain()
		equal(t, "objects", w.kept(), 1) // it is joined
		wantRest("opened before", unread, text)
		wantRest("begun before", begun, text[100:])
		wantRest("opened after", open(), text)
		_, err := w.ci.Erase(t.Context(), w.maintainer, w.as(w.maintainer), a.Job.ID)
		check(t, err)
		wantRest("erased", erased, "")
	})
}

func TestService_Append_tooLarge(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.begin("build: {script: make, retry: 2}\n")
		a := w.take(w.runner("instance_type", nil), "build")
		w.exec("UPDATE jobs SET log_size = ? WHERE job_id = ?", 100<<20, a.Job.ID) // as if so much were there
		_, state, err := w.ci.Append(t.Context(), w.hold(a), 100<<20, []byte("x"))
		if err != nil || state != ci.Failed {
			t.Errorf("got %s, %v", state, err)
		}
		equal(t, "reason", reason(w.job(p, "build")), ci.LogTooLarge)
		w.wantStates(p, "not retried", "build:failed = failed")
	})
}

func TestService_Erase(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.begin(oneJob)
		token := w.runner("instance_type", nil)
		a := w.take(token, "build")
		erase := func(who authz.Actor) error {
			_, err := w.ci.Erase(t.Context(), who, w.as(who), a.Job.ID)
			return err
		}
		wantError(t, "running", erase(w.maintainer), errs.Forbidden, "Job is not erasable!")
		_, _, err := w.ci.Append(t.Context(), w.hold(a), 0, []byte("a log\n"))
		check(t, err)
		w.archive(a, files{"a": "a"})
		w.succeed(a)
		w.drain()
		equal(t, "objects", w.kept(), 2)
		wantError(t, "developer", erase(w.developer), errs.Forbidden, "")
		wantError(t, "reporter", erase(w.reporter), errs.Forbidden, "")
		check(t, erase(w.maintainer))
		j := w.job(p, "build")
		if j.ErasedAt == nil || j.ErasedBy == nil || *j.ErasedBy != w.maintainer.UserID || j.LogSize != 0 {
			t.Errorf("erased at %v by %v, log of %d bytes", j.ErasedAt, j.ErasedBy, j.LogSize)
		}
		equal(t, "objects", w.kept(), 0)
		equal(t, "log", w.log(j.ID), "")
		wantError(t, "again", erase(w.maintainer), errs.Forbidden, "Job is not erasable!")
		_, _, err = w.ci.OpenArtifact(t.Context(), w.maintainer, w.as(w.maintainer), j.ID, "")
		wantError(t, "artifact", err, errs.NotFound, "")
		// Who started a job may erase it.
		w.as(w.developer)
		made, err := w.ci.Run(t.Context(), w.developer, w.as(w.developer), ci.RunInput{Ref: "work", Source: ci.ByAPI})
		check(t, err)
		a = w.take(token, "build")
		_, _, err = w.ci.Append(t.Context(), w.hold(a), 0, []byte("another log\n"))
		check(t, err)
		w.succeed(a)
		_, err = w.ci.Erase(t.Context(), w.developer, w.as(w.developer), w.job(made, "build").ID)
		check(t, err)
	})
}
