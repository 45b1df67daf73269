package secret

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"

	"golang.org/x/crypto/argon2"
	"golang.org/x/crypto/bcrypt"
	"golang.org/x/sync/semaphore"
)

// cost is how much work an argon2id hash takes.
type cost struct {
	memory  uint32 // KiB
	time    uint32
	threads uint8
}

// current is what new hashes cost: 37 ms on the machine where it was chosen.
var current = cost{memory: 19 * 1024, time: 2, threads: 1}

// Bounds of what a stored hash may ask for, so that an imported one cannot take the
// machine's memory.
const (
	maxMemory = 256 * 1024 // KiB
	maxTime   = 16
	maxBcrypt = 14
	saltSize  = 16
	hashSize  = 32
)

// MaxPassword is the longest password in bytes that is looked at; longer ones never match.
const MaxPassword = 1024

var (
	errHash         = errors.New("unknown or damaged password hash")
	errLongPassword = fmt.Errorf("password is longer than %d bytes", MaxPassword)
)

// maxWaiting is how many may wait to have a password verified: about half a second.
const maxWaiting = 32

// ErrBusy is the answer where too many wait already.
var ErrBusy = errors.New("too many passwords are waiting to be verified")

// Hasher hashes and verifies passwords, at most two at a time, so that a burst of
// sign-ins cannot take all memory and both cores; beyond a short queue verification is
// refused at once. It is safe for concurrent use.
type Hasher struct {
	cost    cost
	slots   *semaphore.Weighted
	waiting atomic.Int64
	dummy   string
}

// NewHasher makes a hasher.
func NewHasher() *Hasher { return newHasher(current) }

// NewWeakHasher makes a hasher for tests that make many users: its hashes cost next to
// nothing, also for who wants to guess a password.
func NewWeakHasher() *Hasher { return newHasher(cost{memory: 8, time: 1, threads: 1}) }

func newHasher(c cost) *Hasher {
	// The dummy's hash is never matched, so it need not come from argon2 itself.
	dummy := format(c, make([]byte, saltSize), make([]byte, hashSize))
	return &Hasher{cost: c, slots: semaphore.NewWeighted(2), dummy: dummy}
}

// Hash returns the argon2id hash of a password in PHC format. It waits for its turn and
// fails where ctx ends first, and for passwords over MaxPassword bytes.
func (h *Hasher) Hash(ctx context.Context, password string) (string, error) {
	if len(password) > MaxPassword {
		return "", errLongPassword
	}
	salt := make([]byte, saltSize)
	_, _ = rand.Read(salt) // ends the program rather than fail
	if err := h.slots.Acquire(ctx, 1); err != nil {
		return "", fmt.Errorf("wait to hash a password: %w", err)
	}
	defer h.slots.Release(1)
	sum := argon2.IDKey([]byte(password), salt, h.cost.time, h.cost.memory, h.cost.threads, hashSize)
	return format(h.cost, salt, sum), nil
}

// Verify reports whether a password fits a stored hash: argon2id in PHC format, or bcrypt
// as other servers store it. An empty hash fits no password but costs as much as a real one.
// An error means that nothing was decided: ErrBusy, ctx ended, or the hash is damaged.
func (h *Hasher) Verify(ctx context.Context, hash, password string) (bool, error) {
	if hash == "" || len(password) > MaxPassword {
		return false, h.VerifyNobody(ctx, password)
	}
	return h.verify(ctx, hash, password)
}

// VerifyNobody takes as long as Verify does and fits nothing. A sign-on with an unknown
// name calls it, so that the time of the answer does not tell which names exist.
func (h *Hasher) VerifyNobody(ctx context.Context, password string) error {
	_, err := h.verify(ctx, h.dummy, password[:min(len(password), MaxPassword)])
	return err
}

func (h *Hasher) verify(ctx context.Context, hash, password string) (bool, error) {
	if err := h.queue(ctx); err != nil {
		return false, fmt.Errorf("wait to verify a password: %w", err)
	}
	defer h.slots.Release(1)
	if strings.HasPrefix(hash, "$2") {
		return verifyBcrypt(hash, password)
	}
	c, salt, want, err := parse(hash)
	if err != nil {
		return false, err
	}
	got := argon2.IDKey([]byte(password), salt, c.time, c.memory, c.threads, uint32(len(want)))
	return subtle.ConstantTimeCompare(got, want) == 1, nil
}

// queue waits for a slot where not too many do.
func (h *Hasher) queue(ctx context.Context) error {
	if h.slots.TryAcquire(1) {
		return nil
	}
	defer h.waiting.Add(-1)
	if h.waiting.Add(1) > maxWaiting {
		return ErrBusy
	}
	return h.slots.Acquire(ctx, 1)
}

func verifyBcrypt(hash, password string) (bool, error) {
	if n, err := bcrypt.Cost([]byte(hash)); err != nil || n > maxBcrypt {
		return false, errHash
	}
	err := bcrypt.CompareHashAndPassword([]byte(hash), []byte(password))
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, bcrypt.ErrMismatchedHashAndPassword):
		return false, nil
	default:
		return false, errHash
	}
}

func format(c cost, salt, sum []byte) string {
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, c.memory, c.time, c.threads,
		base64.RawStdEncoding.EncodeToString(salt), base64.RawStdEncoding.EncodeToString(sum))
}

func parse(hash string) (c cost, salt, sum []byte, err error) {
	parts := strings.Split(hash, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" || parts[2] != "v="+strconv.Itoa(argon2.Version) {
		return cost{}, nil, nil, errHash
	}
	settings := strings.Split(parts[3], ",")
	if len(settings) != 3 {
		return cost{}, nil, nil, errHash
	}
	var values [3]uint64
	for i, name := range []string{"m=", "t=", "p="} {
		text, ok := strings.CutPrefix(settings[i], name)
		if !ok {
			return cost{}, nil, nil, errHash
		}
		if values[i], err = strconv.ParseUint(text, 10, 32); err != nil {
			return cost{}, nil, nil, errHash
		}
	}
	if values[0] == 0 || values[0] > maxMemory || values[1] == 0 || values[1] > maxTime || values[2] == 0 || values[2] > 16 {
		return cost{}, nil, nil, errHash
	}
	salt, err = base64.RawStdEncoding.DecodeString(parts[4])
	if err != nil || len(salt) < 8 || len(salt) > 64 {
		return cost{}, nil, nil, errHash
	}
	sum, err = base64.RawStdEncoding.DecodeString(parts[5])
	if err != nil || len(sum) < 16 || len(sum) > 64 {
		return cost{}, nil, nil, errHash
	}
	return cost{memory: uint32(values[0]), time: uint32(values[1]), threads: uint8(values[2])}, salt, sum, nil
}
