package api

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/limit"
	"tenon/internal/transport/httpkit"
)

type longText struct {
	Text string `param:"text" chars:"1000000"`
}

// textKit has one route for long texts, whose callers are named by their number.
func textKit(h Handler[longText, Text]) *Kit {
	return New(Config{
		Authenticate: func(_ context.Context, c httpkit.Credential) (authz.Actor, error) {
			id, err := strconv.ParseInt(c.Secret, 10, 64)
			return authz.Actor{UserID: authz.UserID(id), Scopes: authz.Scopes{authz.ScopeAPI}}, err
		},
		Log: slog.New(slog.DiscardHandler), Limits: &limit.Service{},
	}, []*Route{Post("/texts", h).Doc("keep a text").Scope()})
}

// sendText sends a JSON body; length is what is announced of it, -1 for nothing.
func sendText(k *Kit, user int, body io.Reader, length int64) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, Prefix+"/texts", body)
	r.ContentLength = length
	r.Header.Set("Content-Type", "application/json")
	if user > 0 {
		r.Header.Set("Private-Token", strconv.Itoa(user))
	}
	w := httptest.NewRecorder()
	k.ServeHTTP(w, r)
	return w
}

func textOf(n int) string { return `{"text":"` + strings.Repeat("x", n) + `"}` }

// The room of a route is that of its texts in the longest encoding.
func TestRoute_textBytes(t *testing.T) {
	k := textKit(func(context.Context, authz.Actor, longText) (Text, error) { return "kept", nil })
	const room = DefaultMaxBody + 12*1_000_000
	for _, announced := range []bool{true, false} {
		for size, want := range map[int]int{room - 11: 201, room - 10: 413, 12_000_000: 201} {
			for user, want := range map[int]int{1: want, 0: 413} { // signed out
				body, length := textOf(size), int64(-1)
				if announced {
					length = int64(len(body))
				}
				if got := sendText(k, user, strings.NewReader(body), length); got.Code != want {
					t.Errorf("%d bytes, announced %t, of user %d: got %d %.200s, want %d", len(body), announced, user, got.Code, got.Body, want)
				}
			}
		}
	}
	if left := k.memory.users; len(left) != 0 || !k.memory.all.TryAcquire(largeBodies) {
		t.Errorf("room is not given back: %v", left)
	}
}

// However many large bodies come at once, they share the room: the others wait, and are
// told to come again when they waited too long. Small ones need no room.
func TestKit_largeBodies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		working := 0
		k := textKit(func(_ context.Context, _ authz.Actor, p longText) (Text, error) {
			if len(p.Text) > 100 {
				working++ // the senders start one after the other
				<-gate
			}
			return "kept", nil
		})
		body := textOf(10 << 20)
		answers := make(chan *httptest.ResponseRecorder, 100)
		for i := range 40 {
			go func() {
				length := int64(len(body))
				if i%4 == 0 {
					length = -1 // counts as the most that may come
				}
				answers <- sendText(k, 1+i%8, strings.NewReader(body), length)
			}()
			synctest.Wait()
		}
		if most := largeBodies / len(body); working == 0 || working > most {
			t.Errorf("%d bodies of %d bytes are worked on at once, want %d at most", working, len(body), most)
		}
		if got := sendText(k, 1, strings.NewReader(textOf(100)), -1); got.Code != 201 {
			t.Errorf("a small body: got %d %s", got.Code, got.Body)
		}
		<-time.After(largeWait + time.Second)
		synctest.Wait()
		if refused := len(answers); refused != 40-working {
			t.Errorf("%d of %d that wait were refused", refused, 40-working)
		}
		for len(answers) > 0 {
			got := <-answers
			if got.Code != 503 || got.Header().Get("Retry-After") != "10" || got.Body.String() != `{"message":"503 Service Unavailable"}` {
				t.Errorf("without room: got %d %s with Retry-After %q", got.Code, got.Body, got.Header().Get("Retry-After"))
			}
		}
		close(gate)
		synctest.Wait()
		for len(answers) > 0 {
			if got := <-answers; got.Code != 201 {
				t.Errorf("with room: got %d %s", got.Code, got.Body)
			}
		}
		if got := sendText(k, 1, strings.NewReader(body), int64(len(body))); got.Code != 201 {
			t.Errorf("afterwards: got %d %s", got.Code, got.Body)
		}
	})
}

// dripping is a body that sends a byte in a while.
type dripping struct{ every time.Duration }

func (d dripping) Read(p []byte) (int, error) {
	<-time.After(d.every)
	p[0] = ' '
	return 1, nil
}

// A client that sends a large body slowly is cut off, and keeps half the room at most
// until then.
func TestKit_slowBodies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := textKit(func(context.Context, authz.Actor, longText) (Text, error) { return "kept", nil })
		answers := make(chan *httptest.ResponseRecorder, 3)
		began := time.Now()
		for range 3 {
			go func() { answers <- sendText(k, 1, dripping{time.Second}, 12<<20) }()
		}
		synctest.Wait()
		body := textOf(10 << 20)
		if got := sendText(k, 2, strings.NewReader(body), int64(len(body))); got.Code != 201 {
			t.Errorf("another user: got %d %s", got.Code, got.Body)
		}
		codes := ""
		for range 3 {
			codes += fmt.Sprintf("%d ", (<-answers).Code)
		}
		if codes != "503 408 408 " {
			t.Errorf("slow senders got %s", codes)
		}
		if took, want := time.Since(began), largeGrace+12<<20/largeSpeed*time.Second+time.Second; took > want {
			t.Errorf("they were cut off after %v, want %v", took, want)
		}
		if len(k.memory.users) != 0 || !k.memory.all.TryAcquire(largeBodies) {
			t.Error("their room is not given back")
		}
	})
}

// A client that goes away while it waits does not get the room.
func TestMemory_cancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		release, err := m.reserve(t.Context(), 1, largeBodies) // counts as one share
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error)
		go func() {
			_, err := m.reserve(ctx, 1, 1)
			failed <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-failed; err == nil || errs.Is(err, errs.Unavailable) {
			t.Errorf("got %v, want that it was cancelled", err)
		}
		release()
		if len(m.users) != 0 || !m.all.TryAcquire(largeBodies) {
			t.Error("room is not given back")
		}
	})
}
